import { Failure } from "../../engine/index.ts";
import { pointsMax } from "../limits.ts";
import type { Calculation } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { checkSingleSeries } from "./binary-operation.ts";
import { groupSeries, isSingleUnlabelled, matchingLabelsOf } from "./matching.ts";
import { type LabelPair, labelsOf, SeriesBuilder, type SeriesSet } from "./series-set.ts";
import { SeriesUnion } from "./set-operation.ts";

/**
 * Evaluates `series default number`: gives every series a point in each bucket of the range. A bucket without a point
 * gets the number.
 */
export function fillWithNumber(set: SeriesSet, number: number, bucketCount: number): SeriesSet {
  checkPointCount(set.order.length, bucketCount);
  const count = set.starts.length - 1;
  const hasPoints = new Uint8Array(count);
  for (const series of set.order) hasPoints[series] = 1;
  const starts = new Uint32Array(count + 1);
  const buckets = new Float64Array(set.order.length * bucketCount);
  const values = new Float64Array(buckets.length).fill(number);
  for (let series = 0; series < count; series++) {
    const start = starts[series]!;
    starts[series + 1] = start + hasPoints[series]! * bucketCount;
    for (let at = start; at < starts[series + 1]!; at++) buckets[at] = at - start;
    if (hasPoints[series] === 0) continue;
    for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
      const bucket = set.buckets[point]!;
      if (bucket < bucketCount) values[start + bucket] = set.values[point]!;
    }
  }
  return { ...set, starts, buckets, values };
}

/** Makes one series without labels. It has the number as its value in each bucket of the range. */
export function makeConstantSeries(number: number, bucketCount: number): SeriesSet {
  checkPointCount(1, bucketCount);
  const builder = new SeriesBuilder();
  builder.beginSeries([]);
  for (let bucket = 0; bucket < bucketCount; bucket++) builder.addPoint(bucket, number);
  return builder.build();
}

/** Makes one series with these labels. It has the point 1 in each bucket in which no series of a set has a point. */
export async function makeAbsentSeries(
  labels: readonly LabelPair[],
  { order, starts, buckets }: SeriesSet,
  bucketCount: number,
  work: WorkDeadline,
): Promise<SeriesSet> {
  checkPointCount(1, bucketCount);
  const isPresent = new Uint8Array(bucketCount);
  for (const series of order) {
    for (let point = starts[series]!; point < starts[series + 1]!; point++) isPresent[buckets[point]!] = 1;
    if (work.isTurnOver(starts[series + 1]! - starts[series]!)) await work.yield();
  }
  const builder = new SeriesBuilder();
  builder.beginSeries(labels);
  for (let bucket = 0; bucket < bucketCount; bucket++)
    if (isPresent[bucket] === 0) builder.addPoint(bucket, 1);
  return builder.build();
}

/** Throws a Failure "limit" where `series` series with a point in every bucket would exceed `pointsMax`. */
function checkPointCount(series: number, bucketCount: number): void {
  if (series * bucketCount <= pointsMax) return;
  const problem = `this query fills ${series} series in ${bucketCount} buckets, and a query has ${pointsMax} points at most`;
  throw new Failure("limit", `${problem}; take wider buckets or group by fewer labels`);
}

/**
 * Evaluates `series default series`: adds points of the right operand where the left operand has none. Throws an
 * AmbiguousMatchError.
 */
export async function fillWithSeries(
  { op, matching }: Pick<Calculation, "op" | "matching">,
  left: SeriesSet,
  right: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const keep = matchingLabelsOf(matching);
  const union = new SeriesUnion(work);
  const leftGroups = await groupSeries(left, keep, work);
  const rightGroups = await groupSeries(right, keep, work);
  const forAll = left.order.length > 0 && isSingleUnlabelled(right);
  for (const [key, group] of leftGroups) {
    const fillers = forAll ? [...right.order] : (rightGroups.get(key) ?? []);
    if (fillers.length > 1) checkSingleSeries(op, "right", key, fillers);
    for (const series of group) {
      await union.add(left, series, () => true);
      for (const filler of fillers) await union.add(right, filler, () => true, labelsOf(left, series));
    }
  }
  for (const [key, group] of rightGroups) {
    if (forAll || leftGroups.has(key)) continue;
    for (const series of group) await union.add(right, series, () => true);
  }
  return union.build();
}

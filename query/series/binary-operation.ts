import { calculate, isComparison } from "../plan/arithmetic.ts";
import type { Calculation } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { groupSeries, isSingleUnlabelled, keptLabelsOf, matchingLabelsOf } from "./matching.ts";
import {
  filterMapValues,
  type LabelPair,
  labelsOf,
  mapValues,
  SeriesBuilder,
  type SeriesSet,
} from "./series-set.ts";

/** A series of the left operand, its matching series of the right operand, and the labels of the resulting series. */
interface SeriesPair {
  left: number;
  right: number;
  labels: LabelPair[];
}

type OperatorPlan = Pick<Calculation, "op" | "bool" | "matching">;

/** Several series of one operand match one series of the other. The message names their labels. */
export class AmbiguousMatchError extends Error {}

/** Applies an operator where two matching series both have a point. Throws an AmbiguousMatchError. */
export async function combineSeries(
  operator: OperatorPlan,
  left: SeriesSet,
  right: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const builder = new SeriesBuilder();
  for (const pair of await pairSeries(operator, left, right, work)) {
    builder.beginSeries(pair.labels);
    const { left: a, right: b } = pair;
    await visitSharedBuckets(left, a, right, b, work, (bucket, a, b) => {
      const value = calculate(operator.op, a, b, operator.bool);
      if (value !== undefined) builder.addPoint(bucket, value);
    });
  }
  await work.yield();
  return builder.build();
}

/**
 * Applies an operator to each point of a set and a number. `side` is the side of the number. A comparison without
 * `bool` keeps the value of the series, even where the number is the left operand.
 */
export function combineNumber(
  { op, bool }: OperatorPlan,
  set: SeriesSet,
  number: number,
  side: "left" | "right",
): SeriesSet {
  const isFilter = isComparison(op) && !bool;
  return filterMapValues(set, (value) => {
    const result = side === "right" ? calculate(op, value, number, bool) : calculate(op, number, value, bool);
    return result === undefined || !isFilter ? result : value;
  });
}

export function negateSeries(set: SeriesSet): SeriesSet {
  return mapValues(set, (value) => -value);
}

async function pairSeries(
  { op, matching }: OperatorPlan,
  left: SeriesSet,
  right: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesPair[]> {
  const pairs: SeriesPair[] = [];
  if (isSingleUnlabelled(right)) {
    for (const series of left.order) {
      pairs.push(makePair(series, right.order[0]!, labelsOf(left, series)));
      if (work.isTurnOver()) await work.yield();
    }
    return pairs;
  }
  if (isSingleUnlabelled(left)) {
    for (const series of right.order) {
      pairs.push(makePair(left.order[0]!, series, labelsOf(right, series)));
      if (work.isTurnOver()) await work.yield();
    }
    return pairs;
  }
  const keep = matchingLabelsOf(matching);
  const rightGroups = await groupSeries(right, keep, work);
  for (const [key, series] of await groupSeries(left, keep, work)) {
    const others = rightGroups.get(key);
    if (others === undefined) continue;
    checkSingleSeries(op, "left", key, series);
    checkSingleSeries(op, "right", key, others);
    pairs.push(makePair(series[0]!, others[0]!, keptLabelsOf(left, series[0]!, keep)));
    if (work.isTurnOver()) await work.yield();
  }
  return pairs;
}

function makePair(left: number, right: number, labels: LabelPair[]): SeriesPair {
  return { left, right, labels };
}

/**
 * Throws an AmbiguousMatchError where several series of one operand agree in the labels that match. `key` is the JSON
 * of these labels.
 */
export function checkSingleSeries(op: string, side: string, key: string, series: readonly number[]): void {
  if (series.length === 1) return;
  const labels = (JSON.parse(key) as LabelPair[]).map(([name, text]) => `${name}=${JSON.stringify(text)}`);
  const problem = `${series.length} series on the ${side} side of \`${op}\` agree in {${labels.join(", ")}}`;
  throw new AmbiguousMatchError(
    `${problem}, so that it is open which one is meant; group so that one is left`,
  );
}

/** Visits the buckets in which both series have a point. */
async function visitSharedBuckets(
  a: SeriesSet,
  left: number,
  b: SeriesSet,
  right: number,
  work: WorkDeadline,
  visit: (bucket: number, a: number, b: number) => void,
): Promise<void> {
  let [i, j] = [a.starts[left]!, b.starts[right]!];
  const [iEnd, jEnd] = [a.starts[left + 1]!, b.starts[right + 1]!];
  while (i < iEnd && j < jEnd) {
    const difference = a.buckets[i]! - b.buckets[j]!;
    if (difference === 0) visit(a.buckets[i]!, a.values[i]!, b.values[j]!);
    if (difference <= 0) i++;
    if (difference >= 0) j++;
    if (work.isTurnOver()) await work.yield();
  }
}

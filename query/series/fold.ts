import type { Fold, FoldedSeries } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { groupSeries, keptLabelsOf } from "./matching.ts";
import { SeriesBuilder, type SeriesSet } from "./series-set.ts";

/** Makes one series of each group of series. All points that the group has in a bucket are folded into one point. */
export async function foldSeries(
  { fold, keep }: Pick<FoldedSeries, "fold" | "keep">,
  set: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const builder = new SeriesBuilder();
  for (const group of (await groupSeries(set, keep, work)).values()) {
    builder.beginSeries(keptLabelsOf(set, group[0]!, keep));
    const values = fold.op === "distinct" ? makeLabelCoder(set, fold.label) : undefined;
    const points = await sortPointsByBucket(set, group, work, values);
    for (let at = 0; at < points.buckets.length; at++) {
      const folded = points.values.subarray(points.starts[at], points.starts[at + 1]);
      const value = foldValues(fold, folded);
      // A NaN, such as the sum of opposite infinities, gives no point.
      if (!Number.isNaN(value)) builder.addPoint(points.buckets[at]!, value);
      if (work.isTurnOver(folded.length)) await work.yield();
    }
  }
  await work.yield();
  return builder.build();
}

/**
 * Returns a function that numbers the values of a label: series with equal values get equal numbers, and series without
 * the label get NaN.
 */
function makeLabelCoder(set: SeriesSet, label: string): (series: number) => number {
  const codes = new Map<string, number>();
  return (series) => {
    const text = set.labelOf(series, label);
    if (text === "") return Number.NaN;
    const code = codes.get(text) ?? codes.size;
    codes.set(text, code);
    return code;
  };
}

/** The values of buckets[b] are at indexes from starts[b] to starts[b + 1], exclusive, in the order of their series. */
interface PointsByBucket {
  /** Distinct, ascending. */
  buckets: Float64Array;
  starts: Uint32Array;
  values: Float64Array;
}

/**
 * Sorts the points of a group of series by bucket. With `codeOf`, each point has the code of its series instead of its
 * value.
 */
async function sortPointsByBucket(
  { starts: startOf, buckets, values }: SeriesSet,
  group: readonly number[],
  work: WorkDeadline,
  codeOf?: (series: number) => number,
): Promise<PointsByBucket> {
  // The map holds first the number of points of each bucket, and later the index of each bucket.
  const indexOf = new Map<number, number>();
  for (const series of group) {
    for (let point = startOf[series]!; point < startOf[series + 1]!; point++) {
      indexOf.set(buckets[point]!, (indexOf.get(buckets[point]!) ?? 0) + 1);
      if (work.isTurnOver()) await work.yield();
    }
  }
  const ascending = await sortInTurns(Float64Array.from(indexOf.keys()), (a, b) => a - b, work);
  const starts = new Uint32Array(ascending.length + 1);
  for (const [index, bucket] of ascending.entries()) {
    starts[index + 1] = starts[index]! + indexOf.get(bucket)!;
    indexOf.set(bucket, index);
    if (work.isTurnOver()) await work.yield();
  }
  const next = starts.slice();
  const ordered = new Float64Array(starts[ascending.length]!);
  for (const series of group) {
    const code = codeOf?.(series);
    for (let point = startOf[series]!; point < startOf[series + 1]!; point++) {
      ordered[next[indexOf.get(buckets[point]!)!]!++] = code ?? values[point]!;
      if (work.isTurnOver()) await work.yield();
    }
  }
  return { buckets: ascending, starts, values: ordered };
}

/** Folds one or more values into one. */
function foldValues(fold: Fold, values: Float64Array): number {
  switch (fold.op) {
    case "count":
      return values.length;
    case "sum":
      return sumOf(values);
    case "avg":
      return sumOf(values) / values.length;
    case "min":
      return values.reduce((least, value) => (value < least ? value : least));
    case "max":
      return values.reduce((most, value) => (value > most ? value : most));
    case "stddev":
      return stddevOf(values);
    case "quantile":
      return quantileAt(fold.q, values.toSorted());
    case "distinct":
      return new Set(values.filter((code) => !Number.isNaN(code))).size;
  }
}

function sumOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** The standard deviation of the population. */
function stddevOf(values: Float64Array): number {
  const mean = sumOf(values) / values.length;
  return Math.sqrt(sumOf(values.map((value) => (value - mean) ** 2)) / values.length);
}

/** The quantile of one or more sorted values, interpolated linearly between the two closest ranks. */
function quantileAt(q: number, sorted: Float64Array): number {
  const rank = q * (sorted.length - 1);
  const low = Math.floor(rank);
  // Equal neighbours need no interpolation, which for infinities would give NaN.
  const [below, above] = [sorted[low]!, sorted[Math.ceil(rank)]!];
  return below === above ? below : below + (above - below) * (rank - low);
}

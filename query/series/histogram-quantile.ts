import type { KeptLabels } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { groupSeries, keptLabelsOf } from "./matching.ts";
import { SeriesBuilder, type SeriesSet } from "./series-set.ts";

/** A bucket of a histogram: the number of observations up to `bound`, inclusive. */
interface HistogramBucket {
  bound: number;
  count: number;
}

const labelsButBound: KeptLabels = { kind: "without", labels: ["le"] };

/**
 * Makes one series for each histogram: its quantile in each time bucket. The series of one histogram differ only in
 * `le`.
 */
export async function computeHistogramQuantiles(
  q: number,
  set: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const bounds = makeBoundReader(set);
  const builder = new SeriesBuilder();
  for (const group of (await groupSeries(set, labelsButBound, work)).values()) {
    const histograms = new Map<number, HistogramBucket[]>();
    for (const series of group) {
      const bound = bounds(series);
      if (bound === undefined) continue;
      for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
        const bucket = set.buckets[point]!;
        const histogram = histograms.get(bucket) ?? [];
        histogram.push({ bound, count: set.values[point]! });
        histograms.set(bucket, histogram);
        if (work.isTurnOver()) await work.yield();
      }
    }
    builder.beginSeries(keptLabelsOf(set, group[0]!, labelsButBound));
    const ascending = await sortInTurns(Float64Array.from(histograms.keys()), (a, b) => a - b, work);
    for (const bucket of ascending) {
      const histogram = histograms.get(bucket)!;
      const value = interpolateQuantile(q, histogram);
      if (value !== undefined && !Number.isNaN(value)) builder.addPoint(bucket, value);
      if (work.isTurnOver(histogram.length)) await work.yield();
    }
  }
  await work.yield();
  return builder.build();
}

/**
 * Returns a function that reads the upper bound of a series from its label `le`; undefined where the label is missing
 * or holds no number.
 */
function makeBoundReader(set: SeriesSet): (series: number) => number | undefined {
  return (series) => {
    const text = set.labelOf(series, "le");
    if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY;
    const bound = text === "" ? Number.NaN : Number(text);
    return Number.isNaN(bound) ? undefined : bound;
  };
}

/**
 * The quantile of a classic histogram, calculated as Prometheus' `histogram_quantile` does: interpolated linearly
 * within the bucket that holds the quantile. The lowest bucket begins at 0 if its bound is above 0. For a quantile in
 * the last bucket, whose bound is infinite, the result is the bound of the bucket before. Undefined for a histogram
 * without an infinite bound, with fewer than two buckets, or without observations.
 */
function interpolateQuantile(q: number, unordered: readonly HistogramBucket[]): number | undefined {
  const buckets = toMonotonicBuckets(unordered);
  const last = buckets.at(-1);
  if (buckets.length < 2 || last!.bound !== Number.POSITIVE_INFINITY || !(last!.count > 0)) return undefined;
  const rank = q * last!.count;
  const found = buckets.slice(0, -1).findIndex(({ count }) => count >= rank);
  if (found < 0) return buckets.at(-2)!.bound;
  const { bound, count } = buckets[found]!;
  if (found === 0 && bound <= 0) return bound;
  const below = found === 0 ? { bound: 0, count: 0 } : buckets[found - 1]!;
  return below.bound + (bound - below.bound) * ((rank - below.count) / (count - below.count));
}

/**
 * Sorts buckets by ascending bound. Adds up the counts of buckets with equal bounds. Raises a count that is below that
 * of the bucket before to that count.
 */
function toMonotonicBuckets(unordered: readonly HistogramBucket[]): HistogramBucket[] {
  const buckets: HistogramBucket[] = [];
  for (const { bound, count } of unordered.toSorted((a, b) => a.bound - b.bound)) {
    const last = buckets.at(-1);
    if (last?.bound === bound) last.count += count;
    else buckets.push({ bound, count });
  }
  let most = 0;
  for (const bucket of buckets) {
    if (bucket.count > most) most = bucket.count;
    bucket.count = most;
  }
  return buckets;
}

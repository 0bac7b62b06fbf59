import type { KeptLabels } from "../plan/series-plan.ts";
import { groupSeries, keptLabelsOf } from "./matching.ts";
import { SeriesBuilder, type SeriesSet } from "./series-set.ts";

/** A histogram's bucket: how many observations are at most `bound`. */
interface HistogramBucket {
  bound: number;
  count: number;
}

const labelsButBound: KeptLabels = { kind: "without", labels: ["le"] };

/** A series of each histogram with the quantile of each bucket of time; series are a histogram's buckets, which `le` tells apart. */
export function computeHistogramQuantiles(q: number, set: SeriesSet): SeriesSet {
  const bounds = makeBoundReader(set);
  const draft = new SeriesBuilder();
  for (const group of groupSeries(set, labelsButBound).values()) {
    const histograms = new Map<number, HistogramBucket[]>();
    for (const series of group) {
      const bound = bounds(series);
      if (bound === undefined) continue;
      for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
        const place = set.buckets[point]!;
        const histogram = histograms.get(place) ?? [];
        histogram.push({ bound, count: set.values[point]! });
        histograms.set(place, histogram);
      }
    }
    draft.beginSeries(keptLabelsOf(set, group[0]!, labelsButBound));
    for (const [place, histogram] of [...histograms].sort(([a], [b]) => a - b)) {
      const value = interpolateQuantile(q, histogram);
      if (value !== undefined && !Number.isNaN(value)) draft.addPoint(place, value);
    }
  }
  return draft.build();
}

/** The bound that the label `le` of a series says; undefined where it says none. */
function makeBoundReader(set: SeriesSet): (series: number) => number | undefined {
  const name = set.names().indexOf("le");
  return (series) => {
    const text = name < 0 ? "" : set.labelOf(series, name);
    if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY;
    const bound = text === "" ? Number.NaN : Number(text);
    return Number.isNaN(bound) ? undefined : bound;
  };
}

/**
 * A quantile of a classic histogram, linear within the bucket that holds it, as Prometheus' `histogram_quantile` has it: buckets of one
 * bound are added up, counts that fall are raised to the one before, the lowest bucket begins at 0 where its bound is above 0, and a
 * quantile in the last bucket, which is endless, is the bound before it. Undefined without an endless bucket, with fewer than two, and
 * without observations.
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

/** Buckets by ascending bound, one a bound, with counts that never fall. */
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

import type { Aggregated, QueryLimits, Store } from "../engine/index.ts";
import { type Buckets, bucketStartMs, bucketsOf, partialBuckets, secondsCovered } from "./buckets.ts";
import { rangeNs } from "./range.ts";
import { labelsOf, type SeriesSet, seriesOf, sortedByLabels } from "./series.ts";
import { planTimeseries, type RowSeries, type SeriesPlan } from "./series-plan.ts";
import { topSeries } from "./top.ts";
import { unknownNameWarnings } from "./unknown-names.ts";

/** The part of a store that timeseries need. */
export type SeriesStore = Pick<Store, "aggregate" | "attributeKeys">;

export interface TimeseriesQuery {
  /** svcQL. */
  query: string;
  /** Whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** Inclusive: the whole millisecond. */
  endMs: number;
  /** Width of the buckets, whole seconds; 0 or absent: a round width that gives about 200 points. */
  bucketSeconds?: number;
}

export interface Series {
  /** A label that the rows of a series lack, or have empty, is not there. */
  labels: Record<string, string>;
  /** Start of the bucket in milliseconds since the epoch, and its value; ascending. A bucket without rows is missing. */
  points: [ms: number, value: number][];
}

export interface Timeseries {
  /** In the order of their labels; those of topk and bottomk by rank. */
  series: Series[];
  bucketSeconds: number;
  /** Starts of the buckets at the edges that the range covers only in part. */
  partial: number[];
  warnings: string[];
  scanned: Aggregated["scanned"];
}

interface Evaluation {
  store: SeriesStore;
  buckets: Buckets;
  limits: QueryLimits | undefined;
  scanned: Aggregated["scanned"];
}

/**
 * Answers a timeseries query. Throws a QueryError for a query that is none, and what the store throws: Failure "deadline",
 * "cancelled", "limit".
 */
export async function queryTimeseries(
  store: SeriesStore,
  { query, startMs, endMs, bucketSeconds = 0 }: TimeseriesQuery,
  limits?: QueryLimits,
): Promise<Timeseries> {
  const plan = planTimeseries(query);
  const buckets = bucketsOf(startMs, endMs, bucketSeconds);
  const scanned = { rows: 0, bytes: 0, chunks: 0, chunksSkipped: 0 };
  const evaluation = { store, buckets, limits, scanned };
  const found = await evaluate(plan.series, evaluation);
  const set = plan.series.kind === "rows" ? sortedByLabels(found) : found;
  const { fromNs, toNs } = rangeNs(startMs, endMs);
  return {
    series: Array.from(set.order, (series) => answered(set, series, buckets)),
    bucketSeconds: buckets.seconds,
    partial: partialBuckets(buckets),
    warnings: [...plan.warnings, ...unknownNameWarnings(store, plan.names, fromNs, toNs)],
    scanned: evaluation.scanned,
  };
}

async function evaluate(plan: SeriesPlan, evaluation: Evaluation): Promise<SeriesSet> {
  switch (plan.kind) {
    case "rows":
      return rowSeries(plan, evaluation);
    case "top":
      return topSeries(plan, await evaluate(plan.of, evaluation));
  }
}

async function rowSeries(plan: RowSeries, evaluation: Evaluation): Promise<SeriesSet> {
  const { store, buckets, limits } = evaluation;
  const { signal, steps, groupBy, aggregate } = plan;
  const aggregated = await store.aggregate(
    {
      signal,
      ...rangeNs(buckets.startMs, buckets.endMs),
      steps,
      groupBy: groupBy.map(({ field }) => field),
      bucketNs: BigInt(buckets.seconds) * 1_000_000_000n,
      aggregates: [aggregate],
    },
    limits,
  );
  evaluation.scanned = aggregated.scanned;
  const set = seriesOf(
    aggregated,
    groupBy.map(({ label }) => label),
  );
  if (plan.perSecond) dividePerSecond(set, buckets);
  return set;
}

function dividePerSecond({ buckets: places, values }: SeriesSet, buckets: Buckets): void {
  for (let i = 0; i < values.length; i++) {
    values[i] = values[i]! / secondsCovered(buckets, bucketStartMs(buckets, places[i]!));
  }
}

function answered(set: SeriesSet, series: number, buckets: Buckets): Series {
  const points: Series["points"] = [];
  for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
    points.push([bucketStartMs(buckets, set.buckets[point]!), set.values[point]!]);
  }
  return { labels: Object.fromEntries(labelsOf(set, series)), points };
}

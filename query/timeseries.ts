import { type Aggregated, Failure, type Filter, type QueryLimits, type Store } from "../engine/index.ts";
import { type Buckets, bucketStartMs, bucketsOf, partialBuckets, secondsCovered } from "./buckets.ts";
import { limitsSince } from "./deadline.ts";
import { rangeNs } from "./range.ts";
import { labelsOf, type SeriesSet, seriesOf, sortedByLabels } from "./series.ts";
import { planTimeseries, type RowSeries, type SeriesPlan, type TopSeries } from "./series-plan.ts";
import { simplifySteps } from "./simplify.ts";
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

/** Series that a second scan can be narrowed to: each is a condition on every row. */
const keptMax = 100;

interface Evaluation {
  store: SeriesStore;
  buckets: Buckets;
  limits: QueryLimits | undefined;
  /** Of `performance.now()`. */
  begunMs: number;
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
  const evaluation = { store, buckets, limits, begunMs: performance.now(), scanned };
  const found = await evaluate(plan.series, evaluation);
  const set = plan.series.kind === "rows" ? sortedByLabels(found) : found;
  const { fromNs, toNs } = rangeNs(startMs, endMs);
  return {
    series: Array.from(set.order, (series) => answered(set, series, buckets)),
    bucketSeconds: buckets.seconds,
    partial: partialBuckets(buckets),
    warnings: [
      ...plan.warnings,
      ...unknownNameWarnings(store, { signal: "logs", names: plan.names }, fromNs, toNs),
    ],
    scanned,
  };
}

async function evaluate(plan: SeriesPlan, evaluation: Evaluation): Promise<SeriesSet> {
  switch (plan.kind) {
    case "rows":
      return rowSeries(plan, evaluation);
    case "top":
      return plan.of.kind === "rows"
        ? topOfRows(plan, plan.of, evaluation)
        : topSeries(plan, await evaluate(plan.of, evaluation));
  }
}

/**
 * Ranks all series at once where their points are not too many. Else series are ranked by their rows in the whole range, which is the
 * sum of their points, and then only those that are kept are counted bucket by bucket.
 */
async function topOfRows(plan: TopSeries, rows: RowSeries, evaluation: Evaluation): Promise<SeriesSet> {
  try {
    return topSeries(plan, await rowSeries(rows, evaluation));
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "limit" || rows.perSecond) throw error;
    const ranked = topSeries(plan, await rowSeries(rows, evaluation, "whole"));
    if (ranked.order.length > keptMax) throw error;
    const kept: Filter = {
      kind: "or",
      of: Array.from(ranked.order, (series) => hasLabels(rows, ranked, series)),
    };
    const steps = simplifySteps([...rows.steps, { kind: "filter", filter: kept }]);
    return topSeries(plan, await rowSeries({ ...rows, steps }, evaluation));
  }
}

/** The rows of one series. */
function hasLabels({ groupBy }: RowSeries, { labelOf }: SeriesSet, series: number): Filter {
  const of = groupBy.map(({ field }, i): Filter => ({ kind: "equals", field, value: labelOf(series, i) }));
  return { kind: "and", of };
}

async function rowSeries(
  plan: RowSeries,
  evaluation: Evaluation,
  width: "bucket" | "whole" = "bucket",
): Promise<SeriesSet> {
  const { store, buckets, limits, begunMs } = evaluation;
  const { signal, steps, groupBy, aggregate } = plan;
  const aggregated = await store.aggregate(
    {
      signal,
      ...rangeNs(buckets.startMs, buckets.endMs),
      steps,
      groupBy: groupBy.map(({ field }) => field),
      ...(width === "whole" ? {} : { bucketNs: BigInt(buckets.seconds) * 1_000_000_000n }),
      aggregates: [aggregate],
    },
    limitsSince(begunMs, limits),
  );
  addScanned(evaluation.scanned, aggregated.scanned);
  const set = seriesOf(
    aggregated,
    groupBy.map(({ label }) => label),
  );
  if (plan.perSecond) dividePerSecond(set, buckets);
  return set;
}

function addScanned(sum: Aggregated["scanned"], part: Aggregated["scanned"]): void {
  sum.rows += part.rows;
  sum.bytes += part.bytes;
  sum.chunks += part.chunks;
  sum.chunksSkipped += part.chunksSkipped;
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

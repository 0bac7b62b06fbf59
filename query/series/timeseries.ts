import type { Aggregated, QueryLimits } from "../../engine/index.ts";
import type { Explained } from "../plan/explanation.ts";
import type { Constant, SeriesPlan, TimeseriesPlan } from "../plan/series-plan.ts";
import { planTimeseries } from "../plan/timeseries-plan.ts";
import { bucketsOf, partialBuckets } from "../time/buckets.ts";
import { unknownMetricWarnings } from "../warning/unknown-metrics.ts";
import { unknownNameWarnings } from "../warning/unknown-names.ts";
import { evaluateSeries } from "./evaluation.ts";
import { Reading, type SeriesStore } from "./scan-reader.ts";
import { type Series, SeriesColumns } from "./series-columns.ts";
import { sortedByLabels, withFinitePoints } from "./series-set.ts";

export interface TimeseriesQuery {
  /** svcQL. */
  query: string;
  /** Whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** Inclusive: the whole millisecond. */
  endMs: number;
  /** Width of the buckets, whole seconds; 0 or absent: a round width that gives about 200 points. */
  bucketSeconds?: number;
  /** Of the query, where that was planned before. */
  plan?: TimeseriesPlan;
}

export interface Timeseries {
  /** In the order of their labels; those of topk and bottomk, also with a number on the other side of an operator, by rank. */
  columns: SeriesColumns;
  /** The same as objects, which are made when they are first asked for. */
  readonly series: Series[];
  bucketSeconds: number;
  /** Starts of the buckets at the edges that the range covers only in part. */
  partial: number[];
  warnings: string[];
  scanned: Aggregated["scanned"];
  explained: Explained;
}

/**
 * Answers a timeseries query. Throws a QueryError for a query that is none, and what the store throws: Failure "deadline",
 * "cancelled", "limit".
 */
export async function queryTimeseries(
  store: SeriesStore,
  { query, startMs, endMs, bucketSeconds = 0, plan = planTimeseries(query) }: TimeseriesQuery,
  limits?: QueryLimits,
): Promise<Timeseries> {
  const buckets = bucketsOf(startMs, endMs, bucketSeconds);
  const reading = new Reading(store, plan.scans, buckets, limits);
  const found = await evaluateSeries(plan.series, { query, buckets, reading });
  const finite = withFinitePoints(found);
  const columns = new SeriesColumns(isRanked(plan.series) ? finite : sortedByLabels(finite), buckets);
  let series: Series[] | undefined;
  return {
    columns,
    get series() {
      series ??= columns.objects();
      return series;
    },
    bucketSeconds: buckets.seconds,
    partial: partialBuckets(buckets),
    warnings: [...plan.warnings, ...reading.warnings, ...(await nameWarnings(store, plan, reading))],
    scanned: reading.scanned,
    explained: { series: plan.series, scans: plan.scans, reads: reading.reads },
  };
}

/** Series stand by rank where they were ranked last, and where what was done to them since took them one by one. */
function isRanked(plan: SeriesPlan | Constant): boolean {
  if (plan.kind === "top") return true;
  if (plan.kind !== "calculation") return false;
  const { left, right } = plan;
  return left.kind === "number" ? isRanked(right) : right.kind === "number" && isRanked(left);
}

async function nameWarnings(store: SeriesStore, plan: TimeseriesPlan, reading: Reading): Promise<string[]> {
  const { range, limits } = reading.rest();
  const ofRows = [...Map.groupBy(plan.names, ({ signal }) => signal)].flatMap(([signal, named]) => {
    if (signal === "metrics") return [];
    const names = [...new Set(named.flatMap(({ label }) => label ?? []))];
    return unknownNameWarnings(store, { signal, names }, range.fromNs, range.toNs);
  });
  const strange = plan.names.filter(({ metric }) => metric !== undefined && reading.strangers.has(metric));
  return [...ofRows, ...(await unknownMetricWarnings(store, strange, range, limits))];
}

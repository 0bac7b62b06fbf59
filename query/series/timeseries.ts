import type { Aggregated, QueryLimits } from "../../engine/index.ts";
import type { Explanation } from "../plan/explanation.ts";
import type { Constant, SeriesPlan, TimeseriesPlan } from "../plan/series-plan.ts";
import { planTimeseries } from "../plan/timeseries-plan.ts";
import { listPartialBuckets, makeTimeBuckets } from "../time/buckets.ts";
import { warnOfUnknownMetrics } from "../warning/unknown-metrics.ts";
import { warnOfUnknownNames } from "../warning/unknown-names.ts";
import { evaluateSeries } from "./evaluation.ts";
import { ScanReader, type SeriesStore } from "./scan-reader.ts";
import { type Series, SeriesColumns } from "./series-columns.ts";
import { keepFinitePoints, sortByLabels } from "./series-set.ts";

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
  explained: Explanation;
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
  const buckets = makeTimeBuckets(startMs, endMs, bucketSeconds);
  const reader = new ScanReader(store, plan.scans, buckets, limits);
  const found = await evaluateSeries(plan.series, { query, buckets, reader });
  const finite = keepFinitePoints(found);
  const columns = new SeriesColumns(isRanked(plan.series) ? finite : sortByLabels(finite), buckets);
  let series: Series[] | undefined;
  return {
    columns,
    get series() {
      series ??= columns.toObjects();
      return series;
    },
    bucketSeconds: buckets.seconds,
    partial: listPartialBuckets(buckets),
    warnings: [...plan.warnings, ...reader.warnings, ...(await nameWarnings(store, plan, reader))],
    scanned: reader.scanned,
    explained: { series: plan.series, scans: plan.scans, reads: reader.reads },
  };
}

/** Series stand by rank where they were ranked last, and where what was done to them since took them one by one. */
function isRanked(plan: SeriesPlan | Constant): boolean {
  if (plan.kind === "top") return true;
  if (plan.kind !== "calculation") return false;
  const { left, right } = plan;
  return left.kind === "number" ? isRanked(right) : right.kind === "number" && isRanked(left);
}

async function nameWarnings(store: SeriesStore, plan: TimeseriesPlan, reader: ScanReader): Promise<string[]> {
  const { range, limits } = reader.remaining();
  const ofRows = [...Map.groupBy(plan.names, ({ signal }) => signal)].flatMap(([signal, named]) => {
    if (signal === "metrics") return [];
    const names = [...new Set(named.flatMap(({ label }) => label ?? []))];
    return warnOfUnknownNames(store, { signal, names }, range.fromNs, range.toNs);
  });
  const strange = plan.names.filter(
    ({ metric }) => metric !== undefined && reader.unknownMetrics.has(metric),
  );
  return [...ofRows, ...(await warnOfUnknownMetrics(store, strange, range, limits))];
}

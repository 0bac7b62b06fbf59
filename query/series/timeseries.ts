import type { AggregateResult, QueryLimits } from "../../engine/index.ts";
import { type Explanation, listNodes, type NodeResult } from "../explanation/explanation.ts";
import type { VariableValues } from "../plan/context.ts";
import type { Constant, SeriesPlan, TimeseriesPlan } from "../plan/series-plan.ts";
import { planTimeseries } from "../plan/timeseries-plan.ts";
import { listPartialBuckets, makeTimeBuckets } from "../time/buckets.ts";
import type { TimeRange } from "../time/range.ts";
import { warnOfUnknownMetrics } from "../warning/unknown-metrics.ts";
import { warnOfUnknownNames } from "../warning/unknown-names.ts";
import { evaluateSeries } from "./evaluation.ts";
import { ScanReader, type SeriesStore } from "./scan-reader.ts";
import { type Series, SeriesColumns } from "./series-columns.ts";
import { keepFinitePoints, sortByLabels } from "./series-set.ts";

/** A timeseries query, its range of time and the width of its buckets. */
export interface TimeseriesQuery extends TimeRange {
  /** The text of the query, svcQL. */
  query: string;
  /** Width of a bucket in whole seconds. 0 or absent: the narrowest round width that gives at most 200 buckets. */
  bucketSeconds?: number;
  /** Values of the query's `$name`s, by name. */
  variables?: VariableValues;
  /** Measures for `explained` what each node and each condition of the plan does, which takes a little longer. */
  isExplained?: boolean;
  /** The plan of `query`, where the caller has already made it. */
  plan?: TimeseriesPlan;
}

/** The answer to a timeseries query. */
export interface Timeseries {
  /**
   * Ranked series are in the order of `topk` or `bottomk`, which an operator with a number keeps. Other series are in
   * the order of their labels.
   */
  columns: SeriesColumns;
  /** The same series as objects, which are made at the first access. */
  readonly series: Series[];
  /** Width of a bucket in seconds. */
  bucketSeconds: number;
  /**
   * Starts of the buckets that the range covers only in part: the first, the last, both or none. Milliseconds since the
   * epoch.
   */
  partial: number[];
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
  /** What all scans together read. */
  scanned: AggregateResult["scanned"];
  explained: Explanation;
}

/**
 * Answers a timeseries query. Throws a QueryError for a mistake in the query, and what the store throws: Failure
 * "deadline", "cancelled" or "limit".
 */
export async function queryTimeseries(
  store: SeriesStore,
  search: TimeseriesQuery,
  limits?: QueryLimits,
): Promise<Timeseries> {
  const { query, startMs, endMs, bucketSeconds = 0, variables = {} } = search;
  const plan = search.plan ?? planTimeseries(query, { variables });
  const buckets = makeTimeBuckets(startMs, endMs, bucketSeconds);
  const { isExplained = false } = search;
  const reader = new ScanReader(store, plan.scans, buckets, limits, isExplained);
  const nodes = isExplained ? new Map<SeriesPlan, NodeResult>() : undefined;
  const found = await evaluateSeries(plan.series, { query, buckets, reader, nodes });
  const finite = keepFinitePoints(found);
  const columns = new SeriesColumns(
    isRanked(plan.series) ? finite : await sortByLabels(finite, reader.deadline),
    buckets,
  );
  let series: Series[] | undefined;
  return {
    columns,
    get series() {
      series ??= columns.toObjects();
      return series;
    },
    bucketSeconds: buckets.seconds,
    partial: listPartialBuckets(buckets),
    warnings: [...plan.warnings, ...reader.warnings, ...(await warnOfNames(store, plan, reader))],
    scanned: reader.scanned,
    explained: {
      series: plan.series,
      scans: plan.scans,
      reads: reader.reads,
      ...(nodes && { nodes: listNodes(plan.series, nodes) }),
    },
  };
}

/**
 * Returns whether the series of a plan have an order of their own: they come from `topk`, `bottomk` or `sort`. An
 * operator between them and a number, such as `topk(5, …) * 2`, a minus and a function of each point keep it.
 */
function isRanked(plan: SeriesPlan | Constant): boolean {
  if (plan.kind === "top" || plan.kind === "sort") return true;
  if (plan.kind === "map" || plan.kind === "relabel" || plan.kind === "negation") return isRanked(plan.of);
  if (plan.kind !== "calculation") return false;
  const { left, right } = plan;
  return left.kind === "number" ? isRanked(right) : right.kind === "number" && isRanked(left);
}

/** Makes a warning for each label and each metric of the query that does not exist. */
async function warnOfNames(store: SeriesStore, plan: TimeseriesPlan, reader: ScanReader): Promise<string[]> {
  const { range, limits } = reader.remaining();
  const rowWarnings = [...Map.groupBy(plan.names, ({ signal }) => signal)].flatMap(([signal, expected]) => {
    if (signal === "metrics") return [];
    const names = [...new Set(expected.flatMap(({ label }) => label ?? []))];
    return warnOfUnknownNames(store, { signal, names }, range);
  });
  const unknown = plan.names.filter(
    ({ metric }) => metric !== undefined && reader.unknownMetrics.has(metric),
  );
  return [...rowWarnings, ...(await warnOfUnknownMetrics(store, unknown, range, limits))];
}

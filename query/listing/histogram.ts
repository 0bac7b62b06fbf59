import {
  type AggregateQuery,
  type AggregateResult,
  type Field,
  type QueryLimits,
  type RowSignal,
  type Store,
  textAt,
} from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { fieldOf } from "../plan/field.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction } from "../plan/simplification.ts";
import { bucketStartMsOf, listPartialBuckets, makeTimeBuckets, type TimeBuckets } from "../time/buckets.ts";
import { WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a histogram of rows needs. */
export type HistogramStore = Pick<Store, "readColumns" | "aggregate" | "attributeKeys">;

/** A search, and the width of the buckets in which its rows are counted. */
export interface HistogramQuery extends TimeRange {
  signal: RowSignal;
  /** A search for rows of the signal: svcQL, for logs also search terms. */
  query: string;
  /** Width of a bucket in whole seconds. 0 or absent: the narrowest round width that gives at most 200 buckets. */
  bucketSeconds?: number;
  /** The field by whose values rows are counted separately. Absent: the level of logs, the status code of spans. */
  by?: string;
  /** With `by`: the values of most rows, at most so many, have a series of their own. */
  top?: number;
}

/** The number of rows of one value over time. */
interface HistogramSeries {
  /**
   * The value, "" for rows without one. For logs without `by` the level in lower case, for spans the status code; ""
   * for the signals that have neither. Undefined for the rows of all values that have no series of their own.
   */
  kind: string | undefined;
  /**
   * Start of a bucket in milliseconds since the epoch, and the number of rows in the bucket. Ascending; buckets without
   * rows are left out.
   */
  points: [ms: number, rows: number][];
}

/** Counts of the rows that a search finds, over time. */
export interface RowHistogram {
  /** The field by which rows are counted separately; null for signals that have neither levels nor status codes. */
  by: string | null;
  /** Sorted by `kind`; with `by` those of most rows first, and the rest last. */
  series: HistogramSeries[];
  /** The number of rows in all series. */
  count: number;
  /** Width of a bucket in seconds. */
  bucketSeconds: number;
  /**
   * Starts of the buckets that the range covers only in part: the first, the last, both or none. Milliseconds since the
   * epoch.
   */
  partial: number[];
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
}

const groupFieldBySignal: Readonly<Record<RowSignal, { by: string; field: Field } | null>> = {
  logs: { by: "level", field: { kind: "level" } },
  traces: { by: "status_code", field: { kind: "attribute", key: "status_code" } },
  profiles: null,
  kubernetes_resources: null,
};

/** Values that have a series of their own where nothing else is said. */
const topDefault = 10;

/**
 * Counts the rows that a search finds, by bucket and by level or status, or by the values of a field. Throws a QueryError for a mistake in the
 * query, and what the store throws.
 */
export async function queryHistogram(
  store: HistogramStore,
  { signal, query, startMs, endMs, bucketSeconds = 0, by, top = topDefault }: HistogramQuery,
  limits?: QueryLimits,
): Promise<RowHistogram> {
  const work = new WorkDeadline(performance.now(), limits);
  const plan = planSearch(signal, query);
  const buckets = makeTimeBuckets(startMs, endMs, bucketSeconds);
  const range = toRangeNs(startMs, endMs);
  const groupField = by === undefined ? groupFieldBySignal[signal] : { by, field: fieldOf(by, signal) };
  const groupBy = groupField === null ? [] : [groupField.field];
  const rows = { signal, ...range, steps: dropUnreadExtraction(plan.steps, groupBy) };
  const { steps } = await resolveSteps(store, rows, limits, { fields: groupBy });
  const bucketNs = BigInt(buckets.seconds) * 1_000_000_000n;
  const counts: AggregateQuery = {
    signal,
    ...range,
    steps,
    groupBy,
    bucketNs,
    aggregates: [{ op: "count" }],
  };
  const aggregated = await store.aggregate(counts, limits);
  const all = await toHistogramSeries(aggregated, groupBy.length, buckets, work);
  const series = by === undefined ? all : await keepTop(all, top, work);
  return {
    by: groupField?.by ?? null,
    series: series.map(({ rows: _, ...each }) => each),
    count: series.reduce((sum, { rows }) => sum + rows, 0),
    bucketSeconds: buckets.seconds,
    partial: listPartialBuckets(buckets),
    warnings: collectPlanWarnings(store, plan, range),
  };
}

/** A series and the number of its rows. */
type CountedSeries = HistogramSeries & { rows: number };

/** The series of most rows, and one of the rows of all others. */
async function keepTop(
  all: readonly CountedSeries[],
  top: number,
  work: WorkDeadline,
): Promise<CountedSeries[]> {
  const ranked = await firstInTurns(all, all.length, (a, b) => b.rows - a.rows, work);
  if (ranked.length <= top) return ranked;
  const rest = new Map<number, number>();
  let rows = 0;
  for (const each of ranked.slice(top)) {
    if (work.isTurnOver(each.points.length)) await work.yield();
    rows += each.rows;
    for (const [ms, count] of each.points) rest.set(ms, (rest.get(ms) ?? 0) + count);
  }
  const points = [...rest].sort(([a], [b]) => a - b);
  return [...ranked.slice(0, top), { kind: undefined, points, rows }];
}

/** Sorted by `kind`. */
async function toHistogramSeries(
  { groups, labels, points }: AggregateResult,
  fields: number,
  buckets: TimeBuckets,
  work: WorkDeadline,
): Promise<CountedSeries[]> {
  const series: CountedSeries[] = [];
  for (let group = 0; group < groups; group++) {
    if (work.isTurnOver()) await work.yield();
    series.push({ kind: fields === 0 ? "" : textAt(labels, group), points: [], rows: 0 });
  }
  const [counts] = points.values;
  for (const [i, group] of points.groups.entries()) {
    if (work.isTurnOver()) await work.yield();
    const own = series[group]!;
    own.points.push([bucketStartMsOf(buckets, points.buckets[i]!), counts![i]!]);
    own.rows += counts![i]!;
  }
  for (const each of series) {
    if (work.isTurnOver(each.points.length)) await work.yield();
    each.points.sort(([a], [b]) => a - b);
  }
  return firstInTurns(series, groups, (a, b) => (a.kind! < b.kind! ? -1 : 1), work);
}

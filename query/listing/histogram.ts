import {
  type Aggregated,
  type Field,
  type QueryLimits,
  type RowSignal,
  type Store,
  textAt,
} from "../../engine/index.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction } from "../plan/simplification.ts";
import { bucketStartMsOf, listPartialBuckets, makeTimeBuckets, type TimeBuckets } from "../time/buckets.ts";
import { toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a histogram needs. */
export type HistogramStore = Pick<Store, "aggregate" | "attributeKeys">;

export interface HistogramQuery {
  signal: RowSignal;
  /** Of the search for rows of the signal. */
  query: string;
  /** Whole milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
  /** Width of the buckets, whole seconds; 0 or absent: a round width that gives about 200 points. */
  bucketSeconds?: number;
}

/** Rows of one kind over time. */
interface HistogramSeries {
  /** Level, in lower case, or status; "" for rows without. */
  kind: string;
  /** Start of the bucket in milliseconds since the epoch, and its rows; ascending. A bucket without rows is missing. */
  points: [ms: number, rows: number][];
}

export interface RowHistogram {
  /** What tells the rows apart: nothing where a signal has neither levels nor status. */
  by: "level" | "status_code" | null;
  /** In the order of their kinds. */
  series: HistogramSeries[];
  /** All rows. */
  count: number;
  bucketSeconds: number;
  /** Starts of the buckets at the edges that the range covers only in part. */
  partial: number[];
  warnings: string[];
}

const groupFieldBySignal: Readonly<
  Record<RowSignal, { by: NonNullable<RowHistogram["by"]>; field: Field } | null>
> = {
  logs: { by: "level", field: { kind: "level" } },
  traces: { by: "status_code", field: { kind: "attribute", key: "status_code" } },
  profiles: null,
  kubernetes_resources: null,
};

/** Counts the rows that a search finds in each bucket. Throws a QueryError, and what the store throws. */
export async function queryHistogram(
  store: HistogramStore,
  { signal, query, startMs, endMs, bucketSeconds = 0 }: HistogramQuery,
  limits?: QueryLimits,
): Promise<RowHistogram> {
  const plan = planSearch(signal, query);
  const buckets = makeTimeBuckets(startMs, endMs, bucketSeconds);
  const range = toRangeNs(startMs, endMs);
  const kind = groupFieldBySignal[signal];
  const groupBy = kind === null ? [] : [kind.field];
  const aggregated = await store.aggregate(
    {
      signal,
      ...range,
      steps: dropUnreadExtraction(plan.steps, groupBy),
      groupBy,
      bucketNs: BigInt(buckets.seconds) * 1_000_000_000n,
      aggregates: [{ op: "count" }],
    },
    limits,
  );
  const series = toHistogramSeries(aggregated, groupBy.length, buckets);
  return {
    by: kind?.by ?? null,
    series,
    count: series.reduce((sum, { points }) => sum + points.reduce((rows, [, each]) => rows + each, 0), 0),
    bucketSeconds: buckets.seconds,
    partial: listPartialBuckets(buckets),
    warnings: collectPlanWarnings(store, plan, range.fromNs, range.toNs),
  };
}

function toHistogramSeries(
  { groups, labels, points }: Aggregated,
  fields: number,
  buckets: TimeBuckets,
): HistogramSeries[] {
  const series = Array.from({ length: groups }, (_, group): HistogramSeries => {
    return { kind: fields === 0 ? "" : textAt(labels, group), points: [] };
  });
  const [counts] = points.values;
  for (const [i, group] of points.groups.entries()) {
    series[group]!.points.push([bucketStartMsOf(buckets, points.buckets[i]!), counts![i]!]);
  }
  for (const each of series) each.points.sort(([a], [b]) => a - b);
  return series.sort((a, b) => (a.kind < b.kind ? -1 : 1));
}

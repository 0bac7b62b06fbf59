/** The data of the naive evaluator: plain arrays. */
import type { RowSignal } from "../../../../engine/index.ts";

/** A row of any signal. Spans have no level and no message; their duration is the attribute `duration_ms`. */
export interface NaiveRow {
  timeNs: bigint;
  level: string;
  message: string;
  attributes: Readonly<Record<string, string>>;
}

export interface NaiveSample {
  timeNs: bigint;
  name: string;
  type: "gauge" | "counter" | "delta" | "unknown";
  labels: Readonly<Record<string, string>>;
  value: number;
  /** Of samples of one series and time, the one with the greatest arrival counts. */
  arrival: number;
}

export interface TelemetryData {
  rows: Readonly<Partial<Record<RowSignal, readonly NaiveRow[]>>>;
  samples: readonly NaiveSample[];
}

/** Both ends inclusive, whole milliseconds. */
export interface BucketedRange {
  startMs: number;
  endMs: number;
  bucketSeconds: number;
}

export interface NaiveTimeseries {
  labels: Readonly<Record<string, string>>;
  /** Values by the start of the bucket in milliseconds. Buckets without a value are left out. */
  points: Map<number, number>;
}

/** The reasons why a query is refused. */
export type ErrorKind =
  | "syntax"
  | "no aggregation"
  | "only a number"
  | "needs a field"
  | "takes no field"
  | "not over rows"
  | "not over metrics"
  | "not over a rate of rows"
  | "increase of rows"
  | "without over rows"
  | "only over traces"
  | "only over kubernetes_resources"
  | "not over json_path"
  | "bad path"
  | "stage of a metric"
  | "quantile out of range"
  | "count of series"
  | "no le"
  | "needs series"
  | "needs a number"
  | "needs a text"
  | "number of arguments"
  | "bounds"
  | "needs bool"
  | "many to many"
  | "pattern"
  | "not a number"
  | "variable"
  | "duration";

export class RefusedError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind) {
    super(kind);
    this.kind = kind;
  }
}

/** The JSON of labels sorted by name, equal for equal labels. A label with the empty text is no label. */
export function labelKeyOf(labels: Readonly<Record<string, string>>): string {
  const named = Object.entries(labels).filter(([, text]) => text !== "");
  return JSON.stringify(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function parseLabelKey(key: string): Record<string, string> {
  return Object.fromEntries(JSON.parse(key) as [string, string][]);
}

function msOf(timeNs: bigint): number {
  return Number(timeNs / 1_000_000n);
}

export function isInRange({ timeNs }: { timeNs: bigint }, { startMs, endMs }: BucketedRange): boolean {
  return msOf(timeNs) >= startMs && msOf(timeNs) <= endMs;
}

export function bucketOf({ timeNs }: { timeNs: bigint }, { bucketSeconds }: BucketedRange): number {
  const widthMs = bucketSeconds * 1000;
  return Math.floor(msOf(timeNs) / widthMs) * widthMs;
}

/** The starts of all buckets that overlap the range. */
export function bucketsOf({ startMs, endMs, bucketSeconds }: BucketedRange): number[] {
  const widthMs = bucketSeconds * 1000;
  const starts: number[] = [];
  for (let start = Math.floor(startMs / widthMs) * widthMs; start <= endMs; start += widthMs)
    starts.push(start);
  return starts;
}

/** Seconds of a bucket that are within the range, whose end includes its whole millisecond. */
export function secondsOf(bucketMs: number, { startMs, endMs, bucketSeconds }: BucketedRange): number {
  return (Math.min(bucketMs + bucketSeconds * 1000, endMs + 1) - Math.max(bucketMs, startMs)) / 1000;
}

/** Collects values by labels and bucket. */
export class PointGroups<Value> {
  readonly #groups = new Map<string, Map<number, Value[]>>();

  add(labels: Readonly<Record<string, string>>, bucketMs: number, ...values: Value[]): void {
    const key = labelKeyOf(labels);
    const buckets = this.#groups.get(key) ?? new Map<number, Value[]>();
    this.#groups.set(key, buckets);
    const gathered = buckets.get(bucketMs) ?? [];
    buckets.set(bucketMs, gathered);
    gathered.push(...values);
  }

  /** One series for each group. `value` turns the values of a bucket into a point; undefined leaves it out. */
  fold(value: (values: Value[], bucketMs: number) => number | undefined): NaiveTimeseries[] {
    const all = [...this.#groups].map(([key, buckets]) => {
      const points = new Map<number, number>();
      for (const [bucketMs, values] of buckets) {
        const point = value(values, bucketMs);
        // NaN is no point, just as a NaN sample is no sample.
        if (point !== undefined && !Number.isNaN(point)) points.set(bucketMs, point);
      }
      return { labels: parseLabelKey(key), points };
    });
    return dropEmptySeries(all);
  }
}

export function dropEmptySeries(all: readonly NaiveTimeseries[]): NaiveTimeseries[] {
  return all.filter(({ points }) => points.size > 0);
}

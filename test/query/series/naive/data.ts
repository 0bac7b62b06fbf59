/** What the naive evaluator works on: plain arrays. */
import type { RowSignal } from "../../../../engine/index.ts";

/** A row of any signal. For spans, level and message are empty and the duration is the attribute `duration_ms`. */
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
  /** Of samples of one series with equal time, the one with the greatest arrival counts. */
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
  /** Value by start of the bucket in milliseconds. A missing point is not there. */
  points: Map<number, number>;
}

/** Why a query has no answer. */
export type ErrorKind =
  | "syntax"
  | "no aggregation"
  | "only a number"
  | "needs a field"
  | "takes no field"
  | "not over rows"
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
  | "needs bool"
  | "many to many"
  | "pattern"
  | "not a number"
  | "variable";

export class RefusedError extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind) {
    super(kind);
    this.kind = kind;
  }
}

/** Labels by name, so that equal sets have equal keys. A label with the empty text is no label. */
export function labelsKey(labels: Readonly<Record<string, string>>): string {
  const named = Object.entries(labels).filter(([, text]) => text !== "");
  return JSON.stringify(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function labelsOf(key: string): Record<string, string> {
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

/** The starts of all buckets that the range touches. */
export function bucketsOf({ startMs, endMs, bucketSeconds }: BucketedRange): number[] {
  const widthMs = bucketSeconds * 1000;
  const starts: number[] = [];
  for (let start = Math.floor(startMs / widthMs) * widthMs; start <= endMs; start += widthMs)
    starts.push(start);
  return starts;
}

/** Seconds of a bucket that lie in the range; its end covers its whole millisecond. */
export function secondsOf(bucketMs: number, { startMs, endMs, bucketSeconds }: BucketedRange): number {
  return (Math.min(bucketMs + bucketSeconds * 1000, endMs + 1) - Math.max(bucketMs, startMs)) / 1000;
}

/** Values gathered by labels and bucket. */
export class PointGroups<Value> {
  readonly #groups = new Map<string, Map<number, Value[]>>();

  add(labels: Readonly<Record<string, string>>, bucketMs: number, ...values: Value[]): void {
    const key = labelsKey(labels);
    const buckets = this.#groups.get(key) ?? new Map<number, Value[]>();
    this.#groups.set(key, buckets);
    const gathered = buckets.get(bucketMs) ?? [];
    buckets.set(bucketMs, gathered);
    gathered.push(...values);
  }

  /** One series a group; `undefined` is a missing point. */
  fold(value: (values: Value[], bucketMs: number) => number | undefined): NaiveTimeseries[] {
    const all = [...this.#groups].map(([key, buckets]) => {
      const points = new Map<number, number>();
      for (const [bucketMs, values] of buckets) {
        const point = value(values, bucketMs);
        // What is no number is no point, as a sample that is no number is no sample.
        if (point !== undefined && !Number.isNaN(point)) points.set(bucketMs, point);
      }
      return { labels: labelsOf(key), points };
    });
    return withPoints(all);
  }
}

export function withPoints(all: readonly NaiveTimeseries[]): NaiveTimeseries[] {
  return all.filter(({ points }) => points.size > 0);
}

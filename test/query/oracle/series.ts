/** Series of a timeseries query, and the buckets that they are made of. */
import type { StoredRows } from "./selector.ts";

/** A series of a metric, or of a number in the bodies of a resource, as it is stored. */
export interface StoredSeries {
  name: string;
  isCounter: boolean;
  labels: Readonly<Record<string, string>>;
  /** Ascending; of equal times the last to arrive, without NaN. */
  samples: readonly { timeMs: number; value: number }[];
}

export interface OracleSeries {
  labels: Readonly<Record<string, string>>;
  /** By the start of the bucket in milliseconds. */
  points: Map<number, number>;
}

export interface SeriesSet {
  series: OracleSeries[];
  /** Whether the order of the series is part of the answer. */
  isOrdered: boolean;
}

export type Value = number | SeriesSet;

/** A span of time that holds its start, not its end, and the seconds by which a rate divides. */
export interface Span {
  fromMs: number;
  toMs: number;
  seconds: number;
}

export interface OracleBucket {
  startMs: number;
  /** The end of the bucket, where the range does not cut it. */
  endMs: number;
  /** What of the bucket is in the range. */
  fromMs: number;
  toMs: number;
}

export interface Evaluation {
  rows: StoredRows;
  samples: readonly StoredSeries[];
  resources: readonly StoredSeries[];
  startMs: number;
  endMs: number;
  bucketMs: number;
  buckets: readonly OracleBucket[];
}

export interface SeriesExpression {
  text: string;
  forms: readonly string[];
  /** How close it binds as an operand: the greater, the closer. */
  binding: number;
  /** Whether it is one series without labels, by what it is rather than by its rows. */
  isUnlabelled: boolean;
  evaluate(asked: Evaluation): Value;
}

export function listBuckets(startMs: number, endMs: number, bucketMs: number): OracleBucket[] {
  const buckets: OracleBucket[] = [];
  for (let at = Math.floor(startMs / bucketMs) * bucketMs; at <= endMs; at += bucketMs) {
    const [fromMs, toMs] = [Math.max(at, startMs), Math.min(at + bucketMs, endMs + 1)];
    buckets.push({ startMs: at, endMs: at + bucketMs, fromMs, toMs });
  }
  return buckets;
}

/** `[window]` and `offset` after a selector. */
export interface Timing {
  windowMs: number | undefined;
  offsetMs: number;
}

/** The time of which a point is. */
export function spanOf(bucket: OracleBucket, { windowMs, offsetMs }: Timing): Span {
  const fromMs = windowMs === undefined ? bucket.fromMs : bucket.endMs - windowMs;
  return { fromMs: fromMs - offsetMs, toMs: bucket.toMs - offsetMs, seconds: (bucket.toMs - fromMs) / 1000 };
}

/** A series from a number of each bucket; those that are not finite are no points. */
export function makeSeries(
  labels: Readonly<Record<string, string>>,
  buckets: readonly OracleBucket[],
  valueIn: (bucket: OracleBucket) => number | undefined,
): OracleSeries {
  const points = new Map<number, number>();
  for (const bucket of buckets) {
    const value = valueIn(bucket);
    if (value !== undefined && Number.isFinite(value)) points.set(bucket.startMs, value);
  }
  return { labels, points };
}

export const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

export function quantileOf(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = q * (sorted.length - 1);
  const below = sorted[Math.floor(rank)]!;
  const above = sorted[Math.ceil(rank)]!;
  return below + (above - below) * (rank - Math.floor(rank));
}

function deviationOf(values: readonly number[]): number {
  const mean = sumOf(values) / values.length;
  return Math.sqrt(sumOf(values.map((value) => (value - mean) ** 2)) / values.length);
}

export type Statistic = "sum" | "avg" | "min" | "max" | "stddev" | "count";

/** Nothing for no values. */
export function summarize(
  statistic: Statistic | { q: number },
  values: readonly number[],
): number | undefined {
  if (values.length === 0) return undefined;
  if (typeof statistic === "object") return quantileOf(values, statistic.q);
  switch (statistic) {
    case "count":
      return values.length;
    case "sum":
      return sumOf(values);
    case "avg":
      return sumOf(values) / values.length;
    case "min":
      return Math.min(...values);
    case "max":
      return Math.max(...values);
    case "stddev":
      return deviationOf(values);
  }
}

/** The labels among these that have a text. */
export function keepLabels(
  names: readonly string[],
  read: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => ((read(name) ?? "") === "" ? [] : [[name, read(name)!]])),
  );
}

/** The same text for the same labels. */
export function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export interface Grouping {
  word: "by" | "without";
  labels: readonly string[];
}

export function groupLabels(
  labels: Readonly<Record<string, string>>,
  grouping: Grouping | undefined,
): Record<string, string> {
  if (grouping === undefined) return {};
  const kept =
    grouping.word === "by"
      ? grouping.labels
      : Object.keys(labels).filter((name) => !grouping.labels.includes(name));
  return keepLabels(kept, (name) => labels[name]);
}

/** The answer depends on the errors of floats, so that it is open. */
export class Undecided extends Error {}

/** Forms whose numbers are not exact: two ways to calculate them differ by the errors of floats. */
const inexactForms =
  /rate|avg|stddev|quantile|deriv|delta|predict|gauge|json_path|operator [/^%]|sum|every series/;

/** Throws where two numbers, one of which comes of these forms, are the same but for errors of floats. */
export function checkApart(a: number, b: number, forms: readonly string[]): void {
  const isNear = Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
  if (isNear && forms.some((form) => inexactForms.test(form))) throw new Undecided();
}

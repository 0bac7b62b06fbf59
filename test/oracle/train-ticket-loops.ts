/** Plain loops over the raw lines of a day. */
import type { Day } from "./train-ticket-day.ts";

export interface Answered {
  labels: Record<string, string>;
  points: [ms: number, value: number][];
}

/** Where a loop looks, and how wide its buckets are. */
interface Window {
  startMs: number;
  /** Inclusive. */
  endMs: number;
  bucketSeconds: number;
}

/** One thing that counts: when, for which series, and as what number. */
export type Item = [ms: number, series: string, value: number];

export const toMs = (ns: bigint) => Number(ns / 1_000_000n);

export function logItems({ logs }: Day, series: (line: Day["logs"][number]) => string | undefined): Item[] {
  return logs.flatMap((line): Item[] => {
    const own = series(line);
    return own === undefined ? [] : [[toMs(line.timeNs), own, 1]];
  });
}

export const durationOf = (span: Day["spans"][number]) => Number(span.endNs - span.startNs) / 1e6;

export function spanItems(
  { spans }: Day,
  series: (span: Day["spans"][number]) => string | undefined,
): Item[] {
  return spans.flatMap((span): Item[] => {
    const own = series(span);
    return own === undefined ? [] : [[toMs(span.startNs), own, durationOf(span)]];
  });
}

/** The values of each series and bucket, folded. `label` names the series; without one there is one series. */
export function table(
  items: readonly Item[],
  { startMs, endMs, bucketSeconds }: Window,
  label: string | null,
  fold: (values: number[], bucketMs: number) => number,
): Answered[] {
  const widthMs = bucketSeconds * 1000;
  const found = new Map<string, Map<number, number[]>>();
  for (const [ms, series, value] of items) {
    if (ms < startMs || ms > endMs) continue;
    const buckets = found.get(series) ?? new Map<number, number[]>();
    found.set(series, buckets);
    const bucketMs = Math.floor(ms / widthMs) * widthMs;
    const values = buckets.get(bucketMs) ?? [];
    buckets.set(bucketMs, values);
    values.push(value);
  }
  return [...found].map(([series, buckets]) => ({
    labels: label === null ? {} : { [label]: series },
    points: [...buckets]
      .map(([bucketMs, values]): [number, number] => [bucketMs, fold(values, bucketMs)])
      .sort(([a], [b]) => a - b),
  }));
}

export const count = (values: readonly number[]) => values.length;
export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
export const avg = (values: readonly number[]) => sum(values) / values.length;
export const max = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value));

export const quantile = (q: number) => (values: readonly number[]) => {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = q * (sorted.length - 1);
  const low = sorted[Math.floor(rank)]!;
  return low + (sorted[Math.ceil(rank)]! - low) * (rank - Math.floor(rank));
};

export function stddev(values: readonly number[]): number {
  const mean = avg(values);
  return Math.sqrt(avg(values.map((value) => (value - mean) ** 2)));
}

/** The series with the greatest sums, the greatest first. */
export function top(series: readonly Answered[], many: number): Answered[] {
  const total = ({ points }: Answered) => sum(points.map(([, value]) => value));
  return [...series].sort((a, b) => total(b) - total(a)).slice(0, many);
}

/** Points of both, put together where both are. */
export function ratio(above: readonly Answered[], below: readonly Answered[]): Answered[] {
  return above.flatMap(({ labels, points }) => {
    const other = below.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels));
    const shared = points.flatMap(([ms, value]): [number, number][] => {
      const divisor = other?.points.find(([otherMs]) => otherMs === ms)?.[1];
      return divisor === undefined ? [] : [[ms, value / divisor]];
    });
    return shared.length === 0 ? [] : [{ labels, points: shared }];
  });
}

export function keep(series: readonly Answered[], isKept: (value: number) => boolean): Answered[] {
  return series
    .map(({ labels, points }) => ({ labels, points: points.filter(([, value]) => isKept(value)) }))
    .filter(({ points }) => points.length > 0);
}

/** The samples of a metric that are numbers. */
export function samplesOf({ metrics }: Day, metric: string): Day["metrics"] {
  return metrics.filter(({ name, value }) => name === metric && !Number.isNaN(value));
}

/** Each pod's average of a gauge in each bucket, as items of a series that a label names. */
export function podAverages(data: Day, window: Window, metric: string, label: string | null): Item[] {
  const samples = samplesOf(data, metric);
  // All labels of a series: a pod belongs to one service.
  const bySeries = samples.map(({ ms, labels, value }): Item => [ms, JSON.stringify(labels), value]);
  return table(bySeries, window, "of", avg).flatMap(({ labels, points }) => {
    const own = JSON.parse(labels.of!) as Record<string, string>;
    return points.map(([ms, value]): Item => [ms, label === null ? "" : own[label]!, value]);
  });
}

/** Buckets of averages begin before the range where it cuts them; they count all the same. */
export const wholly = (window: Window): Window => ({ ...window, startMs: 0 });

export const serviceOf = (line: { attributes: Record<string, string> }) => line.attributes["service.name"]!;
export const isError = (line: { level: string }) => line.level.toLowerCase() === "error";

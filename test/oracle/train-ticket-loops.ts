/** Plain loops over the raw lines of a day, from which the expected answers are made. */
import type { RawDay } from "./train-ticket-day.ts";

export interface LoopSeries {
  labels: Record<string, string>;
  points: [ms: number, value: number][];
}

/** The range of a loop, and the width of its buckets. */
interface Window {
  startMs: number;
  /** Inclusive. */
  endMs: number;
  bucketSeconds: number;
}

/** A value at a time, of a series. */
export type TimedItem = [ms: number, series: string, value: number];

export const toMs = (ns: bigint) => Number(ns / 1_000_000n);

export function listLogItems(
  { logs }: RawDay,
  series: (line: RawDay["logs"][number]) => string | undefined,
): TimedItem[] {
  return logs.flatMap((line): TimedItem[] => {
    const own = series(line);
    return own === undefined ? [] : [[toMs(line.timeNs), own, 1]];
  });
}

export const durationOf = (span: RawDay["spans"][number]) => Number(span.endNs - span.startNs) / 1e6;

export function listSpanItems(
  { spans }: RawDay,
  series: (span: RawDay["spans"][number]) => string | undefined,
): TimedItem[] {
  return spans.flatMap((span): TimedItem[] => {
    const own = series(span);
    return own === undefined ? [] : [[toMs(span.startNs), own, durationOf(span)]];
  });
}

/**
 * Folds the values of each series and bucket. `label` is the label with the name of the series; null for one series.
 */
export function tabulate(
  items: readonly TimedItem[],
  { startMs, endMs, bucketSeconds }: Window,
  label: string | null,
  fold: (values: number[], bucketMs: number) => number,
): LoopSeries[] {
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

/** The `many` series with the greatest sums, the greatest first. */
export function selectTop(series: readonly LoopSeries[], many: number): LoopSeries[] {
  const total = ({ points }: LoopSeries) => sum(points.map(([, value]) => value));
  return [...series].sort((a, b) => total(b) - total(a)).slice(0, many);
}

/** The quotients of the points in buckets where both series have one. */
export function divideSeries(above: readonly LoopSeries[], below: readonly LoopSeries[]): LoopSeries[] {
  return above.flatMap(({ labels, points }) => {
    const other = below.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels));
    const shared = points.flatMap(([ms, value]): [number, number][] => {
      const divisor = other?.points.find(([otherMs]) => otherMs === ms)?.[1];
      return divisor === undefined ? [] : [[ms, value / divisor]];
    });
    return shared.length === 0 ? [] : [{ labels, points: shared }];
  });
}

export function filterPoints(
  series: readonly LoopSeries[],
  isKept: (value: number) => boolean,
): LoopSeries[] {
  return series
    .map(({ labels, points }) => ({ labels, points: points.filter(([, value]) => isKept(value)) }))
    .filter(({ points }) => points.length > 0);
}

/** The samples of a metric that are numbers. */
export function samplesOf({ metrics }: RawDay, metric: string): RawDay["metrics"] {
  return metrics.filter(({ name, value }) => name === metric && !Number.isNaN(value));
}

/** The averages of a gauge by pod and bucket, as items of the series that a label names. */
export function averagePods(data: RawDay, window: Window, metric: string, label: string | null): TimedItem[] {
  const samples = samplesOf(data, metric);
  // Series are identified by all their labels. A pod belongs to one service.
  const bySeries = samples.map(({ ms, labels, value }): TimedItem => [ms, JSON.stringify(labels), value]);
  return tabulate(bySeries, window, "of", avg).flatMap(({ labels, points }) => {
    const own = JSON.parse(labels.of!) as Record<string, string>;
    return points.map(([ms, value]): TimedItem => [ms, label === null ? "" : own[label]!, value]);
  });
}

/**
 * Averages are stamped with the start of their bucket, which may be before the range. The wider range includes them.
 */
export const extendToAllTime = (window: Window): Window => ({ ...window, startMs: 0 });

export const serviceOf = (line: { attributes: Record<string, string> }) => line.attributes["service.name"]!;
export const isError = (line: { level: string }) => line.level.toLowerCase() === "error";

/** What a chart draws: series of points, and the columns that they become. */

import type { FoundSeries } from "../api/answers.ts";
import { nameColour } from "./colour.ts";

/** A series as a chart shows it. */
export interface ChartSeries {
  name: string;
  /** Starts of buckets in Unix ms, ascending, and their values. */
  points: readonly (readonly [number, number | null])[];
  /** A colour that a style sheet takes; one of the palette where absent. */
  colour?: string;
}

/** Series in columns over one list of times. */
export interface ChartColumns {
  timesMs: number[];
  /** One list of values for each series; null where it has no point. */
  values: (number | null)[][];
}

/** Puts series side by side. `bucketMs` fills holes, so that a line breaks where buckets are missing. */
export function columnsOf(series: readonly ChartSeries[], bucketMs: number): ChartColumns {
  const known = new Set<number>();
  for (const { points } of series) for (const [ms] of points) known.add(ms);
  const sorted = Float64Array.from(known).sort();
  const timesMs: number[] = [];
  for (const ms of sorted) {
    // One missing bucket is enough to break a line.
    if (timesMs.length > 0 && ms - timesMs.at(-1)! > bucketMs) timesMs.push(timesMs.at(-1)! + bucketMs);
    timesMs.push(ms);
  }
  const at = new Map(timesMs.map((ms, i) => [ms, i]));
  const values = series.map(({ points }) => {
    const column: (number | null)[] = new Array(timesMs.length).fill(null);
    for (const [ms, value] of points) column[at.get(ms)!] = value;
    return column;
  });
  return { timesMs, values };
}

/** Sums from the first series to each one, for series that are drawn on top of each other. */
export function stack(values: readonly (number | null)[][]): (number | null)[][] {
  const sums: number[] = [];
  return values.map((column) =>
    column.map((value, i) => {
      if (value === null) return null;
      sums[i] = (sums[i] ?? 0) + value;
      return sums[i];
    }),
  );
}

export function colourOfSeries({ colour }: ChartSeries, index: number): string {
  return colour ?? nameColour(index);
}

/** The series of an answer, those of the greatest values first; `query` names one without labels. */
export function seriesOf({ series }: FoundSeries, query: string): ChartSeries[] {
  return series
    .map(({ labels, points }) => ({ name: nameLabels(labels, query), points, mean: meanOf(points) }))
    .sort((a, b) => b.mean - a.mean);
}

function meanOf(points: readonly (readonly [number, number])[]): number {
  return points.reduce((sum, [, value]) => sum + value, 0) / points.length;
}

/** A name of a set of labels: the value of the only label, otherwise names and values. */
function nameLabels(labels: Readonly<Record<string, string>>, fallback: string): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return fallback;
  if (entries.length === 1) return entries[0]![1] === "" ? `(no ${entries[0]![0]})` : entries[0]![1];
  return entries.map(([name, value]) => `${name}=${value}`).join(", ");
}

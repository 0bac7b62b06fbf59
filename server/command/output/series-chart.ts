/** Timeseries as lines of text: a small chart of each series, with its minimum, maximum and last value. */

import { addColour, escapeLine, type LineStyle } from "./terminal.ts";
import { drawTimeAxis } from "./time-axis.ts";

/** A timeseries answer of the API. */
export interface SeriesAnswer {
  series: { labels: Record<string, string>; points: [ms: number, value: number][] }[];
  /** Seconds. */
  bucketSize: number;
  warnings?: string[];
}

/** Blocks of one eighth to eight eighths of a line's height. */
const blocks = "▁▂▃▄▅▆▇█";
const chartWidthMax = 60;
const significantDigits = 5;

/**
 * Returns a header, a line for each series, and the axis of times. Each chart covers the whole range; a column without
 * points is blank.
 */
export function formatSeriesLines(
  { series, bucketSize }: SeriesAnswer,
  range: { startMs: number; endMs: number },
  { inColour, zone }: LineStyle,
): string[] {
  const widthMs = bucketSize * 1000;
  const first = Math.floor(range.startMs / widthMs);
  const buckets = Math.floor(range.endMs / widthMs) - first + 1;
  const rows = series.map(({ labels, points }) => {
    const values = points.map(([, value]) => value);
    const positioned = points.map(([ms, value]): [number, number] => [ms / widthMs - first, value]);
    return {
      chart: drawChart(positioned, buckets),
      figures: [minOf(values), maxOf(values), values.at(-1)!].map(formatNumber),
      name: formatLabels(labels),
    };
  });
  const columns = ["min", "max", "last"];
  const widths = columns.map((title, i) =>
    Math.max(title.length, ...rows.map(({ figures }) => figures[i]!.length)),
  );
  const width = Math.min(buckets, chartWidthMax);
  const head = [" ".repeat(width), ...columns.map((title, i) => title.padStart(widths[i]!))].join("  ");
  const lines = rows.map(({ chart, figures, name }) => {
    const drawn = inColour ? addColour(chart, "blue") : chart;
    return [drawn, ...figures.map((text, i) => text.padStart(widths[i]!)), name].join("  ").trimEnd();
  });
  if (lines.length === 0) return [];
  const axis = drawTimeAxis({ startMs: first * widthMs, endMs: (first + buckets) * widthMs }, width, zone);
  const [above, below] = inColour ? [addColour(head, "grey"), addColour(axis, "grey")] : [head, axis];
  return [above, ...lines, below];
}

/**
 * Draws one chart. Where there are more buckets than columns, neighbours share a column, which shows their maximum. The
 * lowest height is 0, or the minimum where that is negative.
 */
function drawChart(points: readonly [place: number, value: number][], buckets: number): string {
  const width = Math.min(buckets, chartWidthMax);
  const heights = new Map<number, number>();
  for (const [bucket, value] of points) {
    const column = Math.floor((bucket * width) / buckets);
    heights.set(column, Math.max(heights.get(column) ?? Number.NEGATIVE_INFINITY, value));
  }
  const values = [...heights.values()];
  const low = Math.min(0, minOf(values));
  const high = maxOf(values);
  return Array.from({ length: width }, (_, column) => {
    const value = heights.get(column);
    if (value === undefined) return " ";
    const share = high === low ? 0 : (value - low) / (high - low);
    return blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))]!;
  }).join("");
}

function minOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function maxOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function formatNumber(value: number): string {
  return String(Number(value.toPrecision(significantDigits)));
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, text]) => `${escapeLine(name)}=${escapeLine(text)}`)
    .join(" ");
}

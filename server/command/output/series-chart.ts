/** Timeseries as lines of text: a small chart of each series, with its least, greatest and last value. */

import { coloured, safeLine } from "./terminal.ts";

/** A timeseries answer as the API gives it. */
export interface SeriesAnswer {
  series: { labels: Record<string, string>; points: [ms: number, value: number][] }[];
  /** Seconds. */
  bucketSize: number;
  warnings?: string[];
}

/** Blocks of an eighth to eight eighths of a line's height. */
const blocks = "▁▂▃▄▅▆▇█";
const chartWidthMax = 60;
const significantDigits = 5;

/** A line a series. A chart stands for the whole range; a place of it without points is blank. */
export function seriesLines(
  { series, bucketSize }: SeriesAnswer,
  range: { startMs: number; endMs: number },
  inColour: boolean,
): string[] {
  const widthMs = bucketSize * 1000;
  const first = Math.floor(range.startMs / widthMs);
  const buckets = Math.floor(range.endMs / widthMs) - first + 1;
  const rows = series.map(({ labels, points }) => {
    const values = points.map(([, value]) => value);
    const placed = points.map(([ms, value]): [number, number] => [ms / widthMs - first, value]);
    return {
      chart: chartOf(placed, buckets),
      figures: [least(values), greatest(values), values.at(-1)!].map(shortNumber),
      name: labelsText(labels),
    };
  });
  const columns = ["min", "max", "last"];
  const widths = columns.map((title, i) =>
    Math.max(title.length, ...rows.map(({ figures }) => figures[i]!.length)),
  );
  const width = Math.min(buckets, chartWidthMax);
  const head = [" ".repeat(width), ...columns.map((title, i) => title.padStart(widths[i]!))].join("  ");
  const lines = rows.map(({ chart, figures, name }) => {
    const drawn = inColour ? coloured(chart, "blue") : chart;
    return [drawn, ...figures.map((text, i) => text.padStart(widths[i]!)), name].join("  ").trimEnd();
  });
  return lines.length === 0 ? [] : [inColour ? coloured(head, "grey") : head, ...lines];
}

/** Neighbouring buckets share a place where there are more than fit; it shows the greatest of them. Heights count from 0 where no value is below. */
function chartOf(points: readonly [place: number, value: number][], buckets: number): string {
  const width = Math.min(buckets, chartWidthMax);
  const heights = new Map<number, number>();
  for (const [place, value] of points) {
    const at = Math.floor((place * width) / buckets);
    heights.set(at, Math.max(heights.get(at) ?? Number.NEGATIVE_INFINITY, value));
  }
  const values = [...heights.values()];
  const low = Math.min(0, least(values));
  const high = greatest(values);
  return Array.from({ length: width }, (_, at) => {
    const value = heights.get(at);
    if (value === undefined) return " ";
    const share = high === low ? 0 : (value - low) / (high - low);
    return blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))]!;
  }).join("");
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function greatest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(significantDigits)));
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, text]) => `${safeLine(name)}=${safeLine(text)}`)
    .join(" ");
}

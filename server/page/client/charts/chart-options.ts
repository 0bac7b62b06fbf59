/** The options of the drawing library for a chart. */

import type uPlot from "uplot";
import { clock } from "../time/zone.ts";
import { makePalette } from "../ui/palette.ts";
import { type ChartSeries, colourOfSeries } from "./chart-series.ts";
import { formatValue } from "./format-value.ts";

export type ChartKind = "line" | "area" | "bar";

/** A threshold. */
export interface ChartLine {
  value: number;
  name: string;
}

/** A moment, or a span of time, that stands out. */
export interface ChartMark {
  startMs: number;
  /** A moment where absent. */
  endMs?: number;
  name: string;
  /** A colour that a style sheet takes. */
  colour: string;
}

interface ChartRequest {
  kind: ChartKind;
  isStacked: boolean;
  startMs: number;
  endMs: number;
  bucketMs: number;
  /** Those that are drawn, with their places among all. */
  series: readonly { series: ChartSeries; index: number }[];
  lines: readonly ChartLine[];
  marks: readonly ChartMark[];
  min: number | undefined;
  max: number | undefined;
  width: number;
  height: number;
  /** An element in which colours are resolved. */
  colourProbe: HTMLElement;
  /** Called with the index of the bucket under the pointer. */
  onPoint(index: number | undefined): void;
  onBrush?(startMs: number, endMs: number): void;
}

const brushPixelsMin = 4;

export function chartOptions(request: ChartRequest): uPlot.Options {
  const { startMs, endMs, bucketMs, kind, width, height, onBrush } = request;
  const colourOf = makePalette(request.colourProbe);
  return {
    width,
    height,
    ms: 1,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: {
      y: false,
      drag: { x: onBrush !== undefined, y: false, setScale: false },
      points: { show: kind !== "bar" },
    },
    scales: {
      // A bucket stands for the time after its start.
      x: { time: true, range: [startMs, Math.max(endMs, startMs + bucketMs)] },
      y: { range: (_, low, high) => rangeOfValues(request, low, high) },
    },
    axes: [
      {
        ...axisLooks(colourOf),
        size: 28,
        values: (_, ticks, __, ___, stepMs) => ticks.map((ms) => clock.peek().tick(ms, stepMs)),
        splits: (_, __, lowMs, highMs, stepMs) => timeTicks(lowMs, highMs, stepMs),
        incrs: tickStepsMs,
        space: 90,
      },
      { ...axisLooks(colourOf), values: (_, ticks) => ticks.map(formatValue), size: 58 },
    ],
    series: [{}, ...drawnSeries(request, colourOf)],
    hooks: {
      setCursor: [({ cursor }) => request.onPoint(cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width: selected } = plot.select;
          if (selected < brushPixelsMin) return;
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          onBrush?.(Math.round(plot.posToVal(left, "x")), Math.round(plot.posToVal(left + selected, "x")));
        },
      ],
      drawClear: [(plot) => drawMarks(plot, request.marks, colourOf)],
      draw: [(plot) => drawLines(plot, request.lines, colourOf)],
    },
  };
}

function axisLooks(colourOf: (colour: string) => string): uPlot.Axis {
  const line = { stroke: colourOf("--line"), width: 1 };
  return {
    stroke: colourOf("--text-quiet"),
    font: "11px system-ui, sans-serif",
    grid: line,
    ticks: { ...line, size: 4 },
  };
}

/** Zero belongs to what is counted, so that heights can be compared; thresholds are in sight. */
function rangeOfValues({ kind, lines, min, max }: ChartRequest, low: number | null, high: number | null) {
  const values = [...[low, high].filter((value) => value !== null), ...lines.map(({ value }) => value)];
  const isAboveZero = kind === "line" && low !== null && values.every((value) => value > 0);
  const lowest = Math.min(...values, isAboveZero ? Infinity : 0);
  const highest = Math.max(...values, 0);
  const isNearZero = lowest >= 0 && lowest < highest * 0.5;
  const bottom = min ?? (isNearZero ? 0 : lowest - (highest - lowest) * 0.08);
  const top = max ?? highest + (highest - bottom) * 0.08;
  return (top > bottom ? [bottom, top] : [bottom, bottom + 1]) as uPlot.Range.MinMax;
}

function drawnSeries(request: ChartRequest, colourOf: (colour: string) => string): uPlot.Series[] {
  const { kind, isStacked, bucketMs } = request;
  const drawn = request.series.map(({ series, index }): uPlot.Series => {
    const colour = colourOf(colourOfSeries(series, index));
    return {
      stroke: colour,
      width: kind === "bar" ? 0 : 1.5,
      spanGaps: false,
      ...(kind === "line" ? {} : { fill: kind === "bar" || isStacked ? colour : fade(colour) }),
      ...(kind === "bar" ? { paths: barPaths(bucketMs) } : {}),
      points: kind === "bar" ? { show: false } : { size: 4, fill: colour, filter: lonePoints },
    };
  });
  return isStacked ? drawn.reverse() : drawn;
}

/** Points without neighbours, which no line shows. */
const lonePoints: uPlot.Series.Points.Filter = (plot, seriesIndex, show) => {
  if (show) return null;
  const values = plot.data[seriesIndex]!;
  const found: number[] = [];
  for (let i = 0; i < values.length; i++)
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) found.push(i);
  return found;
};

/** Rectangles from the start of each bucket to its end. */
function barPaths(bucketMs: number): uPlot.Series.PathBuilder {
  return (plot, seriesIndex) => {
    const fill = new Path2D();
    const times = plot.data[0];
    const values = plot.data[seriesIndex]!;
    const bottom = plot.valToPos(Math.max(0, plot.scales.y!.min ?? 0), "y", true);
    for (let i = 0; i < times.length; i++) {
      const value = values[i];
      if (value == null) continue;
      const left = plot.valToPos(times[i]!, "x", true);
      const right = plot.valToPos(times[i]! + bucketMs, "x", true);
      const top = plot.valToPos(value, "y", true);
      fill.rect(left, top, Math.max(1, right - left - 1), bottom - top);
    }
    return { fill, stroke: null, flags: 0 };
  };
}

function drawMarks(plot: uPlot, marks: readonly ChartMark[], colourOf: (colour: string) => string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { startMs, endMs, colour } of marks) {
    const left = Math.max(bbox.left, plot.valToPos(startMs, "x", true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(endMs ?? startMs, "x", true));
    if (right < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.fillStyle = colourOf(colour);
    ctx.globalAlpha = endMs === undefined ? 1 : 0.16;
    ctx.fillRect(left, bbox.top, Math.max(devicePixelRatio, right - left), bbox.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, bbox.top, Math.max(devicePixelRatio, 2), bbox.height);
  }
  ctx.restore();
}

function drawLines(plot: uPlot, lines: readonly ChartLine[], colourOf: (colour: string) => string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colourOf("--problem");
  ctx.fillStyle = colourOf("--problem");
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const { value, name } of lines) {
    const y = plot.valToPos(value, "y", true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    const { width } = ctx.measureText(name);
    ctx.fillText(name, bbox.left + bbox.width - width - 4, y - 4 * devicePixelRatio);
  }
  ctx.restore();
}

const tickStepsMs = [
  1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000,
].map((seconds) => seconds * 1_000);

/** Round times of the zone that the page shows. */
function timeTicks(lowMs: number, highMs: number, stepMs: number): number[] {
  const offsetMs = clock.peek().offsetMinutes(lowMs) * 60_000;
  const ticks: number[] = [];
  for (
    let ms = Math.ceil((lowMs + offsetMs) / stepMs) * stepMs - offsetMs;
    ms <= highMs && ticks.length < 100;
    ms += stepMs
  )
    ticks.push(ms);
  return ticks;
}

/** The colour, seen through. */
function fade(colour: string): string {
  return colour.startsWith("rgb(") ? colour.replace("rgb(", "rgba(").replace(")", ", 0.18)") : colour;
}

/** The rows of a run over time. Dragging over a part of it searches in that part. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { HistogramAnswer } from "../api/answers.ts";
import { shade } from "../browser/theme.ts";
import { comparedSides, markWindow } from "../found/compared-windows.ts";
import { type CountedRun, counted, histogramProblem, isCounting } from "../found/histogram-data.ts";
import { search, splitBy, wanted } from "../found/search-state.ts";
import { styleOfLevel } from "../rows/level-colour.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { Icon } from "../ui/icon.tsx";
import { makePalette } from "../ui/palette.ts";

const height = 96;
const axisHeight = 18;

/** Rows of one bucket by level, the gravest last, so that it is drawn on top. */
interface Bucket {
  startMs: number;
  total: number;
  parts: { name: string; count: number; colour: string }[];
}

export function Histogram() {
  const found = counted.value;
  if (histogramProblem.value !== undefined)
    return <p class="problem small">{histogramProblem.value.message}</p>;
  if (found === undefined) return <div class="histogram" aria-busy="true" />;
  return <Chart key="chart" counted={found} />;
}

function Chart({ counted: { run, by, histogram } }: { counted: CountedRun }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointer, setPointer] = useState<number | undefined>();
  const [dragFrom, setDragFrom] = useState<number | undefined>();
  const isMarking = useRef(false);
  const bucketMs = histogram.bucketSize * 1_000;
  const buckets = bucketsOf({ run, by, histogram });
  const scale = makeScale(run.startTime, run.endTime, width);
  const times = clock.value;

  useEffect(() => {
    const element = canvas.current!;
    const watching = new ResizeObserver(() => setWidth(element.clientWidth));
    watching.observe(element);
    return () => watching.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, buckets, bucketMs, scale, times.tick);
  }, [width, histogram, times, shade.value]);

  const timeAt = (event: PointerEvent) =>
    scale.timeAt(event.clientX - canvas.current!.getBoundingClientRect().left);
  const onUp = (event: PointerEvent) => {
    const from = dragFrom;
    setDragFrom(undefined);
    if (from === undefined) return;
    const to = timeAt(event);
    const [startMs, endMs] = from < to ? [from, to] : [to, from];
    if (scale.x(endMs) - scale.x(startMs) < 4) return;
    const window = { startTime: Math.round(startMs), endTime: Math.round(endMs) };
    if (isMarking.current) markWindow(window);
    else search({ range: { from: String(window.startTime), to: String(window.endTime) } });
  };
  const hovered =
    pointer === undefined
      ? undefined
      : buckets.find(({ startMs }) => pointer >= startMs && pointer < startMs + bucketMs);
  const marked =
    dragFrom === undefined || pointer === undefined
      ? undefined
      : ([scale.x(Math.min(dragFrom, pointer)), scale.x(Math.max(dragFrom, pointer))] as const);
  return (
    <figure class={isCounting.value ? "histogram stale" : "histogram"}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={describe(buckets, histogram.count, times.short)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          isMarking.current = event.shiftKey;
          setDragFrom(timeAt(event));
        }}
        onPointerMove={(event) => setPointer(timeAt(event))}
        onPointerLeave={() => setPointer(undefined)}
        onPointerUp={onUp}
        onPointerCancel={() => setDragFrom(undefined)}
      />
      {marked === undefined ? null : (
        <div class="brush" style={{ left: `${marked[0]}px`, width: `${marked[1] - marked[0]}px` }} />
      )}
      <Windows scale={scale} />
      <figcaption>
        {hovered === undefined
          ? `${nameCount(histogram.count, "row")}, ${nameDuration(bucketMs)} a bar`
          : `${times.short(hovered.startMs)}: ${nameCount(hovered.total, "row")}${hovered.parts
              .map(({ name, count }) => `, ${name.slice(0, 60)} ${count.toLocaleString("en")}`)
              .reverse()
              .join("")}`}
        {by === null ? null : (
          <button type="button" class="chip" title="Split by level again" onClick={() => splitBy(null)}>
            by {by.slice(0, 60)} <Icon name="close" />
          </button>
        )}
      </figcaption>
    </figure>
  );
}

/** The two windows that are compared. */
function Windows({ scale }: { scale: Scale }) {
  if (wanted.value.view !== "compare" || comparedSides.value === undefined) return null;
  const { selection, baseline } = comparedSides.value;
  return [selection, baseline].map(({ startTime, endTime }, i) => {
    const [left, right] = [scale.x(startTime), scale.x(endTime)];
    const mark = i === 0 ? "a" : "b";
    return right - left < 1 ? null : (
      <div
        key={mark}
        class={`window window-${mark}`}
        style={{ left: `${left}px`, width: `${right - left}px` }}
      >
        <span class={`window-name window-${mark}`}>{mark.toUpperCase()}</span>
      </div>
    );
  });
}

function bucketsOf({ by, histogram }: CountedRun): Bucket[] {
  const byStart = new Map<number, Bucket>();
  for (const { name, colour, points } of by === null ? levelsOf(histogram) : valuesOf(histogram)) {
    for (const [startMs, count] of points) {
      const bucket = byStart.get(startMs) ?? { startMs, total: 0, parts: [] };
      bucket.total += count;
      bucket.parts.push({ name, count, colour });
      byStart.set(startMs, bucket);
    }
  }
  return [...byStart.values()].sort((a, b) => a.startMs - b.startMs);
}

/** The gravest level last, so that it is drawn on top. */
function levelsOf({ series }: HistogramAnswer) {
  return series
    .map(({ level = "", points }) => {
      const { colour, rank } = styleOfLevel(level);
      return { name: level === "" ? "no level" : level, colour, rank, points };
    })
    .sort((a, b) => b.rank - a.rank);
}

/** The value of most rows at the bottom, the rest on top. */
function valuesOf({ series }: HistogramAnswer) {
  return series.map(({ value, other, points }, i) => ({
    name: other === true ? "others" : value === "" || value == null ? "without" : value,
    colour: other === true ? "--level-none" : `--series-${i}`,
    points,
  }));
}

interface Scale {
  x(timeMs: number): number;
  timeAt(x: number): number;
  startMs: number;
  endMs: number;
}

function makeScale(startMs: number, endMs: number, width: number): Scale {
  const span = Math.max(1, endMs - startMs);
  return {
    startMs,
    endMs,
    x: (timeMs) => Math.min(width, Math.max(0, ((timeMs - startMs) / span) * width)),
    timeAt: (x) => startMs + (Math.min(width, Math.max(0, x)) / Math.max(1, width)) * span,
  };
}

/** What the drawing shows, for those who cannot see it. */
function describe(buckets: readonly Bucket[], count: number, formatTime: (ms: number) => string): string {
  if (buckets.length === 0) return "Rows over time: none";
  const highest = buckets.reduce((a, b) => (b.total > a.total ? b : a));
  return `Rows over time: ${count} in all, most (${highest.total}) at ${formatTime(highest.startMs)}`;
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  buckets: readonly Bucket[],
  bucketMs: number,
  scale: Scale,
  formatTick: (ms: number, stepMs: number) => string,
): void {
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = (height + axisHeight) * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const colourOf = makePalette(canvas);
  const highest = Math.max(1, ...buckets.map(({ total }) => total));
  for (const { startMs, parts } of buckets) {
    const left = scale.x(startMs);
    const barWidth = Math.max(1, scale.x(startMs + bucketMs) - left - 1);
    let bottom = height;
    for (const { colour, count } of parts) {
      const barHeight = (count / highest) * (height - 4);
      context.fillStyle = colourOf(colour);
      context.fillRect(left, bottom - barHeight, barWidth, Math.max(1, barHeight));
      bottom -= barHeight;
    }
  }
  context.fillStyle = colourOf("--text-quiet");
  drawAxis(context, scale, width, formatTick);
}

/** Steps between ticks of an axis of time. */
const stepsMs = [
  1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000,
].map((seconds) => seconds * 1_000);
const tickPixelsMin = 90;

function drawAxis(
  context: CanvasRenderingContext2D,
  scale: Scale,
  width: number,
  formatTick: (ms: number, stepMs: number) => string,
): void {
  const wantedMs = ((scale.endMs - scale.startMs) * tickPixelsMin) / width;
  const stepMs = stepsMs.find((step) => step >= wantedMs) ?? stepsMs.at(-1)!;
  context.font = "11px system-ui, sans-serif";
  const offsetMs = clock.value.offsetMinutes(scale.startMs) * 60_000;
  const firstMs = Math.ceil((scale.startMs + offsetMs) / stepMs) * stepMs - offsetMs;
  for (let ms = firstMs; ms <= scale.endMs; ms += stepMs) {
    const x = scale.x(ms);
    context.fillRect(x, height, 1, 4);
    const text = formatTick(ms, stepMs);
    const { width: textWidth } = context.measureText(text);
    if (x + textWidth < width) context.fillText(text, x + 3, height + 13);
  }
}

/** The whole trace in a strip: each span a line at its depth. Dragging shows a part of its time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { shade } from "../browser/theme.ts";
import { nameDuration } from "../time/range.ts";
import { makePalette } from "../ui/palette.ts";
import { hueOf } from "./span-line.tsx";
import { isError, type SpanNode } from "./span-tree.ts";

/** A part of the trace's time, milliseconds since its start. */
export interface TraceWindow {
  startMs: number;
  endMs: number;
}

interface MinimapProps {
  nodes: readonly SpanNode[];
  services: readonly string[];
  durationMs: number;
  window: TraceWindow;
  onChange(window: TraceWindow | undefined): void;
}

const height = 48;
const pixelsMin = 3;

export function Minimap({ nodes, services, durationMs, window, onChange }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [dragFrom, setDragFrom] = useState<number | undefined>();
  useEffect(() => {
    const element = canvas.current!;
    const watching = new ResizeObserver(() => setWidth(element.clientWidth));
    watching.observe(element);
    return () => watching.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, nodes, services, durationMs);
  }, [width, nodes, shade.value]);
  const timeAt = (event: PointerEvent) => {
    const { left } = canvas.current!.getBoundingClientRect();
    return (Math.min(width, Math.max(0, event.clientX - left)) / Math.max(1, width)) * durationMs;
  };
  const isWhole = window.startMs === 0 && window.endMs === durationMs;
  const percent = (ms: number) => `${(100 * ms) / durationMs}%`;
  return (
    <div class="minimap">
      <canvas
        ref={canvas}
        role="img"
        aria-label="The whole trace"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragFrom(timeAt(event));
        }}
        onPointerUp={(event) => {
          const ends = [dragFrom ?? 0, timeAt(event)].sort((a, b) => a - b) as [number, number];
          setDragFrom(undefined);
          const isDrag = ((ends[1] - ends[0]) / durationMs) * width >= pixelsMin;
          onChange(isDrag ? { startMs: ends[0], endMs: ends[1] } : undefined);
        }}
        onPointerCancel={() => setDragFrom(undefined)}
      />
      {isWhole ? null : (
        <>
          <div
            class="minimap-window"
            style={{ left: percent(window.startMs), width: percent(window.endMs - window.startMs) }}
          />
          <button type="button" class="chip" onClick={() => onChange(undefined)}>
            {`${nameDuration(window.startMs)} to ${nameDuration(window.endMs)}: show all`}
          </button>
        </>
      )}
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  nodes: readonly SpanNode[],
  services: readonly string[],
  durationMs: number,
): void {
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const error = makePalette(canvas)("--level-error");
  const lines = Math.min(nodes.length, height / 2);
  const lineHeight = height / lines;
  for (const [i, { span, startMs, endMs }] of nodes.entries()) {
    const service = services.indexOf(span.attributes["service.name"] ?? "");
    context.fillStyle = isError(span) ? error : `hsl(${hueOf(service)} 50% 55%)`;
    const left = (startMs / durationMs) * width;
    // Where there are more spans than lines, neighbours share a line.
    const line = Math.floor((i * lines) / nodes.length);
    context.fillRect(
      left,
      line * lineHeight,
      Math.max(1, ((endMs - startMs) / durationMs) * width),
      lineHeight - 0.5,
    );
  }
}

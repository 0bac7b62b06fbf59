/** How long the found spans took: bars that grow by a constant factor. Dragging over them keeps those spans alone. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { nameDuration } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";

export interface SpanSearch {
  query: string;
  startTime: number;
  endTime: number;
}

interface DurationsAnswer {
  count: number;
  errors: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  buckets: { fromMs: number; toMs: number; count: number; errors: number }[];
}

interface DurationHistogramProps {
  asked: SpanSearch;
  /** Milliseconds; `toMs` is exclusive, undefined for no end. */
  onSelect(fromMs: number, toMs: number | undefined): void;
}

const height = 64;

export function DurationHistogram({ asked, onSelect }: DurationHistogramProps) {
  const loading = useLoading((body: SpanSearch, signal: AbortSignal) =>
    ask<DurationsAnswer>("/api/v1/query/durations", { body, signal }),
  );
  useEffect(() => void loading.load(asked), [asked]);
  const answer = loading.answer.value;
  if (loading.problem.value !== undefined || answer === undefined || answer.count === 0) return null;
  const { count, errors, p50, p90, p99 } = answer;
  return (
    <figure class={loading.isLoading.value ? "durations stale" : "durations"}>
      <Bars answer={answer} onSelect={onSelect} />
      <figcaption>
        {`${nameCount(count, "span")}, ${nameCount(errors, "error")}. `}
        {(
          [
            ["Half", p50],
            ["90 %", p90],
            ["99 %", p99],
          ] as const
        ).map(([share, ms]) =>
          ms === null ? null : (
            <button
              key={share}
              type="button"
              class="quiet"
              title="Only spans that took as long or longer"
              onClick={() => onSelect(Number(ms.toPrecision(4)), undefined)}
            >
              {share} within {nameDuration(ms)}
            </button>
          ),
        )}
      </figcaption>
    </figure>
  );
}

function Bars({ answer, onSelect }: { answer: DurationsAnswer } & Pick<DurationHistogramProps, "onSelect">) {
  const { buckets } = answer;
  const box = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<{ from: number; to: number } | undefined>();
  const [pointed, setPointed] = useState<number | undefined>();
  const highest = Math.max(1, ...buckets.map(({ count }) => count));
  const bucketAt = (event: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * buckets.length);
    return Math.min(buckets.length - 1, Math.max(0, at));
  };
  const [first, last] =
    dragged === undefined
      ? [-1, -1]
      : [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)];
  const shown = pointed === undefined ? undefined : buckets[pointed];
  return (
    <>
      <div
        ref={box}
        class="duration-bars"
        role="img"
        aria-label={`Spans by duration, from ${nameDuration(buckets[0]!.fromMs)} to ${nameDuration(buckets.at(-1)!.toMs)}`}
        style={{ height: `${height}px` }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = bucketAt(event);
          setDragged({ from: at, to: at });
        }}
        onPointerMove={(event) => {
          const at = bucketAt(event);
          setPointed(at);
          if (dragged !== undefined) setDragged({ ...dragged, to: at });
        }}
        onPointerLeave={() => setPointed(undefined)}
        onPointerUp={() => {
          if (dragged !== undefined) onSelect(buckets[first]!.fromMs, buckets[last]!.toMs);
          setDragged(undefined);
        }}
        onPointerCancel={() => setDragged(undefined)}
      >
        {buckets.map(({ fromMs, count, errors }, i) => (
          <span key={fromMs} data-marked={(i >= first && i <= last) || undefined}>
            <span style={{ height: `${(100 * (count - errors)) / highest}%` }} />
            <span class="errors" style={{ height: `${(100 * errors) / highest}%` }} />
          </span>
        ))}
      </div>
      <div class="duration-axis" aria-hidden="true">
        {shown === undefined ? (
          [0, 0.25, 0.5, 0.75].map((at) => (
            <span key={at}>{nameDuration(buckets[Math.floor(buckets.length * at)]!.fromMs)}</span>
          ))
        ) : (
          <span>
            {`${nameDuration(shown.fromMs)} to ${nameDuration(shown.toMs)}: ${nameCount(shown.count, "span")}, ${nameCount(shown.errors, "error")}`}
          </span>
        )}
      </div>
    </>
  );
}

/** The query with a filter on durations, in the place of one that was added so before. */
export function filterDurations(query: string, fromMs: number, toMs: number | undefined): string {
  const others = query.replace(/(?:\s*\|\s*duration_ms\s*(?:>=|<)\s*[\d.]+)+$/, "").trim();
  const below = toMs === undefined ? "" : ` | duration_ms<${toMs}`;
  return `${others === "" ? "traces" : others} | duration_ms>=${fromMs}${below}`;
}

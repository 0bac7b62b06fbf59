/** One span of a waterfall: its name in the tree, and its bar on the axis of time. */

import { nameDuration } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import { Icon } from "../ui/icon.tsx";
import { isError, type PathPiece, type SpanNode } from "./span-tree.ts";

interface SpanLineProps {
  node: SpanNode;
  scale: { startMs: number; endMs: number };
  /** The place of its service among all, for its colour. */
  service: number;
  isClosed: boolean;
  isSelected: boolean;
  isMatch: boolean;
  /** Its pieces of the critical path, where that is shown. */
  pieces: readonly PathPiece[] | undefined;
  onToggle(): void;
  onSelect(): void;
}

/** Deeper spans are not indented further. */
const depthMax = 25;

export function SpanLine(props: SpanLineProps) {
  const { node, scale, service, isClosed, isSelected, isMatch, pieces, onToggle, onSelect } = props;
  const { span, depth, startMs, endMs, children, below } = node;
  const width = scale.endMs - scale.startMs;
  const percent = (ms: number) => `${Math.min(100, Math.max(0, ((ms - scale.startMs) / width) * 100))}%`;
  const place = (from: number, to: number) => ({
    left: percent(from),
    width: `max(2px, calc(${percent(to)} - ${percent(from)}))`,
  });
  const names = [
    "span-line",
    pieces !== undefined && pieces.length === 0 ? "aside" : "",
    isMatch ? "match" : "",
  ];
  return (
    <div class={names.join(" ").trim()} data-focused={isSelected || undefined}>
      <span class="span-name" style={{ paddingLeft: `${Math.min(depth, depthMax) * 12}px` }}>
        {children.length === 0 ? (
          <span class="opener" />
        ) : (
          <button
            type="button"
            class="opener quiet"
            aria-expanded={!isClosed}
            aria-label={`${nameCount(below, "span")} below`}
            onClick={onToggle}
          >
            <Icon name={isClosed ? "right" : "down"} />
          </button>
        )}
        <button type="button" class="quiet span-title" aria-pressed={isSelected} onClick={onSelect}>
          {isError(span) ? <span class="span-error">error</span> : null}
          <bdi>{span.name.slice(0, 200)}</bdi>
          <bdi class="hint">{(span.attributes["service.name"] ?? "").split("/").at(-1)}</bdi>
        </button>
      </span>
      <span class="span-axis">
        {endMs < scale.startMs || startMs > scale.endMs ? null : (
          <span class="span-bar" style={{ ...place(startMs, endMs), "--hue": String(hueOf(service)) }} />
        )}
        {pieces?.map((piece) => (
          <span key={piece.startMs} class="span-critical" style={place(piece.startMs, piece.endMs)} />
        ))}
      </span>
      <span class="number span-time">{nameDuration(endMs - startMs)}</span>
    </div>
  );
}

/** Hues that neighbours do not share. */
export function hueOf(service: number): number {
  return (service * 137) % 360;
}

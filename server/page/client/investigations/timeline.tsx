/** What changed around the window, the first change first: marks on a line of time, and a sentence for each. */

import { clock } from "../time/zone.ts";
import type { TimelineEntry } from "./answers.ts";
import type { ShownWindow } from "./links.ts";

const size = { width: 600, height: 34, lineY: 17 };

export function Timeline({ entries, window }: { entries: readonly TimelineEntry[]; window: ShownWindow }) {
  if (entries.length === 0) return <p class="hint">No change has a known time.</p>;
  return (
    <>
      <TimelineDrawing entries={entries} window={window} />
      <ol class="timeline">
        {entries.map(({ at, sentence }) => (
          <li key={`${at} ${sentence}`}>
            <time dateTime={new Date(at).toISOString()}>{clock.value.short(at)}</time> <bdi>{sentence}</bdi>
          </li>
        ))}
      </ol>
    </>
  );
}

function TimelineDrawing({ entries, window }: { entries: readonly TimelineEntry[]; window: ShownWindow }) {
  const times = entries.map(({ at }) => at);
  const [firstMs, lastMs] = [Math.min(window.startTime, ...times), Math.max(window.endTime, ...times)];
  const marginMs = (lastMs - firstMs) * 0.02;
  const [startMs, spanMs] = [firstMs - marginMs, lastMs - firstMs + 2 * marginMs];
  const xOf = (ms: number) => ((ms - startMs) / spanMs) * size.width;
  return (
    <svg class="timeline-drawing" viewBox={`0 0 ${size.width} ${size.height}`} aria-hidden="true">
      <rect
        class="window"
        x={xOf(window.startTime)}
        y="0"
        width={xOf(window.endTime) - xOf(window.startTime)}
        height={size.height}
      />
      <line x1="0" x2={size.width} y1={size.lineY} y2={size.lineY} />
      {entries.map(({ at, sentence }) => (
        <circle key={`${at} ${sentence}`} cx={xOf(at)} cy={size.lineY} r="5" />
      ))}
    </svg>
  );
}

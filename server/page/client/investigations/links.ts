/** Where the page shows what an investigation speaks of. */

import type { ShownEvidence } from "./answers.ts";

/** Unix milliseconds. */
export interface ShownWindow {
  startTime: number;
  endTime: number;
}

const hourMs = 3_600_000;

/** The place that shows what a query finds: rows of the window, or a series of the hour before too. */
export function linkOfQuery(query: string, { startTime, endTime }: ShownWindow): string {
  const isSpans = /^traces\b/.test(query);
  const isRows = isSpans || /^logs\b/.test(query);
  const range = { from: String(isRows ? startTime : startTime - hourMs), to: String(endTime) };
  return `${isSpans ? "/traces" : "/"}?${new URLSearchParams({ q: query, ...range })}`;
}

/** The place of the log that shows evidence; undefined where it has none. */
export function linkOfRow({ rowId, query }: ShownEvidence, window: ShownWindow): string | undefined {
  if (rowId === undefined) return undefined;
  return `${linkOfQuery(query, window)}&row=${encodeURIComponent(rowId)}`;
}

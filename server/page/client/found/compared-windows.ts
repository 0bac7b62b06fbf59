/** The two selections of rows that the compare view compares, as the address names them. */

import { computed } from "@preact/signals";
import { go, parameters, withParameters } from "../browser/address.ts";
import type { ResolvedRange } from "../time/range.ts";
import { run } from "./search-state.ts";

/** Rows of one side: a window of time, and a search beside the common one. */
export interface ComparedSide extends ResolvedRange {
  query: string;
}

export interface ComparedSides {
  /** What is looked into. */
  selection: ComparedSide;
  /** What is usual. */
  baseline: ComparedSide;
}

/** Without a mark, the last quarter of the range is looked into. */
const lookedIntoShare = 0.25;

/** Undefined before the first run. */
export const comparedSides = computed((): ComparedSides | undefined => {
  if (run.value === undefined) return undefined;
  const all = parameters.value;
  const marked = readWindow(all.get("a"));
  const selection = marked ?? lastPart(run.value);
  const baseline = readWindow(all.get("b")) ?? restOf(run.value, selection);
  return {
    selection: { ...selection, query: all.get("aq") ?? "" },
    baseline: { ...baseline, query: all.get("bq") ?? "" },
  };
});

/** The windows that were marked; undefined where one was not. */
const markedWindows = computed(() => ({
  selection: readWindow(parameters.value.get("a")),
  baseline: readWindow(parameters.value.get("b")),
}));

/** Marks a window: first what is looked into, then what it is compared with, then anew. */
export function markWindow(window: ResolvedRange): void {
  const { selection, baseline } = markedWindows.value;
  const isSecond = selection !== undefined && baseline === undefined;
  go(
    withParameters({
      view: "compare",
      ...(isSecond ? { b: writeWindow(window) } : { a: writeWindow(window), b: null }),
    }),
  );
}

/** Compares what a form says. */
export function compareSides({ selection, baseline }: ComparedSides): void {
  go(
    withParameters({
      ...{ view: "compare", a: writeWindow(selection), b: writeWindow(baseline) },
      ...{ aq: selection.query, bq: baseline.query },
    }),
  );
}

function writeWindow({ startTime, endTime }: ResolvedRange): string {
  return `${startTime}-${endTime}`;
}

function readWindow(text: string | null): ResolvedRange | undefined {
  const [, start, end] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? [];
  if (start === undefined || Number(start) > Number(end)) return undefined;
  return { startTime: Number(start), endTime: Number(end) };
}

function lastPart({ startTime, endTime }: ResolvedRange): ResolvedRange {
  return { startTime: Math.round(endTime - (endTime - startTime) * lookedIntoShare), endTime };
}

/** The longer part of a range beside a window; a window of the same length before it where there is none. */
function restOf(range: ResolvedRange, { startTime, endTime }: ResolvedRange): ResolvedRange {
  const before = startTime - range.startTime;
  const after = range.endTime - endTime;
  if (before > 0 && before >= after) return { startTime: range.startTime, endTime: startTime - 1 };
  if (after > 0) return { startTime: endTime + 1, endTime: range.endTime };
  return { startTime: startTime - (endTime - startTime) - 1, endTime: startTime - 1 };
}

/** Which buckets may lack rows because the server was down, and for how long their rows are awaited. */
import { downtimeShareMax, retryWaitsMax } from "../limits.ts";
import type { IncompleteBucket, MissingEffect } from "./missing-rows.ts";

type Gap = readonly [fromMs: number, toMs: number];

/** What decides whether a bucket may lack rows. */
export interface AwaitedRows {
  bucketMs: number;
  /** The wait for late data: rows of a bucket that ended so long before a downtime may not have been sent yet. */
  delayMs: number;
  /** How long after a downtime senders may still repeat rows. */
  retryWaitMs: number;
  /** What missing rows do to the query's values. */
  effect: MissingEffect;
  /** The values of a bucket also depend on rows before it, as increases of counters do. */
  spillsOver: boolean;
  /** The window before the end of a bucket that the query looks at; 0 where that is the bucket. */
  windowMs: number;
  /** How much earlier than the bucket the query looks. */
  offsetMs: number;
  /** The downtimes that overlap a range. */
  gaps: (fromMs: number, toMs: number) => readonly Gap[];
}

/** How long before the start of a bucket rows may be that its value depends on. */
export function reachMsOf({ bucketMs, windowMs, offsetMs }: AwaitedRows): number {
  return Math.max(0, windowMs - bucketMs) + offsetMs;
}

/** What is known of a bucket that starts at `startMs` before it is decided; undefined where it lacks no rows. */
export function awaitRows(startMs: number, awaited: AwaitedRows): IncompleteBucket | undefined {
  const { bucketMs, delayMs, effect, spillsOver, gaps } = awaited;
  const fromMs = startMs - reachMsOf(awaited) - (spillsOver ? bucketMs : 0);
  const found = gaps(fromMs, startMs + bucketMs + delayMs);
  if (found.length === 0) return undefined;
  const isSpilledInto = spillsOver && found.some(([gapFromMs]) => gapFromMs < startMs);
  const endMs = Math.max(...found.map(([, toMs]) => toMs));
  const untilMs = waitAfter(endMs, awaited);
  return { bucketMs: startMs, effect: isSpilledInto ? "change" : effect, untilMs };
}

/** The wait begins again where another downtime interrupts it. */
function waitAfter(endMs: number, { retryWaitMs, gaps }: AwaitedRows): number {
  const latestMs = endMs + retryWaitsMax * retryWaitMs;
  let untilMs = endMs + retryWaitMs;
  for (const [fromMs, toMs] of gaps(endMs, latestMs).toSorted(([a], [b]) => a - b)) {
    if (fromMs < untilMs) untilMs = Math.max(untilMs, toMs + retryWaitMs);
  }
  return Math.min(untilMs, latestMs);
}

/**
 * Whether a bucket counts as complete once senders have had their time: where the downtime covers a small share of it
 * alone, or where rows from the downtime have come.
 */
export function isCompleted(startMs: number, awaited: AwaitedRows, hasRowsOfGap: boolean): boolean {
  const fromMs = startMs - reachMsOf(awaited);
  const endMs = startMs + awaited.bucketMs;
  return hasRowsOfGap || downMs(fromMs, endMs, awaited.gaps) <= (endMs - fromMs) * downtimeShareMax;
}

/** Milliseconds of a time in which the server was down. */
function downMs(startMs: number, endMs: number, gaps: AwaitedRows["gaps"]): number {
  let total = 0;
  let coveredMs = startMs;
  for (const [fromMs, toMs] of gaps(startMs, endMs).toSorted(([a], [b]) => a - b)) {
    const from = Math.max(fromMs, coveredMs);
    const to = Math.min(toMs, endMs);
    total += Math.max(0, to - from);
    coveredMs = Math.max(coveredMs, to);
  }
  return total;
}

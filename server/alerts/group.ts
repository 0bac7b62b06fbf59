/** Alerts that ask the same: one query answers them all. */
import { queryOf } from "./alert.ts";
import { bucketDueMs, type Grid, gridDueMs } from "./grid.ts";
import { clockBackMsMax } from "./limits.ts";
import type { BucketRange, Subject } from "./subject.ts";

/** Alerts whose query, bucket size and rights are the same. */
export interface Group {
  query: string;
  bucketSeconds: number;
  readsAs: string;
  grid: Grid;
  unlabelled: boolean;
  subjects: Set<Subject>;
  dueMs: number;
  isRunning: boolean;
}

export function groupKey({ alert }: Subject): string {
  const { query, bucketSeconds } = queryOf(alert);
  return JSON.stringify([bucketSeconds, query, alert.readsAs]);
}

/** Also where the clock has gone back so far that the time would not come for long. */
export function isDue({ grid, dueMs, isRunning }: Group, nowMs: number): boolean {
  const { bucketMs, everyMs, behindMs } = grid;
  const aheadMsMax = clockBackMsMax + bucketMs + everyMs + behindMs;
  return !isRunning && (dueMs <= nowMs || dueMs - nowMs > aheadMsMax);
}

export function nextDue(group: Group, head: number, nowMs: number): number {
  let dueMs = Number.POSITIVE_INFINITY;
  for (const subject of group.subjects) {
    const { throughMs } = subject.state;
    const next = gridDueMs(group.grid, nowMs);
    if (subject.error !== null) dueMs = Math.min(dueMs, next);
    else if (throughMs === null || throughMs < head) dueMs = nowMs;
    else if (subject.isUnsettled()) dueMs = Math.min(dueMs, next);
    else dueMs = Math.min(dueMs, bucketDueMs(group.grid, throughMs));
  }
  return dueMs;
}

/** Gives up what takes longer, and whoever does not listen to that is left alone. */
export async function within<T>(ms: number, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      controller.abort();
      reject(new Error(`the query took longer than ${ms / 1000} s`));
    }, ms);
  });
  try {
    return await Promise.race([act(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What is read for a range: not what is lost at its beginning; now and then the window too, to see which rows came late. */
export function readRange(
  { grid: { bucketMs }, query }: Group,
  { fromMs, toMs }: BucketRange,
  isLost: (startMs: number) => boolean,
  subjects: readonly Subject[],
): BucketRange {
  let startMs = fromMs;
  while (startMs < toMs && isLost(startMs)) startMs += bucketMs;
  const { windowBuckets, throughMs } = subjects[0]!.state;
  if (throughMs !== fromMs || startMs !== fromMs || startMs === toMs) return { fromMs: startMs, toMs };
  const isLookedBack = (fromMs / bucketMs + query.length) % windowBuckets === 0;
  return { fromMs: isLookedBack ? Math.max(0, fromMs - windowBuckets * bucketMs) : fromMs, toMs };
}

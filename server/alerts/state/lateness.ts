/** Counts buckets that were evaluated late. */

import type { QueryReading } from "./read-series.ts";
import type { Window } from "./window.ts";

/** Counts the new buckets of a reading, but for the newest: evaluations in time would have judged them before. */
export function countMissedBuckets(
  { throughMs }: Window,
  { fromMs, toMs }: QueryReading,
  bucketMs: number,
): number {
  if (fromMs < throughMs) return 0;
  return Math.max(0, (toMs - throughMs) / bucketMs - 1);
}

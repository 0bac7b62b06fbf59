/** Counts what came too late: buckets that were evaluated late, and judged buckets that late rows have changed. */

import { instanceKey } from "./alert-state.ts";
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

/**
 * Counts judged buckets whose values differ in a reading that includes them again. They are not judged again. The
 * reading's series may have points before its `fromMs`; those are compared.
 */
export function countLateBuckets(window: Window, { fromMs, series }: QueryReading): number {
  if (fromMs < window.throughMs) return 0;
  const oldestMs = Math.min(fromMs, ...series.map(({ points }) => points[0]?.[0] ?? fromMs));
  if (oldestMs >= fromMs) return 0;
  const read = new Map(series.map(({ labels, points }) => [instanceKey(labels), new Map(points)]));
  return countChangedBuckets(window, read, oldestMs);
}

function countChangedBuckets(
  { buckets, series }: Window,
  read: ReadonlyMap<string, ReadonlyMap<number, number>>,
  fromMs: number,
): number {
  const changed = new Set<number>();
  const keys = new Set([...Object.keys(series), ...read.keys()]);
  for (const [index, bucketMs] of buckets.entries()) {
    if (bucketMs < fromMs) continue;
    for (const key of keys) {
      const judged = series[key]?.values[index] ?? null;
      if (judged !== (read.get(key)?.get(bucketMs) ?? null)) changed.add(bucketMs);
    }
  }
  return changed.size;
}

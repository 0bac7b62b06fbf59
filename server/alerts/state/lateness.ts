/** What came too late: evaluations, and rows. */

import { instanceKey } from "./alert-state.ts";
import type { QueryReading } from "./reading.ts";
import type { Window } from "./window.ts";

/** Buckets of a reading that an evaluation in time would have judged before the newest came. */
export function missedBuckets(
  { throughMs }: Window,
  { fromMs, toMs }: QueryReading,
  bucketMs: number,
): number {
  if (fromMs < throughMs) return 0;
  return Math.max(0, (toMs - throughMs) / bucketMs - 1);
}

/** Judged buckets that a reading which looks back finds otherwise. They are not judged again. */
export function lateBuckets(window: Window, { fromMs, series }: QueryReading): number {
  if (fromMs < window.throughMs) return 0;
  const oldestMs = Math.min(fromMs, ...series.map(({ points }) => points[0]?.[0] ?? fromMs));
  if (oldestMs >= fromMs) return 0;
  const read = new Map(series.map(({ labels, points }) => [instanceKey(labels), new Map(points)]));
  return changedBuckets(window, read, oldestMs);
}

function changedBuckets(
  { buckets, series }: Window,
  read: ReadonlyMap<string, ReadonlyMap<number, number>>,
  fromMs: number,
): number {
  const changed = new Set<number>();
  const keys = new Set([...Object.keys(series), ...read.keys()]);
  for (const [place, bucketMs] of buckets.entries()) {
    if (bucketMs < fromMs) continue;
    for (const key of keys) {
      const judged = series[key]?.values[place] ?? null;
      if (judged !== (read.get(key)?.get(bucketMs) ?? null)) changed.add(bucketMs);
    }
  }
  return changed.size;
}

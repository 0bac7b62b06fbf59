/** What came too late: evaluations, and rows. */
import type { Reading } from "./advance.ts";
import { bucketMsOf } from "./alert.ts";
import { type AlertState, instanceKey } from "./alert-state.ts";
import type { Subject } from "./subject.ts";

/** Buckets of a reading that an evaluation in time would have judged before the newest came. */
export function missedBuckets({ alert, state: { throughMs } }: Subject, { fromMs, toMs }: Reading): number {
  if (throughMs === null || fromMs < throughMs) return 0;
  return Math.max(0, (toMs - throughMs) / bucketMsOf(alert) - 1);
}

/** Judged buckets that a reading which looks back finds otherwise. They are not judged again. */
export function lateBuckets({ state }: Subject, { fromMs, series }: Reading): number {
  if (state.throughMs === null || fromMs < state.throughMs) return 0;
  const oldestMs = Math.min(fromMs, ...series.map(({ points }) => points[0]?.[0] ?? fromMs));
  if (oldestMs >= fromMs) return 0;
  const read = new Map(series.map(({ labels, points }) => [instanceKey(labels), new Map(points)]));
  return changedBuckets(state, read, oldestMs);
}

function changedBuckets(
  state: AlertState,
  read: ReadonlyMap<string, ReadonlyMap<number, number>>,
  fromMs: number,
): number {
  const changed = new Set<number>();
  const keys = new Set([...Object.keys(state.instances), ...read.keys()]);
  for (const [place, bucketMs] of state.buckets.entries()) {
    if (bucketMs < fromMs) continue;
    for (const key of keys) {
      const judged = state.instances[key]?.values[place] ?? null;
      if (judged !== (read.get(key)?.get(bucketMs) ?? null)) changed.add(bucketMs);
    }
  }
  return changed.size;
}

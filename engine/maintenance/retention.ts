/**
 * Decides what retention removes: a pure function of the stored partitions and the clock.
 *
 * A wrong clock must not remove data. So a day is too old only where the newest stored data says so as well, and where
 * many days became too old at once, none of them is removed until somebody says up to which day that is right.
 */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { retentionDaysMin, retentionDaysShare } from "../limits.ts";
import { dayName, dayStartMs } from "../model/day.ts";
import type { Partition } from "../partition/catalog.ts";

export interface RetentionOptions {
  /** Days that ended longer ago than this are removed; undefined keeps all. Milliseconds. */
  ageMs: number | undefined;
  /** Stored bytes of chunks to keep at most, over all signals; undefined keeps all. */
  bytes: number | undefined;
  /**
   * Unix milliseconds. Of the days that ended before it, those that the clock calls too old are removed without further
   * doubt, however many they are.
   */
  removeBeforeMs: number | undefined;
}

/** What retention takes for the present. */
export interface RetentionClock {
  /** The machine's clock: Unix milliseconds. */
  nowMs: number;
  /** Time since the newest stored day was first seen, by a clock that nobody sets. Milliseconds. */
  sinceNewestMs: number;
}

interface PartitionChunks {
  partition: Partition;
  /** Chunk numbers. */
  ids: number[];
}

export interface RetentionPlan {
  /** Partitions to remove completely. */
  partitions: Partition[];
  /** Chunks to remove from partitions of the oldest day that remains. */
  chunks: PartitionChunks[];
  /** Days that look too old, but are too many at once. They are kept. Ascending. */
  heldDays: number[];
}

/**
 * First days that are too old go, then the oldest days of all signals until one day remains or the rest fits into
 * `bytes`, then the oldest chunks of the oldest day that remains.
 */
export function planRetention(
  partitions: readonly Partition[],
  options: RetentionOptions,
  clock: RetentionClock,
): RetentionPlan {
  const { bytes } = options;
  const { expired, heldDays } = findExpiredDays(partitions, options, clock);
  const removed = partitions.filter(({ day }) => expired.has(day));
  const kept = groupByDay(partitions.filter(({ day }) => !expired.has(day)));
  if (bytes === undefined) return { partitions: removed, chunks: [], heldDays };
  let total = kept.reduce((sum, day) => sum + sumChunkBytes(day), 0);
  while (kept.length > 1 && total > bytes) {
    const oldest = kept.shift()!;
    total -= sumChunkBytes(oldest);
    removed.push(...oldest);
  }
  return { partitions: removed, chunks: selectOldestChunks(kept[0] ?? [], total - bytes), heldDays };
}

/** Finds the days that are too old, and those of them that are kept because that is doubtful. */
function findExpiredDays(
  partitions: readonly Partition[],
  { ageMs, removeBeforeMs = 0 }: RetentionOptions,
  { nowMs, sinceNewestMs }: RetentionClock,
): { expired: ReadonlySet<number>; heldDays: number[] } {
  if (ageMs === undefined || partitions.length === 0) return { expired: new Set(), heldDays: [] };
  const days = [...new Set(partitions.map(({ day }) => day))].sort((a, b) => a - b);
  const dataNowMs = Math.min(nowMs, dayStartMs(days.at(-1)! + 1) + sinceNewestMs);
  const byClock = days.filter((day) => dayStartMs(day + 1) <= nowMs - ageMs);
  const confirmed = byClock.filter((day) => dayStartMs(day + 1) <= removeBeforeMs);
  const others = byClock.filter((day) => dayStartMs(day + 1) > removeBeforeMs);
  const byData = others.filter((day) => dayStartMs(day + 1) <= dataNowMs - ageMs);
  const daysMax = Math.max(retentionDaysMin, Math.floor(days.length * retentionDaysShare));
  const expired = new Set([...confirmed, ...(byData.length > daysMax ? [] : byData)]);
  return { expired, heldDays: byClock.filter((day) => !expired.has(day)) };
}

/** Measures how long ago the newest stored day was first seen, by the monotonic clock. */
export class NewestDay {
  #day = -1;
  #seenAtMs = 0;

  /** Milliseconds since the newest day of these partitions was first seen. */
  msSince(partitions: readonly Partition[]): number {
    const newest = partitions.reduce((most, { day }) => Math.max(most, day), -1);
    if (newest !== this.#day) {
      this.#day = newest;
      this.#seenAtMs = performance.now();
    }
    return performance.now() - this.#seenAtMs;
  }
}

/** What people read about days that are kept, and what they can do. */
export function describeHeldDays(days: readonly number[]): string {
  const [first, last] = [days[0]!, days.at(-1)!];
  return (
    `retention keeps ${days.length} days, ${dayName(first)} to ${dayName(last)}: by the clock they are too old, ` +
    "but they are many at once, or no stored row is as new as the clock. Where the clock is right, " +
    `start with --retention-before ${dayName(last + 1)} to remove them`
  );
}

/** The partitions of each day, the oldest day first. */
function groupByDay(partitions: readonly Partition[]): Partition[][] {
  const days = Map.groupBy(partitions, ({ day }) => day);
  return [...days].sort(([a], [b]) => a - b).map(([, dayPartitions]) => dayPartitions);
}

/** The oldest chunks of one day's partitions, over all signals, that together have at least `excessBytes`. */
function selectOldestChunks(dayPartitions: readonly Partition[], excessBytes: number): PartitionChunks[] {
  const chunks = dayPartitions.flatMap((partition) =>
    partition.manifest.chunks.map((chunk) => ({ partition, chunk })),
  );
  chunks.sort((a, b) => a.chunk.timeNsMax - b.chunk.timeNsMax);
  let excessLeft = excessBytes;
  const removed = chunks.filter(({ chunk }) => {
    if (excessLeft <= 0) return false;
    excessLeft -= chunk.bytes;
    return true;
  });
  const byPartition = Map.groupBy(removed, ({ partition }) => partition);
  return Array.from(byPartition, ([partition, group]) => ({
    partition,
    ids: group.map(({ chunk }) => chunk.id),
  }));
}

function sumChunkBytes(partitions: readonly Partition[]): number {
  const chunks = partitions.flatMap(({ manifest }): ChunkEntry[] => manifest.chunks);
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Decides what retention removes: a pure function of the stored partitions and the clock. */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { Partition } from "../partition/catalog.ts";

export interface RetentionOptions {
  /** Days that ended longer ago than this are removed; undefined keeps all. Milliseconds. */
  ageMs: number | undefined;
  /** Stored bytes of chunks to keep at most, over all signals; undefined keeps all. */
  bytes: number | undefined;
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
}

/**
 * First days that are too old go, then the oldest days of all signals until one day remains or the rest fits into
 * `bytes`, then the oldest chunks of the oldest day that remains.
 */
export function planRetention(
  partitions: readonly Partition[],
  options: RetentionOptions,
  nowMs: number,
): RetentionPlan {
  const { ageMs, bytes } = options;
  const isExpired = ({ day }: Partition) => ageMs !== undefined && (day + 1) * 86_400_000 <= nowMs - ageMs;
  const removed = partitions.filter(isExpired);
  const kept = groupByDay(partitions.filter((partition) => !isExpired(partition)));
  if (bytes === undefined) return { partitions: removed, chunks: [] };
  let total = kept.reduce((sum, day) => sum + sumChunkBytes(day), 0);
  while (kept.length > 1 && total > bytes) {
    const oldest = kept.shift()!;
    total -= sumChunkBytes(oldest);
    removed.push(...oldest);
  }
  return { partitions: removed, chunks: selectOldestChunks(kept[0] ?? [], total - bytes) };
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

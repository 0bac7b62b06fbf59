/** What retention removes: a pure function of what is stored and the clock. */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { Partition } from "../partition/catalog.ts";

export interface RetentionOptions {
  /** Days whose last moment is older than this are removed. */
  ageMs: number | undefined;
  /** Bytes of chunks that are kept at most, of all signals together. */
  bytes: number | undefined;
}

interface PartitionChunks {
  partition: Partition;
  ids: number[];
}

export interface RetentionPlan {
  /** Partitions to remove whole. */
  partitions: Partition[];
  /** Chunks to remove from partitions of the oldest day that stays. */
  chunks: PartitionChunks[];
}

export function planRetention(
  stored: readonly Partition[],
  options: RetentionOptions,
  nowMs: number,
): RetentionPlan {
  const { ageMs, bytes } = options;
  const isPast = ({ day }: Partition) => ageMs !== undefined && (day + 1) * 86_400_000 <= nowMs - ageMs;
  const removed = stored.filter(isPast);
  const kept = groupByDay(stored.filter((partition) => !isPast(partition)));
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
  return [...days].sort(([a], [b]) => a - b).map(([, ofDay]) => ofDay);
}

/** Of one day's partitions the oldest chunks, whatever their signal. */
function selectOldestChunks(ofDay: readonly Partition[], excess: number): PartitionChunks[] {
  const chunks = ofDay.flatMap((partition) =>
    partition.manifest.chunks.map((chunk) => ({ partition, chunk })),
  );
  chunks.sort((a, b) => a.chunk.timeNsMax - b.chunk.timeNsMax);
  let left = excess;
  const spent = chunks.filter(({ chunk }) => {
    if (left <= 0) return false;
    left -= chunk.bytes;
    return true;
  });
  const byPartition = Map.groupBy(spent, ({ partition }) => partition);
  return Array.from(byPartition, ([partition, of]) => ({ partition, ids: of.map(({ chunk }) => chunk.id) }));
}

function sumChunkBytes(partitions: readonly Partition[]): number {
  const chunks = partitions.flatMap(({ manifest }): ChunkEntry[] => manifest.chunks);
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * What was written of rows over their life. A row is written into the journal, then into a chunk, and again whenever its
 * chunk is merged. All these bytes, divided by those that are stored in the end, are the write amplification.
 */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";

/** Why rows were written; parts are compacted in memory alone. */
export const writeReasons = ["journal", "compact", "seal", "merge"] as const;
export type WriteReason = (typeof writeReasons)[number];

/** Since the store was opened: rows (samples, for metrics), and bytes on disk, without LMDB's pages around values. */
export type WriteCounts = Record<WriteReason, { rows: number; bytes: number }>;

export function createWriteCounts(): WriteCounts {
  const none = () => ({ rows: 0, bytes: 0 });
  return { journal: none(), compact: none(), seal: none(), merge: none() };
}

/** Counts rows and bytes that were written. */
export function addWritten(
  counts: WriteCounts,
  reason: WriteReason,
  written: readonly Pick<ChunkEntry, "rows" | "bytes">[],
): void {
  for (const { rows, bytes } of written) {
    counts[reason].rows += rows;
    counts[reason].bytes += bytes;
  }
}

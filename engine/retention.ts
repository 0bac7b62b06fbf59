/** What retention removes: a pure function of what is stored and the clock. */
import type { ChunkEntry } from "./manifest.ts";

export interface RetentionOptions {
  /** Days whose last moment is older than this are removed. */
  ageMs: number | undefined;
  /** Bytes of chunks that are kept at most. */
  bytes: number | undefined;
}

export interface StoredDay {
  day: number;
  chunks: readonly ChunkEntry[];
}

export interface RetentionPlan {
  /** Days to remove whole. */
  days: number[];
  /** Chunks to remove from the oldest day that stays. */
  chunks: { day: number; ids: number[] } | undefined;
}

export function planRetention(
  stored: readonly StoredDay[],
  options: RetentionOptions,
  nowMs: number,
): RetentionPlan {
  const { ageMs, bytes } = options;
  const oldestFirst = [...stored].sort((a, b) => a.day - b.day);
  const isPast = ({ day }: StoredDay) => ageMs !== undefined && (day + 1) * 86_400_000 <= nowMs - ageMs;
  const days = oldestFirst.filter(isPast).map(({ day }) => day);
  const kept = oldestFirst.filter((stored) => !isPast(stored));
  if (bytes === undefined) return { days, chunks: undefined };
  let total = kept.reduce((sum, { chunks }) => sum + bytesOf(chunks), 0);
  while (kept.length > 1 && total > bytes) {
    const oldest = kept.shift()!;
    total -= bytesOf(oldest.chunks);
    days.push(oldest.day);
  }
  const last = kept[0];
  return { days, chunks: last === undefined ? undefined : oldestChunks(last, total - bytes) };
}

function oldestChunks({ day, chunks }: StoredDay, excess: number): RetentionPlan["chunks"] {
  const ids: number[] = [];
  let left = excess;
  for (const chunk of [...chunks].sort((a, b) => a.timeNsMax - b.timeNsMax)) {
    if (left <= 0) break;
    left -= chunk.bytes;
    ids.push(chunk.id);
  }
  return ids.length === 0 ? undefined : { day, ids };
}

function bytesOf(chunks: readonly ChunkEntry[]): number {
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}

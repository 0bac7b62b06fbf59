/** Decides which parts of a partition are compacted or sealed and which chunks are merged. Pure functions. */

import { type ChunkCaps, fullChunkCaps } from "../chunk/chunk-caps.ts";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { sumPartBytes } from "../chunk/chunk-ref.ts";
import {
  mergeChunksMin,
  mergedBytesMax,
  mergedChunksMax,
  mergeGrowthMin,
  mergeShare,
  smallChunkBytes,
  smallChunksMax,
  smallPartRows,
  smallPartsMax,
} from "../limits.ts";
import { compareArrivals } from "../metrics/sample-chunk-decoder.ts";
import type { Signal } from "../model/signal.ts";
import type { MemtablePart } from "../partition/catalog.ts";
import { fullChunkRows } from "./compact-parts.ts";

/**
 * The small parts of a partition, once there are `smallPartsMax` of them; else undefined. For metrics, a run of
 * neighbours in order of arrival: of two samples at one time the later must win.
 */
export function selectPartsToCompact(
  signal: Signal,
  parts: readonly MemtablePart[],
): MemtablePart[] | undefined {
  const isSmall = ({ rows, isPacked }: MemtablePart) => rows < smallPartRows && !isPacked;
  if (signal !== "metrics") {
    const small = parts.filter(isSmall);
    return small.length < smallPartsMax ? undefined : small;
  }
  return findRuns(parts.toSorted(compareArrivals), isSmall).find((run) => run.length >= smallPartsMax);
}

/**
 * The parts in order of arrival, grouped for one chunk each: up to a full chunk's rows and as many bytes as its messages
 * may have, or one part that is larger by itself. A packed part is a chunk by itself.
 */
export function groupPartsToSeal(
  signal: Signal,
  parts: readonly MemtablePart[],
  caps: ChunkCaps,
): MemtablePart[][] {
  const groups: MemtablePart[][] = [];
  let rows = Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (const part of parts.toSorted((a, b) => a.arrivalMin - b.arrivalMin)) {
    const isFull =
      rows + part.rows > fullChunkRows(signal, caps) || bytes + part.bytes.length > caps.messageBytesMax;
    if (part.isPacked || isFull) {
      groups.push([]);
      [rows, bytes] = [0, 0];
    }
    groups.at(-1)!.push(part);
    rows = part.isPacked ? Number.POSITIVE_INFINITY : rows + part.rows;
    bytes += part.bytes.length;
  }
  return groups;
}

/**
 * Returns whether the last group of parts may stay unsealed: it would fill less than half a chunk, and all rows of the
 * other groups arrived before its rows (so that `arrivalSealed` stays true).
 */
export function isLastChunkDeferred(
  signal: Signal,
  groups: readonly MemtablePart[][],
  caps: ChunkCaps,
): boolean {
  const last = groups.at(-1);
  if (last === undefined || groups.length < 2 || last[0]!.isPacked) return false;
  const arrivalMin = last[0]!.arrivalMin;
  const isLatest = groups
    .slice(0, -1)
    .every((group) => group.every(({ arrivalMax }) => arrivalMax < arrivalMin));
  const rows = last.reduce((sum, part) => sum + part.rows, 0);
  const bytes = sumPartBytes(last);
  return isLatest && rows < fullChunkRows(signal, caps) / 2 && bytes < caps.messageBytesMax / 2;
}

/**
 * Small chunks to merge, which together make at most one full chunk; undefined where there are too few. They are taken
 * in the order of the manifest, which is by time. Of metrics they are neighbours in order of arrival, without any other
 * chunk between them. `left`: numbers of chunks that are left as they are.
 */
export function selectChunksToMerge(
  signal: Signal,
  chunks: readonly ChunkEntry[],
  caps: ChunkCaps,
  left: ReadonlySet<number> = new Set(),
): ChunkEntry[] | undefined {
  const isSmall = ({ id, rows, bytes }: ChunkEntry) =>
    rows < fullChunkRows(signal, caps) * mergeShare &&
    bytes < smallChunkBytes * sizeShare(caps) &&
    !left.has(id);
  // Samples have no arrival numbers of their own; which of two came last follows from their chunks. So no other chunk
  // may have arrived between chunks that are merged.
  const candidates =
    signal === "metrics" ? findRuns(chunks.toSorted(compareArrivals), isSmall) : [chunks.filter(isSmall)];
  for (const small of candidates) {
    const inOrder = signal === "metrics" ? small : small.toSorted((a, b) => b.rows - a.rows);
    const growing = small.length < smallChunksMax ? leaveOutLarge(inOrder) : small;
    if (growing.length < mergeChunksMin) continue;
    const chosen = takeUpToFull(
      { rowsMax: fullChunkRows(signal, caps), bytesMax: mergedBytesMax * sizeShare(caps) },
      signal === "metrics" ? growing : keepOrder(small, growing),
    );
    if (chosen.length >= 2) return chosen;
  }
  return undefined;
}

/** Size of a full chunk, as a share of the largest one that there is. */
function sizeShare({ messageBytesMax }: ChunkCaps): number {
  return messageBytesMax / fullChunkCaps.messageBytesMax;
}

/** The last chunks of a list of which none has more than its share, by `mergeGrowthMin`, of the rows of all of them. */
function leaveOutLarge(chunks: readonly ChunkEntry[]): readonly ChunkEntry[] {
  const rows = chunks.reduce((sum, chunk) => sum + chunk.rows, 0);
  const last = chunks.findLastIndex((chunk) => chunk.rows * mergeGrowthMin > rows);
  return last < 0 ? chunks : leaveOutLarge(chunks.slice(last + 1));
}

/** Those of `all` that are in `chosen`. */
function keepOrder(all: readonly ChunkEntry[], chosen: readonly ChunkEntry[]): ChunkEntry[] {
  const kept = new Set(chosen);
  return all.filter((chunk) => kept.has(chunk));
}

/** The first chunks, up to the rows of a full chunk and the caps of a merge. */
function takeUpToFull(
  { rowsMax, bytesMax }: { rowsMax: number; bytesMax: number },
  chunks: readonly ChunkEntry[],
): ChunkEntry[] {
  let [rows, bytes, count] = [0, 0, 0];
  for (const chunk of chunks) {
    rows += chunk.rows;
    bytes += chunk.bytes;
    if (rows > rowsMax || bytes > bytesMax || count === mergedChunksMax) break;
    count++;
  }
  return chunks.slice(0, count);
}

/** When the oldest rows of some parts were appended, in Unix milliseconds; infinite without parts. */
export function findOldestAppend(parts: readonly MemtablePart[]): number {
  return parts.reduce((least, { appendedMs }) => Math.min(least, appendedMs), Number.POSITIVE_INFINITY);
}

/** The longest runs of neighbours that all pass. */
function findRuns<T>(list: readonly T[], passes: (each: T) => boolean): T[][] {
  const found: T[][] = [];
  let run: T[] = [];
  for (const each of list) {
    if (passes(each)) {
      if (run.length === 0) found.push(run);
      run.push(each);
    } else run = [];
  }
  return found;
}

/** Which chunks of a partition become one: pure choices of background work. */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { mergeChunksMin, mergeShare, smallPartRows, smallPartsMax } from "../limits.ts";
import { compareArrivals } from "../metrics/sample-chunk-decoder.ts";
import type { Signal } from "../model/signal.ts";
import type { MemtablePart } from "../partition/catalog.ts";
import { fullChunkRows } from "./compact-parts.ts";

/** Small parts, once there are so many that joining them pays. */
export function partsToCompact(signal: Signal, parts: readonly MemtablePart[]): MemtablePart[] | undefined {
  const isSmall = ({ rows }: MemtablePart) => rows < smallPartRows;
  if (signal !== "metrics") {
    const small = parts.filter(isSmall);
    return small.length < smallPartsMax ? undefined : small;
  }
  return passingRuns(parts.toSorted(compareArrivals), isSmall).find((run) => run.length >= smallPartsMax);
}

/** The parts in order of arrival, in groups of at most a chunk's rows where parts are smaller. */
export function chunksToSeal(signal: Signal, parts: readonly MemtablePart[]): MemtablePart[][] {
  const groups: MemtablePart[][] = [];
  let rows = 0;
  for (const part of parts.toSorted((a, b) => a.arrivalMin - b.arrivalMin)) {
    if (groups.length === 0 || rows + part.rows > fullChunkRows(signal)) {
      groups.push([]);
      rows = 0;
    }
    groups.at(-1)!.push(part);
    rows += part.rows;
  }
  return groups;
}

/** Whether the last part can wait: it would make a small chunk, and what is before it also came before it. */
export function isLastChunkDeferred(signal: Signal, groups: readonly MemtablePart[][]): boolean {
  const last = groups.at(-1);
  if (last === undefined || groups.length < 2) return false;
  const arrivalMin = last[0]!.arrivalMin;
  const isApart = groups
    .slice(0, -1)
    .every((part) => part.every(({ arrivalMax }) => arrivalMax < arrivalMin));
  return isApart && last.reduce((sum, { rows }) => sum + rows, 0) < fullChunkRows(signal) / 2;
}

/** Small chunks that together make at most one full one: neighbours in time, those of metrics in arrival. */
export function chunksToMerge(signal: Signal, chunks: readonly ChunkEntry[]): ChunkEntry[] | undefined {
  const isSmall = ({ rows }: ChunkEntry) => rows < fullChunkRows(signal) * mergeShare;
  // Which of two samples came last is known of whole chunks alone: no other chunk may have come between those that are merged.
  const candidates =
    signal === "metrics" ? passingRuns(chunks.toSorted(compareArrivals), isSmall) : [chunks.filter(isSmall)];
  for (const small of candidates) {
    if (small.length < mergeChunksMin) continue;
    const chosen: ChunkEntry[] = [];
    let rows = 0;
    for (const chunk of small) {
      if (rows + chunk.rows > fullChunkRows(signal)) break;
      rows += chunk.rows;
      chosen.push(chunk);
    }
    if (chosen.length >= 2) return chosen;
  }
  return undefined;
}

/** Longest runs of neighbours that all pass. */
function passingRuns<T>(list: readonly T[], passes: (each: T) => boolean): T[][] {
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

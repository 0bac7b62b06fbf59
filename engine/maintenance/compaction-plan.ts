/** Which chunks of a partition become one: pure choices of background work. */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { mergeChunksMin, mergeShare, smallImageRows, smallImagesMax } from "../limits.ts";
import { byArrival } from "../metrics/sample-chunk-decoder.ts";
import type { Signal } from "../model/signal.ts";
import type { ImageEntry } from "../partition/catalog.ts";
import { chunkRowsOf } from "./compact-parts.ts";

/** Small images, once there are so many that joining them pays. */
export function imagesToJoin(signal: Signal, images: readonly ImageEntry[]): ImageEntry[] | undefined {
  const isSmall = ({ rows }: ImageEntry) => rows < smallImageRows;
  if (signal !== "metrics") {
    const small = images.filter(isSmall);
    return small.length < smallImagesMax ? undefined : small;
  }
  return runs(images.toSorted(byArrival), isSmall).find((run) => run.length >= smallImagesMax);
}

/** The images in order of arrival, in parts of at most a chunk's rows where images are smaller. */
export function partsToSeal(signal: Signal, images: readonly ImageEntry[]): ImageEntry[][] {
  const parts: ImageEntry[][] = [];
  let rows = 0;
  for (const image of images.toSorted((a, b) => a.arrivalMin - b.arrivalMin)) {
    if (parts.length === 0 || rows + image.rows > chunkRowsOf(signal)) {
      parts.push([]);
      rows = 0;
    }
    parts.at(-1)!.push(image);
    rows += image.rows;
  }
  return parts;
}

/** Whether the last part can wait: it would make a small chunk, and what is before it also came before it. */
export function isLastSpared(signal: Signal, parts: readonly ImageEntry[][]): boolean {
  const last = parts.at(-1);
  if (last === undefined || parts.length < 2) return false;
  const arrivalMin = last[0]!.arrivalMin;
  const isApart = parts.slice(0, -1).every((part) => part.every(({ arrivalMax }) => arrivalMax < arrivalMin));
  return isApart && last.reduce((sum, { rows }) => sum + rows, 0) < chunkRowsOf(signal) / 2;
}

/** Small chunks that together make at most one full one: neighbours in time, those of metrics in arrival. */
export function chunksToMerge(signal: Signal, chunks: readonly ChunkEntry[]): ChunkEntry[] | undefined {
  const isSmall = ({ rows }: ChunkEntry) => rows < chunkRowsOf(signal) * mergeShare;
  // Which of two samples came last is known of whole chunks alone: no other chunk may have come between those that are merged.
  const candidates =
    signal === "metrics" ? runs(chunks.toSorted(byArrival), isSmall) : [chunks.filter(isSmall)];
  for (const small of candidates) {
    if (small.length < mergeChunksMin) continue;
    const chosen: ChunkEntry[] = [];
    let rows = 0;
    for (const chunk of small) {
      if (rows + chunk.rows > chunkRowsOf(signal)) break;
      rows += chunk.rows;
      chosen.push(chunk);
    }
    if (chosen.length >= 2) return chosen;
  }
  return undefined;
}

/** Longest runs of neighbours that all pass. */
function runs<T>(list: readonly T[], passes: (each: T) => boolean): T[][] {
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

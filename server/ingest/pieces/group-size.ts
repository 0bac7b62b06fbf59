/** How many pieces go together. */

import type { MemoryBudget, Signal } from "../../../engine/index.ts";
import { jsonLinesBodyBytesMax } from "../limits.ts";
import { bufferSlack } from "./shared-bodies.ts";

/** The header that divides a body into pieces: "BYTES KEY, BYTES KEY". */
export const piecesHeader = "Idempotency-Keys";
/** Pieces of one body: their keys must fit into the head of a request. */
export const piecesMax = 64;

/** Pieces that go together, of which a decoding thread makes one chunk of logs or spans. */
export interface GroupSize {
  bytesMax: number;
  linesMax: number;
  /** Groups that are decoded at a time, each on a thread of its own. */
  atATime: number;
}

/** A line of metrics may be several samples. */
const samplesOfLine = 4;

/** What one decoding thread makes a chunk of, within a process's memory. */
export function groupSizeOf(
  { chunkCaps, loadBytes, pieceThreads }: Pick<MemoryBudget, "chunkCaps" | "loadBytes" | "pieceThreads">,
  signal: Signal,
): GroupSize {
  const linesMax = signal === "metrics" ? chunkCaps.samplesMax / samplesOfLine : chunkCaps.rowsMax;
  return { bytesMax: Math.floor(loadBytes), linesMax, atATime: pieceThreads };
}

/** The same for bodies of requests, of which one more may be on its way. */
export function bodyGroupSizeOf(memory: MemoryBudget, signal: Signal): GroupSize {
  const { bytesMax, ...size } = groupSizeOf(memory, signal);
  // One sender's bodies have half of `requestBytes` at most. So have all buffers together, and a buffer is a little larger than
  // its body.
  const bodyRoom = memory.requestBytes / 2 / (size.atATime + 1) / (1 + bufferSlack);
  return { ...size, bytesMax: Math.floor(Math.min(bytesMax, bodyRoom, jsonLinesBodyBytesMax)) };
}

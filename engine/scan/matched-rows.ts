/** The rows of one chunk that a task's range and filter select. */

import type { ChunkAccess, SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { selectMatchingRows } from "../filter/matching-rows.ts";
import { clampToDay } from "../model/day-range.ts";
import { checkControl } from "../plan/query-control.ts";
import type { OpenChunk } from "../summary/answer-source.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { type Bitmap, hasBit } from "../vector/bitmap.ts";

/** Matching rows of a chunk: bit i of `selection` stands for row `from` + i. */
export interface ChunkMatch {
  view: ChunkView;
  from: number;
  /** One more than the last row that `selection` has a bit for. */
  to: number;
  selection: Bitmap;
  rows: number;
}

/** Selects the rows of a chunk. `scannedRows`: the rows of the chunk in the task's range. */
export async function matchRows(
  { view, residual }: OpenChunk,
  { fromNs, toNs, control }: SelectionTask,
  { yieldThread }: ChunkAccess,
): Promise<{ matched: ChunkMatch; scannedRows: number }> {
  const range = clampToDay(fromNs, toNs, view.day);
  const from = lowerBound(view.timeNs, range.from);
  const to = lowerBound(view.timeNs, range.to);
  const none = { view, from, to: from, selection: new Uint8Array(0), rows: 0 };
  if (from >= to) return { matched: none, scannedRows: 0 };
  const checkpoint = () => checkControl(control);
  const selection = await selectMatchingRows(residual, view, { from, to }, checkpoint, yieldThread);
  const rows = view.heap.kernels.countBits(selection);
  return { matched: { view, from: from & ~7, to, selection, rows }, scannedRows: to - from };
}

/** The numbers of the matching rows, ascending. */
export function* matchedRowNumbers({ from, selection }: ChunkMatch): Generator<number> {
  for (const [i, bits] of selection.entries()) {
    if (bits === 0) continue;
    for (let bit = 0; bit < 8; bit++) if (hasBit(selection, i * 8 + bit)) yield from + i * 8 + bit;
  }
}

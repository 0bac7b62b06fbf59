/** Filters over blocks of rows, and their combination by and, or, not. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import type { Bitmap } from "../vector/bitmap.ts";

/**
 * Rows [from, from + rows) of a chunk; `from` is a multiple of 8. Bit i of the selection, which lies on the view's
 * heap, is row from + i.
 */
export interface RowBlock {
  from: number;
  rows: number;
  selection: Bitmap;
}

/**
 * Where at most one row of a block in this many is still selected, these rows are read one by one: searching all of them
 * takes longer.
 */
export const fewRowsDivisor = 16;

/** Clears the selection bits of rows that fail. */
export type BlockFilter = (block: RowBlock) => void;

/** Checks the deadline and the cancel flag; throws Failure "deadline" or "cancelled". */
export type Checkpoint = () => void;

/** Bytes of texts that are read one by one between two checkpoints. */
const checkEveryBytes = 256 * 1024;

/** Returns a function that is told how many bytes were read, and reaches the checkpoint from time to time. */
export function checkpointByBytes(checkpoint: Checkpoint): (bytes: number) => void {
  let uncheckedBytes = 0;
  return (bytes) => {
    uncheckedBytes += bytes;
    if (uncheckedBytes <= checkEveryBytes) return;
    checkpoint();
    uncheckedBytes = 0;
  };
}

/** What a filter is compiled for: one chunk in one query. */
export interface FilterScope {
  view: ChunkView;
  checkpoint: Checkpoint;
}

/** Passes every row. */
export const passAll: BlockFilter = () => undefined;
/** Passes no row. */
export const passNone: BlockFilter = (block) => void block.selection.fill(0);

/** Passes rows that pass every filter. */
export function matchAll(filters: BlockFilter[], { kernels }: ColumnHeap): BlockFilter {
  return (block) => {
    for (const filter of filters) {
      if (!kernels.anyBit(block.selection)) return;
      filter(block);
    }
  };
}

/** Passes rows that pass at least one filter. */
export function matchAny(filters: BlockFilter[], { kernels, scratch }: ColumnHeap): BlockFilter {
  return (block) => {
    const result = scratch.uint8(block.selection.length);
    for (const filter of filters) {
      const selection = scratch.place(block.selection);
      // Rows that an earlier filter passed need no second test.
      kernels.andNot(selection, result);
      filter({ ...block, selection });
      kernels.or(result, selection);
    }
    block.selection.set(result);
  };
}

/** Passes rows that fail the filter. */
export function matchNot(filter: BlockFilter, { kernels, scratch }: ColumnHeap): BlockFilter {
  return (block) => {
    const selection = scratch.place(block.selection);
    filter({ ...block, selection });
    kernels.andNot(block.selection, selection);
  };
}

/** Keeps the rows of a block whose bits `find` sets in `found`; bits that are not selected may be set, too. */
export function keepFoundRows(
  { kernels, scratch }: ColumnHeap,
  find: (from: number, rows: number, found: Bitmap) => void,
): BlockFilter {
  return ({ from, rows, selection }) => {
    const found = scratch.uint8(selection.length);
    find(from, rows, found);
    kernels.and(selection, found);
  };
}

/** Filters of blocks of rows, and what is made of several. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import type { Bitmap } from "../vector/bitmap.ts";

/** Rows [from, from + rows) of a chunk, `from` a multiple of 8; bit i of the selection, on the view's heap, is row from + i. */
export interface Block {
  from: number;
  rows: number;
  selection: Bitmap;
}

export type BlockFilter = (block: Block) => void;

/** Looks at the clock and at the cancel flag; throws Failure "deadline" or "cancelled". */
export type Checkpoint = () => void;

/** The chunk that a filter is compiled for. */
export interface FilterScope {
  view: ChunkView;
  checkpoint: Checkpoint;
}

export const passAll: BlockFilter = () => undefined;
export const passNone: BlockFilter = (block) => void block.selection.fill(0);

export function matchAll(filters: BlockFilter[], { kernels }: ColumnHeap): BlockFilter {
  return (block) => {
    for (const filter of filters) {
      if (!kernels.anyBit(block.selection)) return;
      filter(block);
    }
  };
}

export function matchAny(filters: BlockFilter[], { kernels, scratch }: ColumnHeap): BlockFilter {
  return (block) => {
    const result = scratch.uint8(block.selection.length);
    for (const filter of filters) {
      const selection = scratch.place(block.selection);
      // Rows that an earlier branch took need no second test.
      kernels.andNot(selection, result);
      filter({ ...block, selection });
      kernels.or(result, selection);
    }
    block.selection.set(result);
  };
}

export function matchNot(filter: BlockFilter, { kernels, scratch }: ColumnHeap): BlockFilter {
  return (block) => {
    const selection = scratch.place(block.selection);
    filter({ ...block, selection });
    kernels.andNot(block.selection, selection);
  };
}

/** Keeps the rows of a block that `find` finds, which may leave bits beyond the selection set. */
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

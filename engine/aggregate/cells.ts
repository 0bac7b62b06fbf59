/** Rows of a chunk in cells: a cell is a group in a bucket, and has a point once it has rows. */

import { narrowCodes } from "../column/dictionary.ts";
import type { ColumnHeap, Heap } from "../kernels/heap.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import type { BucketRuns } from "./bucket-runs.ts";

/** Rows [from, to) of a chunk, of which `selection` says which pass (bit i is row from + i); null: all of them. */
export interface SelectedRows {
  /** A multiple of 8. */
  from: number;
  to: number;
  selection: Bitmap | null;
}

/** Row i of these is row from + i of the chunk. Vectors lie on the heap. */
export interface CellRows {
  heap: ColumnHeap;
  /** Null: all rows. */
  selection: Bitmap | null;
  /** Cell of each row; made when first asked for, since counts alone do without. */
  cellOf: () => Codes;
  /** Selected rows of every cell. */
  counts: Uint32Array;
  /** The cells that have rows, and the place of each one's point. */
  used: Uint32Array;
  places: Uint32Array;
}

/** Cell run × cardinality + code holds the rows of a run that have a code. */
export interface CellShape {
  runs: BucketRuns;
  /** A code a row of the chunk; null: all rows have code 0. */
  codes: Codes | null;
  cardinality: number;
}

/** Counts the rows of every cell by kernels; `placeOf` makes the points of those that have some. */
export function countRuns(
  heap: ColumnHeap,
  rows: SelectedRows,
  shape: CellShape,
  placeOf: (run: number, code: number) => number,
): CellRows {
  const { runs, cardinality } = shape;
  const counts = countCells(heap, rows, shape);
  let length = 0;
  for (let cell = 0; cell < counts.length; cell++) if (counts[cell] !== 0) length++;
  const used = new Uint32Array(length);
  const places = new Uint32Array(length);
  for (let run = 0, cell = 0, at = 0; run < runs.buckets.length; run++) {
    for (let code = 0; code < cardinality; code++, cell++) {
      if (counts[cell] === 0) continue;
      used[at] = cell;
      places[at++] = placeOf(run, code);
    }
  }
  let codes: Codes | undefined;
  const cellOf = () => (codes ??= cellCodes(rows, shape, heap));
  const { selection } = rows;
  return { heap, selection, cellOf, counts, used, places };
}

function countCells({ kernels, scratch }: ColumnHeap, rows: SelectedRows, shape: CellShape): Uint32Array {
  const { runs, codes, cardinality } = shape;
  const { from, selection } = rows;
  const counts = scratch.uint32(runs.buckets.length * cardinality);
  if (codes === null && selection === null) {
    for (let run = 0; run < runs.buckets.length; run++) {
      counts[run * cardinality] = runs.bounds[run + 1]! - runs.bounds[run]!;
    }
  } else if (codes === null && selection !== null && runs.buckets.length === 1) {
    counts[0] = kernels.countBits(selection);
  } else {
    const bounds = runs.bounds.map((row) => row - from);
    kernels.countRuns(codesOf(rows, codes, scratch), bounds, cardinality, selection, counts);
  }
  return counts;
}

function cellCodes(
  rows: SelectedRows,
  { runs, codes, cardinality }: CellShape,
  { kernels, scratch }: ColumnHeap,
): Codes {
  const own = codesOf(rows, codes, scratch);
  if (runs.buckets.length === 1) return own;
  const cells = scratch.uint32(own.length);
  for (let run = 0; run < runs.buckets.length; run++) {
    const from = runs.bounds[run]! - rows.from;
    const to = runs.bounds[run + 1]! - rows.from;
    kernels.raiseCodes(own.subarray(from, to), run * cardinality, cells.subarray(from, to));
  }
  return cells;
}

/** Codes of the rows, without those of the rest of the chunk. */
function codesOf({ from, to }: SelectedRows, codes: Codes | null, heap: Heap): Codes {
  return codes === null ? heap.uint8(to - from) : codes.subarray(from, to);
}

/** Cells that are numbered as rows are met, where they are too many to have a counter each, or groups are known row by row. */
export class CellsByRow {
  readonly #heap: ColumnHeap;
  readonly #cells: Uint32Array;
  readonly #selection: Bitmap;
  readonly #cellOfPlace = new Map<number, number>();
  readonly #counts: number[] = [];

  constructor(heap: ColumnHeap, rows: number) {
    this.#heap = heap;
    this.#cells = heap.scratch.uint32(rows);
    this.#selection = heap.scratch.uint8((rows + 7) >> 3);
  }

  /** Selects row i, whose point has that place. */
  put(i: number, place: number): void {
    let cell = this.#cellOfPlace.get(place);
    if (cell === undefined) {
      cell = this.#counts.push(0) - 1;
      this.#cellOfPlace.set(place, cell);
    }
    this.#counts[cell] = this.#counts[cell]! + 1;
    this.#cells[i] = cell;
    setBit(this.#selection, i);
  }

  finish(): CellRows {
    const counts = this.#heap.scratch.uint32(this.#counts.length);
    counts.set(this.#counts);
    const codes = narrowCodes(this.#cells, Math.max(counts.length, 1), this.#heap.scratch);
    return {
      heap: this.#heap,
      selection: this.#selection,
      cellOf: () => codes,
      counts,
      used: Uint32Array.from(counts.keys()),
      places: Uint32Array.from(this.#cellOfPlace.keys()),
    };
  }
}

/** The selected rows, ascending; null for all of them. */
export function selectedList({ heap, selection, used, counts }: CellRows): Uint32Array | null {
  if (selection === null) return null;
  let rows = 0;
  for (const cell of used) rows += counts[cell]!;
  const list = heap.scratch.uint32(rows);
  heap.kernels.expand(selection, 0, list);
  return list;
}

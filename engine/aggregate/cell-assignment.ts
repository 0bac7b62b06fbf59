/**
 * Assigns the rows of a chunk to cells: a cell is one group × bucket within the chunk. A cell that has rows belongs to
 * a point, the group × bucket of the whole aggregation.
 */

import { narrowCodes } from "../column/dictionary.ts";
import type { ColumnHeap, Heap } from "../kernels/heap.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import type { BucketRuns } from "./bucket-runs.ts";

/** Rows [from, to) of a chunk; bit i of `selection` says whether row from + i is selected; null selects all. */
export interface SelectedRows {
  /** A multiple of 8. */
  from: number;
  to: number;
  selection: Bitmap | null;
}

/** Selected rows and their cells; index i is row from + i of the chunk. The vectors lie on the heap. */
export interface CellRows {
  heap: ColumnHeap;
  /** Null: all rows. */
  selection: Bitmap | null;
  /** The cell of each row; computed when first asked for, because counts do not need it. */
  cellOf: () => Codes;
  /** Number of selected rows of every cell. */
  counts: Uint32Array;
  /** The cells that have rows. */
  usedCells: Uint32Array;
  /** The point of each used cell, as its index in the point table. */
  points: Uint32Array;
}

/** How cells are numbered: the cell run × cardinality + code has the rows of a bucket run that have a group code. */
export interface CellShape {
  runs: BucketRuns;
  /** Group code of each row of the chunk; null: all rows have code 0. */
  codes: Codes | null;
  cardinality: number;
}

/** Counts the rows of every cell with kernels. `pointOf` finds or adds the point of a cell that has rows. */
export function assignCells(
  heap: ColumnHeap,
  rows: SelectedRows,
  shape: CellShape,
  pointOf: (run: number, code: number) => number,
): CellRows {
  const { runs, cardinality } = shape;
  const counts = countCells(heap, rows, shape);
  let length = 0;
  for (let cell = 0; cell < counts.length; cell++) if (counts[cell] !== 0) length++;
  const usedCells = new Uint32Array(length);
  const points = new Uint32Array(length);
  for (let run = 0, cell = 0, at = 0; run < runs.buckets.length; run++) {
    for (let code = 0; code < cardinality; code++, cell++) {
      if (counts[cell] === 0) continue;
      usedCells[at] = cell;
      points[at++] = pointOf(run, code);
    }
  }
  let codes: Codes | undefined;
  const cellOf = () => (codes ??= computeCells(rows, shape, heap));
  const { selection } = rows;
  return { heap, selection, cellOf, counts, usedCells, points };
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

function computeCells(rows: SelectedRows, shape: CellShape, { kernels, scratch }: ColumnHeap): Codes {
  const { runs, codes, cardinality } = shape;
  const codesOfRows = codesOf(rows, codes, scratch);
  if (runs.buckets.length === 1) return codesOfRows;
  const cells = scratch.uint32(codesOfRows.length);
  for (let run = 0; run < runs.buckets.length; run++) {
    const from = runs.bounds[run]! - rows.from;
    const to = runs.bounds[run + 1]! - rows.from;
    kernels.raiseCodes(codesOfRows.subarray(from, to), run * cardinality, cells.subarray(from, to));
  }
  return cells;
}

/** Returns the group codes of the rows [from, to). */
function codesOf({ from, to }: SelectedRows, codes: Codes | null, heap: Heap): Codes {
  return codes === null ? heap.uint8(to - from) : codes.subarray(from, to);
}

/**
 * Numbers cells while rows are added one by one. It serves where there are too many possible cells for a counter each,
 * or where a row's group is known only when the row is read.
 */
export class CellsByRow {
  readonly #heap: ColumnHeap;
  readonly #cells: Uint32Array;
  readonly #selection: Bitmap;
  readonly #cellOfPoint = new Map<number, number>();
  readonly #counts: number[] = [];

  constructor(heap: ColumnHeap, rows: number) {
    this.#heap = heap;
    this.#cells = heap.scratch.uint32(rows);
    this.#selection = heap.scratch.uint8((rows + 7) >> 3);
  }

  /** Selects row i and assigns it to the cell of a point. */
  add(i: number, point: number): void {
    let cell = this.#cellOfPoint.get(point);
    if (cell === undefined) {
      cell = this.#counts.push(0) - 1;
      this.#cellOfPoint.set(point, cell);
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
      usedCells: Uint32Array.from(counts.keys()),
      points: Uint32Array.from(this.#cellOfPoint.keys()),
    };
  }
}

/** Lists the selected rows in ascending order; null where all rows are selected. */
export function listSelectedRows({ heap, selection, usedCells, counts }: CellRows): Uint32Array | null {
  if (selection === null) return null;
  let rows = 0;
  for (const cell of usedCells) rows += counts[cell]!;
  const list = heap.scratch.uint32(rows);
  heap.kernels.expand(selection, 0, list);
  return list;
}

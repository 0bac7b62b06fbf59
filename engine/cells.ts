/** Aggregates of cells: cell run × cardinality + code holds the rows of a run that have a code. */
import type { Aggregation } from "./aggregation.ts";
import type { Codes } from "./column.ts";
import { timeMs } from "./day.ts";
import type { ColumnHeap, Heap } from "./heap.ts";
import type { Runs } from "./runs.ts";
import type { ChunkView } from "./view.ts";

/** Rows [from, to) of a chunk, of which `selection` says which pass (bit i is row from + i); null: all of them. */
export interface SelectedRows {
  from: number;
  to: number;
  selection: Uint8Array | null;
}

interface Shape {
  runs: Runs;
  /** A code a row of the chunk; null: all rows have code 0. */
  codes: Codes | null;
  cardinality: number;
}

interface Cells extends Shape {
  /** Rows of every cell. */
  counts: Uint32Array;
}

export function countCells({ kernels, scratch }: ColumnHeap, rows: SelectedRows, shape: Shape): Cells {
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
  return { ...shape, counts };
}

/** One aggregate's value of a cell that has rows. */
export function cellValues(
  op: Aggregation["op"],
  view: ChunkView,
  rows: SelectedRows,
  cells: Cells,
): (cell: number) => number {
  const { counts } = cells;
  if (op === "count") return (cell) => counts[cell]!;
  const { kernels, scratch } = view.heap;
  const { from, to, selection } = rows;
  const timeNs = view.timeNs.subarray(from, to);
  const found = scratch.float64(counts.length);
  const cellOf = cellCodes(rows, cells, scratch);
  if (op === "first") kernels.leastOfGroups(cellOf, timeNs, selection, found.fill(Number.POSITIVE_INFINITY));
  else kernels.greatestOfGroups(cellOf, timeNs, selection, found.fill(Number.NEGATIVE_INFINITY));
  return (cell) => timeMs(view.day, found[cell]!);
}

/** The cell of each row. */
function cellCodes(rows: SelectedRows, { runs, codes, cardinality }: Cells, heap: Heap): Codes {
  const own = codesOf(rows, codes, heap);
  if (runs.buckets.length === 1) return own;
  const cells = heap.uint32(own.length);
  for (let run = 0; run < runs.buckets.length; run++) {
    const base = run * cardinality;
    const end = runs.bounds[run + 1]! - rows.from;
    for (let row = runs.bounds[run]! - rows.from; row < end; row++) cells[row] = base + own[row]!;
  }
  return cells;
}

/** Codes of the rows, without those of the rest of the chunk. */
function codesOf({ from, to }: SelectedRows, codes: Codes | null, heap: Heap): Codes {
  return codes === null ? heap.uint8(to - from) : codes.subarray(from, to);
}

/** Running moments of the numbers of points: count, sum, M2, minimum and maximum, mergeable in any order. */
import type { Aggregation } from "../plan/aggregation.ts";
import type { NumberBounds } from "../summary/header-counts.ts";
import { type CellRows, listSelectedRows } from "./cell-assignment.ts";
import { PointNumbers } from "./point-numbers.ts";
import { lowerTo, raiseTo } from "./row-counts.ts";

/** Cells of the rows that have a number. */
export interface NumberRows extends CellRows {
  /** The number of each row, on the heap; arbitrary where the row is not selected. */
  values: Float64Array;
}

/** Aggregates that are computed from moments. */
export type MomentOp = Extract<
  Aggregation["op"],
  "sum" | "avg" | "min" | "max" | "stddev" | "numbers" | "squares"
>;

/** Mergeable state: one entry per point; undefined where no aggregate needs it. */
export interface MomentsPart {
  /** Rows that have a number. Where only bounds were added, just whether it is 0 has a meaning. */
  counts: Float64Array;
  sums: Float64Array | undefined;
  /** M2: sums of the squared distances from the mean. */
  squares: Float64Array | undefined;
  least: Float64Array | undefined;
  greatest: Float64Array | undefined;
}

/** The moments of every point over one value. */
export class Moments {
  readonly #counts = new PointNumbers(0);
  readonly #sums: PointNumbers | undefined;
  readonly #squares: PointNumbers | undefined;
  readonly #least: PointNumbers | undefined;
  readonly #greatest: PointNumbers | undefined;

  constructor(ops: ReadonlySet<MomentOp>) {
    const needsSquares = ops.has("stddev") || ops.has("squares");
    if (ops.has("sum") || ops.has("avg") || needsSquares) this.#sums = new PointNumbers(0);
    if (needsSquares) this.#squares = new PointNumbers(0);
    if (ops.has("min")) this.#least = new PointNumbers(Number.POSITIVE_INFINITY);
    if (ops.has("max")) this.#greatest = new PointNumbers(Number.NEGATIVE_INFINITY);
  }

  get byteLength(): number {
    return this.#all().reduce((sum, each) => sum + each.byteLength, 0);
  }

  add(rows: NumberRows, pointCount: number): void {
    const { heap, selection, cellOf, values, counts, usedCells, points } = rows;
    const { kernels, scratch } = heap;
    const part: MomentsPart = {
      counts: gatherValues(counts, usedCells),
      sums: undefined,
      squares: undefined,
      least: undefined,
      greatest: undefined,
    };
    if (this.#sums !== undefined) {
      const sums = scratch.float64(counts.length);
      kernels.sumGroups(cellOf(), values, selection, sums);
      part.sums = gatherValues(sums, usedCells);
      if (this.#squares !== undefined) part.squares = gatherValues(sumSquares(rows, sums), usedCells);
    }
    if (this.#least !== undefined) {
      const least = scratch.float64(counts.length).fill(Number.POSITIVE_INFINITY);
      kernels.leastOfGroups(cellOf(), values, selection, least);
      part.least = gatherValues(least, usedCells);
    }
    if (this.#greatest !== undefined) {
      const greatest = scratch.float64(counts.length).fill(Number.NEGATIVE_INFINITY);
      kernels.greatestOfGroups(cellOf(), values, selection, greatest);
      part.greatest = gatherValues(greatest, usedCells);
    }
    this.merge(part, points, pointCount);
  }

  /** Merges another state; `pointOf` maps its points to points here. */
  merge(part: MomentsPart, pointOf: Uint32Array, pointCount: number): void {
    const { counts, sums, squares, least, greatest } = part;
    for (const each of this.#all()) each.reserve(pointCount);
    const own = this.#counts.values;
    for (let i = 0; i < pointOf.length; i++) {
      const point = pointOf[i]!;
      const count = counts[i]!;
      if (count === 0) continue;
      if (squares !== undefined) this.#mergeSquares(point, { count, sum: sums![i]!, squares: squares[i]! });
      if (sums !== undefined) this.#sums!.values[point] = this.#sums!.values[point]! + sums[i]!;
      if (least !== undefined) lowerTo(this.#least!.values, point, least[i]!);
      if (greatest !== undefined) raiseTo(this.#greatest!.values, point, greatest[i]!);
      own[point] = own[point]! + count;
    }
  }

  /** Adds minimum and maximum of some rows of a point; only where sums are not asked for. */
  addBounds({ min, max }: NumberBounds, point: number): void {
    for (const each of this.#all()) each.reserve(point + 1);
    const counts = this.#counts.values;
    counts[point] = counts[point]! + 1;
    if (this.#least !== undefined) lowerTo(this.#least.values, point, min);
    if (this.#greatest !== undefined) raiseTo(this.#greatest.values, point, max);
  }

  finish(pointCount: number): MomentsPart {
    return {
      counts: this.#counts.finish(pointCount),
      sums: this.#sums?.finish(pointCount),
      squares: this.#squares?.finish(pointCount),
      least: this.#least?.finish(pointCount),
      greatest: this.#greatest?.finish(pointCount),
    };
  }

  /**
   * Merges M2 by the formula of Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing
   * sample variances (1979). It keeps the variance exact for numbers that are far from zero and differ little.
   */
  #mergeSquares(point: number, part: { count: number; sum: number; squares: number }): void {
    const own = this.#squares!.values;
    const count = this.#counts.values[point]!;
    let between = 0;
    if (count > 0) {
      const distance = part.sum / part.count - this.#sums!.values[point]! / count;
      between = distance * distance * ((count * part.count) / (count + part.count));
    }
    own[point] = own[point]! + part.squares + between;
  }

  #all(): PointNumbers[] {
    const kept = [this.#counts, this.#sums, this.#squares, this.#least, this.#greatest];
    return kept.filter((each) => each !== undefined);
  }
}

function gatherValues(values: Float64Array | Uint32Array, indices: Uint32Array): Float64Array {
  const picked = new Float64Array(indices.length);
  for (let i = 0; i < picked.length; i++) picked[i] = values[indices[i]!]!;
  return picked;
}

/** M2 of every cell: the sum of the squared distances of its numbers from their mean. */
function sumSquares(rows: NumberRows, sums: Float64Array): Float64Array {
  const { heap, cellOf, values, counts } = rows;
  const means = sums.map((sum, cell) => sum / counts[cell]!);
  const squares = heap.scratch.float64(counts.length);
  const cells = cellOf();
  const list = listSelectedRows(rows);
  const length = list?.length ?? values.length;
  for (let i = 0; i < length; i++) {
    const row = list === null ? i : list[i]!;
    const cell = cells[row]!;
    const distance = values[row]! - means[cell]!;
    squares[cell] = squares[cell]! + distance * distance;
  }
  return squares;
}

/** One aggregate of every point; NaN where the point has no number. */
export function computeMoment(op: MomentOp, part: MomentsPart): Float64Array {
  const { counts, sums, squares, least, greatest } = part;
  const of: Record<MomentOp, (point: number) => number> = {
    sum: (point) => sums![point]!,
    avg: (point) => sums![point]! / counts[point]!,
    min: (point) => least![point]!,
    max: (point) => greatest![point]!,
    stddev: (point) => Math.sqrt(squares![point]! / counts[point]!),
    numbers: (point) => counts[point]!,
    squares: (point) => squares![point]!,
  };
  const numberOf = of[op];
  return counts.map((count, point) => (count === 0 ? Number.NaN : numberOf(point)));
}

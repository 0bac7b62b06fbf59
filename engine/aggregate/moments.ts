/** Count, sum, spread and extremes of the numbers of points; parts of a point become one whatever their order. */
import type { Aggregation } from "../plan/aggregation.ts";
import type { NumberBounds } from "../summary/header-counts.ts";
import { type CellRows, selectedList } from "./cells.ts";
import { PointNumbers } from "./point-numbers.ts";
import { lowerAt, raiseAt } from "./row-counts.ts";

/** Rows that have a number, in their cells. */
export interface NumberRows extends CellRows {
  /** On the heap, one a row; arbitrary where the row is not selected. */
  values: Float64Array;
}

export type MomentOp = Extract<Aggregation["op"], "sum" | "avg" | "min" | "max" | "stddev">;

/** Of point after point; undefined where no aggregate asks for it. */
export interface MomentsPart {
  counts: Float64Array;
  sums: Float64Array | undefined;
  /** Sums of the squared distances from the mean. */
  squares: Float64Array | undefined;
  least: Float64Array | undefined;
  greatest: Float64Array | undefined;
}

export class Moments {
  readonly #counts = new PointNumbers(0);
  readonly #sums: PointNumbers | undefined;
  readonly #squares: PointNumbers | undefined;
  readonly #least: PointNumbers | undefined;
  readonly #greatest: PointNumbers | undefined;

  constructor(ops: ReadonlySet<MomentOp>) {
    if (ops.has("sum") || ops.has("avg") || ops.has("stddev")) this.#sums = new PointNumbers(0);
    if (ops.has("stddev")) this.#squares = new PointNumbers(0);
    if (ops.has("min")) this.#least = new PointNumbers(Number.POSITIVE_INFINITY);
    if (ops.has("max")) this.#greatest = new PointNumbers(Number.NEGATIVE_INFINITY);
  }

  get byteLength(): number {
    return this.#all().reduce((sum, each) => sum + each.byteLength, 0);
  }

  add(rows: NumberRows, points: number): void {
    const { heap, selection, cellOf, values, counts, used, places } = rows;
    const { kernels, scratch } = heap;
    const part: MomentsPart = {
      counts: pick(counts, used),
      sums: undefined,
      squares: undefined,
      least: undefined,
      greatest: undefined,
    };
    if (this.#sums !== undefined) {
      const sums = scratch.float64(counts.length);
      kernels.sumGroups(cellOf(), values, selection, sums);
      part.sums = pick(sums, used);
      if (this.#squares !== undefined) part.squares = pick(squaresOf(rows, sums), used);
    }
    if (this.#least !== undefined) {
      const least = scratch.float64(counts.length).fill(Number.POSITIVE_INFINITY);
      kernels.leastOfGroups(cellOf(), values, selection, least);
      part.least = pick(least, used);
    }
    if (this.#greatest !== undefined) {
      const greatest = scratch.float64(counts.length).fill(Number.NEGATIVE_INFINITY);
      kernels.greatestOfGroups(cellOf(), values, selection, greatest);
      part.greatest = pick(greatest, used);
    }
    this.join(part, places, points);
  }

  /** `places`: of each of the part's points the place here. */
  join({ counts, sums, squares, least, greatest }: MomentsPart, places: Uint32Array, points: number): void {
    for (const each of this.#all()) each.reserve(points);
    const own = this.#counts.values;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      const count = counts[i]!;
      if (count === 0) continue;
      if (squares !== undefined) this.#joinSquares(place, { count, sum: sums![i]!, squares: squares[i]! });
      if (sums !== undefined) this.#sums!.values[place] = this.#sums!.values[place]! + sums[i]!;
      if (least !== undefined) lowerAt(this.#least!.values, place, least[i]!);
      if (greatest !== undefined) raiseAt(this.#greatest!.values, place, greatest[i]!);
      own[place] = own[place]! + count;
    }
  }

  /** Extremes of one point whose sums nobody asks for. */
  addBounds({ min, max }: NumberBounds, place: number): void {
    for (const each of this.#all()) each.reserve(place + 1);
    const counts = this.#counts.values;
    counts[place] = counts[place]! + 1;
    if (this.#least !== undefined) lowerAt(this.#least.values, place, min);
    if (this.#greatest !== undefined) raiseAt(this.#greatest.values, place, max);
  }

  finish(points: number): MomentsPart {
    return {
      counts: this.#counts.finish(points),
      sums: this.#sums?.finish(points),
      squares: this.#squares?.finish(points),
      least: this.#least?.finish(points),
      greatest: this.#greatest?.finish(points),
    };
  }

  /**
   * Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979): numbers far from zero
   * that differ little keep their spread.
   */
  #joinSquares(place: number, part: { count: number; sum: number; squares: number }): void {
    const own = this.#squares!.values;
    const count = this.#counts.values[place]!;
    let between = 0;
    if (count > 0) {
      const distance = part.sum / part.count - this.#sums!.values[place]! / count;
      between = distance * distance * ((count * part.count) / (count + part.count));
    }
    own[place] = own[place]! + part.squares + between;
  }

  #all(): PointNumbers[] {
    const kept = [this.#counts, this.#sums, this.#squares, this.#least, this.#greatest];
    return kept.filter((each) => each !== undefined);
  }
}

function pick(values: Float64Array | Uint32Array, places: Uint32Array): Float64Array {
  const picked = new Float64Array(places.length);
  for (let i = 0; i < picked.length; i++) picked[i] = values[places[i]!]!;
  return picked;
}

/** Of every cell the sum of the squared distances of its numbers from their mean. */
function squaresOf(rows: NumberRows, sums: Float64Array): Float64Array {
  const { heap, cellOf, values, counts } = rows;
  const means = sums.map((sum, cell) => sum / counts[cell]!);
  const squares = heap.scratch.float64(counts.length);
  const cells = cellOf();
  const list = selectedList(rows);
  const length = list?.length ?? values.length;
  for (let i = 0; i < length; i++) {
    const row = list === null ? i : list[i]!;
    const cell = cells[row]!;
    const distance = values[row]! - means[cell]!;
    squares[cell] = squares[cell]! + distance * distance;
  }
  return squares;
}

/** One aggregate of point after point, NaN where it has no number. */
export function momentValues(op: MomentOp, part: MomentsPart): Float64Array {
  const { counts, sums, squares, least, greatest } = part;
  const of: Record<MomentOp, (point: number) => number> = {
    sum: (point) => sums![point]!,
    avg: (point) => sums![point]! / counts[point]!,
    min: (point) => least![point]!,
    max: (point) => greatest![point]!,
    stddev: (point) => Math.sqrt(squares![point]! / counts[point]!),
  };
  const numberOf = of[op];
  return counts.map((count, point) => (count === 0 ? Number.NaN : numberOf(point)));
}

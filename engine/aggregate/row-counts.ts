/** The number of rows of each point, and their first and last times. */

import { timeMs } from "../model/day.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { CellRows } from "./cell-assignment.ts";
import { PointNumbers } from "./point-numbers.ts";

/**
 * Mergeable state: one entry per point; undefined where no aggregate needs it. Times are whole milliseconds since the
 * epoch.
 */
export interface RowCountsPart {
  counts: Float64Array;
  firstMs: Float64Array | undefined;
  lastMs: Float64Array | undefined;
}

/** Times of rows: nanoseconds since the start of their day. */
export interface DayTimes {
  day: number;
  timeNs: Float64Array;
}

/** Row counts and time bounds of every point. */
export class RowCounts {
  readonly #counts = new PointNumbers(0);
  readonly #first: PointNumbers | undefined;
  readonly #last: PointNumbers | undefined;

  constructor(aggregates: readonly Aggregation[]) {
    const has = (op: Aggregation["op"]) => aggregates.some((each) => each.op === op);
    if (has("first")) this.#first = new PointNumbers(Number.POSITIVE_INFINITY);
    if (has("last")) this.#last = new PointNumbers(Number.NEGATIVE_INFINITY);
  }

  get byteLength(): number {
    const times = (this.#first?.byteLength ?? 0) + (this.#last?.byteLength ?? 0);
    return this.#counts.byteLength + times;
  }

  add(cells: CellRows, timesOf: () => DayTimes, pointCount: number): void {
    const { counts, usedCells, points } = cells;
    this.#reserve(pointCount);
    const { values } = this.#counts;
    for (let i = 0; i < usedCells.length; i++)
      values[points[i]!] = values[points[i]!]! + counts[usedCells[i]!]!;
    if (this.#first !== undefined) updateTimes(this.#first.values, cells, timesOf(), false);
    if (this.#last !== undefined) updateTimes(this.#last.values, cells, timesOf(), true);
  }

  /** Adds to the number of rows of a point. */
  addCount(point: number, rows: number): void {
    this.#reserve(point + 1);
    this.#counts.values[point] = this.#counts.values[point]! + rows;
  }

  /** Adds rows of a point and their first and last times. */
  addRows(point: number, rows: number, firstMs: number, lastMs: number): void {
    this.addCount(point, rows);
    if (this.#first !== undefined) lowerTo(this.#first.values, point, firstMs);
    if (this.#last !== undefined) raiseTo(this.#last.values, point, lastMs);
  }

  merge({ counts, firstMs, lastMs }: RowCountsPart, pointOf: Uint32Array, pointCount: number): void {
    this.#reserve(pointCount);
    const own = this.#counts.values;
    for (let i = 0; i < pointOf.length; i++) {
      const point = pointOf[i]!;
      own[point] = own[point]! + counts[i]!;
      if (firstMs !== undefined) lowerTo(this.#first!.values, point, firstMs[i]!);
      if (lastMs !== undefined) raiseTo(this.#last!.values, point, lastMs[i]!);
    }
  }

  finish(pointCount: number): RowCountsPart {
    return {
      counts: this.#counts.finish(pointCount),
      firstMs: this.#first?.finish(pointCount),
      lastMs: this.#last?.finish(pointCount),
    };
  }

  #reserve(pointCount: number): void {
    this.#counts.reserve(pointCount);
    this.#first?.reserve(pointCount);
    this.#last?.reserve(pointCount);
  }
}

/** Updates the first time of each point, or with `isLast` the last one. */
function updateTimes(ms: Float64Array, cells: CellRows, { day, timeNs }: DayTimes, isLast: boolean): void {
  const { heap, selection, cellOf, counts, usedCells, points } = cells;
  const found = heap.scratch.float64(counts.length);
  if (isLast) {
    found.fill(Number.NEGATIVE_INFINITY);
    heap.kernels.greatestOfGroups(cellOf(), timeNs, selection, found);
  } else {
    found.fill(Number.POSITIVE_INFINITY);
    heap.kernels.leastOfGroups(cellOf(), timeNs, selection, found);
  }
  const updateAt = isLast ? raiseTo : lowerTo;
  for (let i = 0; i < usedCells.length; i++) updateAt(ms, points[i]!, timeMs(day, found[usedCells[i]!]!));
}

export function lowerTo(values: Float64Array, point: number, value: number): void {
  if (value < values[point]!) values[point] = value;
}

export function raiseTo(values: Float64Array, point: number, value: number): void {
  if (value > values[point]!) values[point] = value;
}

/** Rows of points, and their least and greatest times. */

import { timeMs } from "../model/day.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { CellRows } from "./cells.ts";
import { PointNumbers } from "./point-numbers.ts";

/** Of point after point; undefined where no aggregate asks for it. Times are whole milliseconds since the epoch. */
export interface RowCountsPart {
  counts: Float64Array;
  firstMs: Float64Array | undefined;
  lastMs: Float64Array | undefined;
}

/** Times of rows, nanoseconds since the start of their day. */
export interface DayTimes {
  day: number;
  timeNs: Float64Array;
}

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

  add(cells: CellRows, timesOf: () => DayTimes, points: number): void {
    const { counts, used, places } = cells;
    this.#reserve(points);
    const { values } = this.#counts;
    for (let i = 0; i < used.length; i++) values[places[i]!] = values[places[i]!]! + counts[used[i]!]!;
    if (this.#first !== undefined) lower(this.#first.values, cells, timesOf(), false);
    if (this.#last !== undefined) lower(this.#last.values, cells, timesOf(), true);
  }

  /** Rows that are known to be of one point. */
  addCount(place: number, rows: number): void {
    this.#reserve(place + 1);
    this.#counts.values[place] = this.#counts.values[place]! + rows;
  }

  join({ counts, firstMs, lastMs }: RowCountsPart, places: Uint32Array, points: number): void {
    this.#reserve(points);
    const own = this.#counts.values;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      own[place] = own[place]! + counts[i]!;
      if (firstMs !== undefined) lowerAt(this.#first!.values, place, firstMs[i]!);
      if (lastMs !== undefined) raiseAt(this.#last!.values, place, lastMs[i]!);
    }
  }

  finish(points: number): RowCountsPart {
    return {
      counts: this.#counts.finish(points),
      firstMs: this.#first?.finish(points),
      lastMs: this.#last?.finish(points),
    };
  }

  #reserve(points: number): void {
    this.#counts.reserve(points);
    this.#first?.reserve(points);
    this.#last?.reserve(points);
  }
}

/** Lowers each point to the least of its times, or raises it to the greatest. */
function lower(ms: Float64Array, cells: CellRows, { day, timeNs }: DayTimes, raise: boolean): void {
  const { heap, selection, cellOf, counts, used, places } = cells;
  const found = heap.scratch.float64(counts.length);
  if (raise) {
    found.fill(Number.NEGATIVE_INFINITY);
    heap.kernels.greatestOfGroups(cellOf(), timeNs, selection, found);
  } else {
    found.fill(Number.POSITIVE_INFINITY);
    heap.kernels.leastOfGroups(cellOf(), timeNs, selection, found);
  }
  const moveAt = raise ? raiseAt : lowerAt;
  for (let i = 0; i < used.length; i++) moveAt(ms, places[i]!, timeMs(day, found[used[i]!]!));
}

export function lowerAt(values: Float64Array, place: number, value: number): void {
  if (value < values[place]!) values[place] = value;
}

export function raiseAt(values: Float64Array, place: number, value: number): void {
  if (value > values[place]!) values[place] = value;
}

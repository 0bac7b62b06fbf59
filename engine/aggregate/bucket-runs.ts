/** The buckets of a chunk's rows: runs of rows, since rows stand in order of time. */

import { bucketBounds } from "../kernels/bucket-bounds.ts";
import { dayStartNs } from "../model/day.ts";

/** Run i is rows [bounds[i], bounds[i + 1]), all of them in bucket buckets[i]. A run may be empty. */
export interface BucketRuns {
  bounds: Uint32Array;
  buckets: Float64Array;
}

/** Buckets of one width, numbered from the one that holds the start of a query's range. */
export class BucketGrid {
  readonly #widthNs: bigint | undefined;
  readonly #first: bigint;

  /** `widthNs` undefined: all of time is bucket 0. */
  constructor(fromNs: bigint, widthNs: bigint | undefined) {
    this.#widthNs = widthNs;
    this.#first = widthNs === undefined ? 0n : floorQuotient(fromNs, widthNs);
  }

  /** The bucket that holds a time of a day. */
  bucketOf(day: number, timeNs: number): number {
    if (this.#widthNs === undefined) return 0;
    return Number((dayStartNs(day) + BigInt(timeNs)) / this.#widthNs - this.#first);
  }

  /** Runs of the rows [from, to), one or more, by their ascending times. */
  runsOf(day: number, times: Float64Array, from: number, to: number): BucketRuns {
    const first = this.bucketOf(day, times[from]!);
    const last = this.bucketOf(day, times[to - 1]!);
    if (first === last) return { bounds: Uint32Array.of(from, to), buckets: Float64Array.of(first) };
    // The second bucket begins within the day, so its start is exact; that of the first may lie years before.
    const start = Number((this.#first + BigInt(first + 1)) * this.#widthNs! - dayStartNs(day));
    const grid = { first, start, width: Number(this.#widthNs) };
    // Buckets that hold no row would take more than the rows do.
    if (last - first >= to - from) return runsByRow(times, from, to, grid);
    const count = last - first + 1;
    const bounds = new Uint32Array(count + 1);
    bucketBounds(times.subarray(from, to), start, grid.width, bounds.subarray(1, count));
    for (let i = 1; i < count; i++) bounds[i] = bounds[i]! + from;
    bounds[0] = from;
    bounds[count] = to;
    return { bounds, buckets: Float64Array.from({ length: count }, (_, i) => first + i) };
  }
}

interface DayGrid {
  /** Bucket of the first row; the next one begins at `start`, nanoseconds since the start of the day. */
  first: number;
  start: number;
  width: number;
}

/** A look at every time, where rows are fewer than buckets. */
function runsByRow(
  times: Float64Array,
  from: number,
  to: number,
  { first, start, width }: DayGrid,
): BucketRuns {
  const bounds: number[] = [];
  const buckets: number[] = [];
  for (let row = from; row < to; row++) {
    const bucket = first + 1 + Math.floor((times[row]! - start) / width);
    if (bucket === buckets.at(-1)) continue;
    bounds.push(row);
    buckets.push(bucket);
  }
  return { bounds: Uint32Array.from([...bounds, to]), buckets: Float64Array.from(buckets) };
}

/** BigInt's division rounds towards zero; a range may begin before 1970. */
function floorQuotient(a: bigint, b: bigint): bigint {
  return a < 0n ? (a - b + 1n) / b : a / b;
}

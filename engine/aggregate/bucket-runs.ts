/** Assigns a chunk's rows to time buckets. Rows are sorted by time, so the rows of a bucket form a run. */

import { type ChunkRef, extentOf } from "../chunk/chunk-ref.ts";
import { findBucketBounds } from "../kernels/bucket-bounds.ts";
import { dayStartNs } from "../model/day.ts";
import type { BucketSpan } from "./point-table.ts";

/** Run i has the rows [bounds[i], bounds[i + 1]), which are all in bucket buckets[i]. A run may be empty. */
export interface BucketRuns {
  bounds: Uint32Array;
  buckets: Float64Array;
}

/** Buckets of one width; bucket 0 contains the start of a query's range. */
export class BucketGrid {
  readonly #widthNs: bigint | undefined;
  readonly #first: bigint;

  /** `widthNs` undefined: all of time is bucket 0. */
  constructor(fromNs: bigint, widthNs: bigint | undefined) {
    this.#widthNs = widthNs;
    this.#first = widthNs === undefined ? 0n : floorQuotient(fromNs, widthNs);
  }

  /** The bucket of a time, in nanoseconds since the start of the day. */
  bucketOf(day: number, timeNs: number): number {
    return this.bucketAt(dayStartNs(day) + BigInt(timeNs));
  }

  /** The bucket of a time, in nanoseconds since the epoch, which must not lie before it. */
  bucketAt(timeNs: bigint): number {
    return this.#widthNs === undefined ? 0 : Number(timeNs / this.#widthNs - this.#first);
  }

  /** The runs of the rows [from, to), at least one row; `times` ascend. */
  runsOf(day: number, times: Float64Array, from: number, to: number): BucketRuns {
    const first = this.bucketOf(day, times[from]!);
    const last = this.bucketOf(day, times[to - 1]!);
    if (first === last) return { bounds: Uint32Array.of(from, to), buckets: Float64Array.of(first) };
    // The second bucket begins within the day, so its start is exact as a float64. The first may begin years earlier.
    const start = Number((this.#first + BigInt(first + 1)) * this.#widthNs! - dayStartNs(day));
    const grid = { first, start, width: Number(this.#widthNs) };
    // With more buckets than rows, listing the empty buckets would cost more than reading each row's time.
    if (last - first >= to - from) return findRunsByRow(times, from, to, grid);
    const count = last - first + 1;
    const bounds = new Uint32Array(count + 1);
    findBucketBounds(times.subarray(from, to), start, grid.width, bounds.subarray(1, count));
    for (let i = 1; i < count; i++) bounds[i] = bounds[i]! + from;
    bounds[0] = from;
    bounds[count] = to;
    const buckets = new Float64Array(count);
    for (let i = 0; i < count; i++) buckets[i] = first + i;
    return { bounds, buckets };
  }
}

/** The buckets from the first to the last row of some chunks, as far as they lie in the range that ends at `toNs`. */
export function findBucketSpan(chunks: readonly ChunkRef[], grid: BucketGrid, toNs: bigint): BucketSpan {
  const [some] = chunks;
  if (some === undefined) return { first: 0, count: 0 };
  let [begin, end] = [some, some];
  for (const ref of chunks) {
    if ((ref.day - begin.day || extentOf(ref).timeNsMin - extentOf(begin).timeNsMin) < 0) begin = ref;
    if ((ref.day - end.day || extentOf(ref).timeNsMax - extentOf(end).timeNsMax) > 0) end = ref;
  }
  const first = Math.max(grid.bucketOf(begin.day, extentOf(begin).timeNsMin), 0);
  const last = Math.min(grid.bucketOf(end.day, extentOf(end).timeNsMax), grid.bucketAt(toNs - 1n));
  return { first, count: Math.max(last - first + 1, 0) };
}

/** Buckets in the time of one day. */
interface DayGrid {
  /** Bucket of the first row. */
  first: number;
  /** Where bucket `first + 1` begins: nanoseconds since the start of the day. */
  start: number;
  /** Nanoseconds. */
  width: number;
}

/** Finds runs by reading every row's time, where there are fewer rows than buckets. */
function findRunsByRow(times: Float64Array, from: number, to: number, grid: DayGrid): BucketRuns {
  const { first, start, width } = grid;
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

/** Divides and rounds down; BigInt's division rounds towards zero, and a range may begin before 1970. */
export function floorQuotient(a: bigint, b: bigint): bigint {
  return a < 0n ? (a - b + 1n) / b : a / b;
}

/**
 * Folds the samples of each series to a value per bucket. The samples of a series come in order of time, in any number
 * of runs.
 */

import { floorQuotient } from "../aggregate/bucket-runs.ts";
import { increaseAgeNsMax } from "../limits.ts";
import { dayNs, dayStartNs } from "../model/day.ts";
import { startLeadNs } from "../model/sample.ts";
import type { SampleQuery } from "../plan/sample-query.ts";

/**
 * How the samples of a series in a bucket become values.
 *
 * - `average`, `least`, `greatest`: one value for all samples.
 * - `each`: every sample is a value.
 * - `presence`: the value 0 where there is a sample.
 * - `increase`: the increase of a counter.
 * - `delta`: the sum of all samples.
 */
export type FoldKind = "average" | "least" | "greatest" | "each" | "presence" | "increase" | "delta";

/**
 * The fold of a series of some type for an aggregate. A series counts in a bucket in which it has a sample; where its
 * increases were asked for, in which it has an increase.
 */
export function chooseFold(
  type: "gauge" | "counter" | "delta",
  { of, aggregate: { op } }: Pick<SampleQuery, "of" | "aggregate">,
): FoldKind {
  const isCounted = op === "count" || op === "distinct";
  if (isCounted && (of !== "increase" || type !== "counter")) return "presence";
  if (type === "counter") return "increase";
  if (type === "delta") return "delta";
  if (op === "min") return "least";
  if (op === "max") return "greatest";
  return op === "quantile" ? "each" : "average";
}

/** Buckets of one width, in the time of one day. */
export class DayBuckets {
  readonly day: number;
  /** The bucket in which the day begins, and how far into the bucket that is. */
  readonly #firstBucket: number;
  readonly #offsetNs: number;
  readonly #widthNs: number;

  /** `widthNs` undefined: all of time is bucket 0. The bucket of `fromNs` is 0. */
  constructor(day: number, fromNs: bigint, widthNs: bigint | undefined) {
    this.day = day;
    const start = dayStartNs(day);
    this.#firstBucket = widthNs === undefined ? 0 : Number(start / widthNs - floorQuotient(fromNs, widthNs));
    this.#offsetNs = widthNs === undefined ? 0 : Number(start % widthNs);
    this.#widthNs = widthNs === undefined ? Number.POSITIVE_INFINITY : Number(widthNs);
  }

  /** The bucket of a time in nanoseconds since the start of the day. */
  bucketOf(timeNs: number): number {
    return this.#firstBucket + Math.floor((timeNs + this.#offsetNs) / this.#widthNs);
  }

  /** The first time after a bucket, in nanoseconds since the start of the day. */
  endOf(bucket: number): number {
    return (bucket - this.#firstBucket + 1) * this.#widthNs - this.#offsetNs;
  }
}

/** Samples [from, to) of two vectors, in order of time. */
export interface SampleRun {
  /** Nanoseconds since the start of the day. */
  timeNs: Float64Array;
  values: Float64Array;
  from: number;
  to: number;
}

/** Receives a value that a series has in a bucket. */
export type OnValue = (series: number, bucket: number, value: number) => void;

const dayLengthNs = Number(dayNs);
const noBucket = Number.NEGATIVE_INFINITY;

/** Folds the series of one thread; each has one open bucket, to which samples are added. */
export class SeriesFolds {
  readonly #onValue: OnValue;
  readonly #kinds: readonly FoldKind[];
  /** The open bucket of each series. */
  readonly #buckets: Float64Array;
  /** Sum, least or greatest value in the open bucket, and the number of its samples. */
  readonly #accumulators: Float64Array;
  readonly #counts: Float64Array;
  /** The previous sample of each series: nanoseconds since the start of the current day, and its value. */
  readonly #lastTime: Float64Array;
  readonly #lastValue: Float64Array;
  /** Where the previous sample of a counter is a zero: the sample before that zero, and 1 where the zero was counted. */
  readonly #timeBeforeZero: Float64Array;
  readonly #valueBeforeZero: Float64Array;
  readonly #countOfZero: Uint8Array;
  #grid = new DayBuckets(0, 0n, undefined);
  #countedFrom = 0;

  constructor(kinds: readonly FoldKind[], onValue: OnValue) {
    this.#kinds = kinds;
    this.#onValue = onValue;
    this.#buckets = new Float64Array(kinds.length).fill(noBucket);
    this.#accumulators = new Float64Array(kinds.length);
    this.#counts = new Float64Array(kinds.length);
    this.#lastTime = new Float64Array(kinds.length).fill(Number.NEGATIVE_INFINITY);
    this.#lastValue = new Float64Array(kinds.length);
    this.#timeBeforeZero = new Float64Array(kinds.length).fill(Number.NEGATIVE_INFINITY);
    this.#valueBeforeZero = new Float64Array(kinds.length);
    this.#countOfZero = new Uint8Array(kinds.length);
  }

  get byteLength(): number {
    return this.#kinds.length * 57;
  }

  /** Begins with samples of the same or a later day. Samples before `countedFrom` only provide previous values. */
  beginDay(grid: DayBuckets, countedFrom: number): void {
    const passed = (grid.day - this.#grid.day) * dayLengthNs;
    for (let series = 0; series < this.#lastTime.length && passed > 0; series++) {
      this.#lastTime[series] = this.#lastTime[series]! - passed;
      this.#timeBeforeZero[series] = this.#timeBeforeZero[series]! - passed;
    }
    this.#grid = grid;
    this.#countedFrom = countedFrom;
  }

  /** Where the samples that matter to a series begin: before the range for a counter, which needs its previous value. */
  neededFrom(series: number): number {
    return this.#kinds[series] === "increase" ? Number.NEGATIVE_INFINITY : this.#countedFrom;
  }

  /** Adds samples of a series, which follow those added before. */
  add(series: number, run: SampleRun): void {
    switch (this.#kinds[series]!) {
      case "average":
      case "delta":
        this.#addSum(series, run);
        break;
      case "least":
        this.#addLeast(series, run);
        break;
      case "greatest":
        this.#addGreatest(series, run);
        break;
      case "presence":
        this.#addPresence(series, run);
        break;
      case "each":
        this.#emitEach(series, run);
        break;
      case "increase":
        this.#addIncreases(series, run);
        break;
    }
  }

  /** Emits the values of all open buckets. */
  finish(): void {
    for (let series = 0; series < this.#kinds.length; series++) this.#closeBucket(series);
  }

  #addSum(series: number, { timeNs, values, from, to }: SampleRun): void {
    const grid = this.#grid;
    let bucket = this.#buckets[series]!;
    let end = grid.endOf(bucket);
    let sum = this.#accumulators[series]!;
    let count = this.#counts[series]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (!(timeNs[i]! < end)) {
        this.#store(series, bucket, sum, count);
        this.#closeBucket(series);
        bucket = grid.bucketOf(timeNs[i]!);
        end = grid.endOf(bucket);
        sum = 0;
        count = 0;
      }
      sum += value;
      count++;
    }
    this.#store(series, bucket, sum, count);
  }

  #addLeast(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (this.#openBucket(series, timeNs[i]!) || value < this.#accumulators[series]!)
        this.#accumulators[series] = value;
      this.#counts[series] = 1;
    }
  }

  #addGreatest(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (this.#openBucket(series, timeNs[i]!) || value > this.#accumulators[series]!)
        this.#accumulators[series] = value;
      this.#counts[series] = 1;
    }
  }

  #addPresence(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      if (Number.isNaN(values[i]!)) continue;
      if (this.#openBucket(series, timeNs[i]!)) this.#counts[series] = 1;
    }
  }

  #emitEach(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (!Number.isNaN(value)) this.#onValue(series, this.#grid.bucketOf(timeNs[i]!), value);
    }
  }

  /**
   * A zero that stands `startLeadNs` before the next sample was made of a start time, and that sample is the first of a
   * counter that began at some time before: the zero does not count.
   */
  #addIncreases(series: number, { timeNs, values, from, to }: SampleRun): void {
    // The zero was the last of the run before, where nobody knew what follows it.
    if (this.#lastValue[series] === 0 && from < to && timeNs[from]! - this.#lastTime[series]! === startLeadNs)
      this.#takeBackZero(series);
    const grid = this.#grid;
    const countedFrom = this.#countedFrom;
    let bucket = this.#buckets[series]!;
    let end = grid.endOf(bucket);
    let sum = this.#accumulators[series]!;
    let count = this.#counts[series]!;
    let lastTime = this.#lastTime[series]!;
    let lastValue = this.#lastValue[series]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      const time = timeNs[i]!;
      if (value === 0 && i + 1 < to && timeNs[i + 1]! - time === startLeadNs) continue;
      const isIncrease = time - lastTime <= increaseAgeNsMax;
      if (value === 0) {
        this.#timeBeforeZero[series] = lastTime;
        this.#valueBeforeZero[series] = lastValue;
        this.#countOfZero[series] = time >= countedFrom && isIncrease ? 1 : 0;
      }
      if (time >= countedFrom) {
        if (!(time < end)) {
          this.#store(series, bucket, sum, count);
          this.#closeBucket(series);
          bucket = grid.bucketOf(time);
          end = grid.endOf(bucket);
          sum = 0;
          count = 0;
        }
        if (isIncrease) {
          // A counter that decreased was reset and began at 0.
          sum += value < lastValue ? value : value - lastValue;
          count++;
        }
      }
      lastTime = time;
      lastValue = value;
    }
    this.#store(series, bucket, sum, count);
    this.#lastTime[series] = lastTime;
    this.#lastValue[series] = lastValue;
  }

  /** Leaves the zero out that was the previous sample of a counter. It added nothing to the open bucket but its count. */
  #takeBackZero(series: number): void {
    this.#lastTime[series] = this.#timeBeforeZero[series]!;
    this.#lastValue[series] = this.#valueBeforeZero[series]!;
    this.#counts[series]! -= this.#countOfZero[series]!;
  }

  /** Opens the bucket of a time unless it is open already; returns whether it had to. */
  #openBucket(series: number, timeNs: number): boolean {
    const bucket = this.#buckets[series]!;
    if (timeNs < this.#grid.endOf(bucket)) return false;
    this.#closeBucket(series);
    this.#buckets[series] = this.#grid.bucketOf(timeNs);
    return true;
  }

  #store(series: number, bucket: number, accumulator: number, count: number): void {
    this.#buckets[series] = bucket;
    this.#accumulators[series] = accumulator;
    this.#counts[series] = count;
  }

  /** Emits the value of the open bucket, if it has samples. */
  #closeBucket(series: number): void {
    const count = this.#counts[series]!;
    if (count === 0) return;
    const accumulator = this.#accumulators[series]!;
    const value = this.#kinds[series] === "average" ? accumulator / count : accumulator;
    this.#onValue(series, this.#buckets[series]!, value);
    this.#counts[series] = 0;
  }
}

/** What one series gives in each bucket: loops over its samples, which come in order of time, in as many pieces as there are. */
import { dayNs, dayStartNs } from "../model/day.ts";
import { increaseAgeNsMax, type SampleAggregate } from "../plan/sample-query.ts";

/** `average`, `least`, `greatest`: one value for all samples of a bucket; `each`: every sample; `presence`: whether there is one. */
export type FoldKind = "average" | "least" | "greatest" | "each" | "presence" | "increase" | "delta";

/** How a series of a kind is read for an aggregate. */
export function chooseFold(type: "gauge" | "counter" | "delta", { op }: SampleAggregate): FoldKind {
  if (op === "distinct") return "presence";
  if (type === "counter") return "increase";
  if (type === "delta") return "delta";
  if (op === "count") return "presence";
  if (op === "min") return "least";
  if (op === "max") return "greatest";
  return op === "quantile" ? "each" : "average";
}

/** Buckets of one width over a day's times. */
export class DayBuckets {
  readonly day: number;
  /** The bucket in which the day begins, and how far into it. */
  readonly #first: number;
  readonly #offsetNs: number;
  readonly #widthNs: number;

  /** `widthNs` undefined: all of time is bucket 0. The bucket of `fromNs` is 0. */
  constructor(day: number, fromNs: bigint, widthNs: bigint | undefined) {
    this.day = day;
    const start = dayStartNs(day);
    this.#first = widthNs === undefined ? 0 : Number(start / widthNs - floorQuotient(fromNs, widthNs));
    this.#offsetNs = widthNs === undefined ? 0 : Number(start % widthNs);
    this.#widthNs = widthNs === undefined ? Number.POSITIVE_INFINITY : Number(widthNs);
  }

  bucketOf(timeNs: number): number {
    return this.#first + Math.floor((timeNs + this.#offsetNs) / this.#widthNs);
  }

  /** The first time behind a bucket. */
  endOf(bucket: number): number {
    return (bucket - this.#first + 1) * this.#widthNs - this.#offsetNs;
  }
}

/** BigInt's division rounds towards zero; a range may begin before 1970. */
function floorQuotient(a: bigint, b: bigint): bigint {
  return a < 0n ? (a - b + 1n) / b : a / b;
}

/** Samples [from, to) of contiguous vectors, in order of time. */
export interface SampleRun {
  /** Nanoseconds since the start of the day. */
  timeNs: Float64Array;
  values: Float64Array;
  from: number;
  to: number;
}

/** Takes a value that a series has in a bucket. */
export type OnValue = (series: number, bucket: number, value: number) => void;

const dayLengthNs = Number(dayNs);
const noBucket = Number.NEGATIVE_INFINITY;

/** The series of one thread and what their open buckets hold. */
export class SeriesFolds {
  readonly #onValue: OnValue;
  readonly #kinds: readonly FoldKind[];
  /** The bucket that is open, what it holds and of how many samples. */
  readonly #buckets: Float64Array;
  readonly #held: Float64Array;
  readonly #counts: Float64Array;
  /** The sample before: nanoseconds since the start of the day that is read now, and its value. */
  readonly #lastTime: Float64Array;
  readonly #lastValue: Float64Array;
  #grid = new DayBuckets(0, 0n, undefined);
  #least = 0;

  constructor(kinds: readonly FoldKind[], onValue: OnValue) {
    this.#kinds = kinds;
    this.#onValue = onValue;
    this.#buckets = new Float64Array(kinds.length).fill(noBucket);
    this.#held = new Float64Array(kinds.length);
    this.#counts = new Float64Array(kinds.length);
    this.#lastTime = new Float64Array(kinds.length).fill(Number.NEGATIVE_INFINITY);
    this.#lastValue = new Float64Array(kinds.length);
  }

  get byteLength(): number {
    return this.#kinds.length * 40;
  }

  /** Goes on to samples of the same or a later day; those before `least` count for no bucket. */
  begin(grid: DayBuckets, least: number): void {
    const passed = (grid.day - this.#grid.day) * dayLengthNs;
    for (let series = 0; series < this.#lastTime.length && passed > 0; series++) {
      this.#lastTime[series] = this.#lastTime[series]! - passed;
    }
    this.#grid = grid;
    this.#least = least;
  }

  /** Whether samples before the range tell something of a series: what a counter was. */
  looksBack(series: number): boolean {
    return this.#kinds[series] === "increase";
  }

  /** Samples of a series behind those that were added before. */
  add(series: number, run: SampleRun): void {
    switch (this.#kinds[series]!) {
      case "average":
      case "delta":
        this.#addUp(series, run);
        break;
      case "least":
        this.#leastOf(series, run);
        break;
      case "greatest":
        this.#greatestOf(series, run);
        break;
      case "presence":
        this.#presence(series, run);
        break;
      case "each":
        this.#each(series, run);
        break;
      case "increase":
        this.#increases(series, run);
        break;
    }
  }

  /** Hands over the buckets that are open. */
  finish(): void {
    for (let series = 0; series < this.#kinds.length; series++) this.#close(series);
  }

  #addUp(series: number, { timeNs, values, from, to }: SampleRun): void {
    const grid = this.#grid;
    let bucket = this.#buckets[series]!;
    let end = grid.endOf(bucket);
    let sum = this.#held[series]!;
    let count = this.#counts[series]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (!(timeNs[i]! < end)) {
        this.#hold(series, bucket, sum, count);
        this.#close(series);
        bucket = grid.bucketOf(timeNs[i]!);
        end = grid.endOf(bucket);
        sum = 0;
        count = 0;
      }
      sum += value;
      count++;
    }
    this.#hold(series, bucket, sum, count);
  }

  #leastOf(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (this.#opens(series, timeNs[i]!) || value < this.#held[series]!) this.#held[series] = value;
      this.#counts[series] = 1;
    }
  }

  #greatestOf(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      if (this.#opens(series, timeNs[i]!) || value > this.#held[series]!) this.#held[series] = value;
      this.#counts[series] = 1;
    }
  }

  #presence(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      if (Number.isNaN(values[i]!)) continue;
      if (this.#opens(series, timeNs[i]!)) this.#counts[series] = 1;
    }
  }

  #each(series: number, { timeNs, values, from, to }: SampleRun): void {
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (!Number.isNaN(value)) this.#onValue(series, this.#grid.bucketOf(timeNs[i]!), value);
    }
  }

  #increases(series: number, { timeNs, values, from, to }: SampleRun): void {
    const grid = this.#grid;
    const least = this.#least;
    let bucket = this.#buckets[series]!;
    let end = grid.endOf(bucket);
    let sum = this.#held[series]!;
    let count = this.#counts[series]!;
    let lastTime = this.#lastTime[series]!;
    let lastValue = this.#lastValue[series]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      const time = timeNs[i]!;
      if (time >= least) {
        if (!(time < end)) {
          this.#hold(series, bucket, sum, count);
          this.#close(series);
          bucket = grid.bucketOf(time);
          end = grid.endOf(bucket);
          sum = 0;
          count = 0;
        }
        if (time - lastTime <= increaseAgeNsMax) {
          // A counter that is less than it was began anew.
          sum += value < lastValue ? value : value - lastValue;
          count++;
        }
      }
      lastTime = time;
      lastValue = value;
    }
    this.#hold(series, bucket, sum, count);
    this.#lastTime[series] = lastTime;
    this.#lastValue[series] = lastValue;
  }

  /** Opens the bucket of a time unless it is open; says whether it had to. */
  #opens(series: number, timeNs: number): boolean {
    const bucket = this.#buckets[series]!;
    if (timeNs < this.#grid.endOf(bucket)) return false;
    this.#close(series);
    this.#buckets[series] = this.#grid.bucketOf(timeNs);
    return true;
  }

  #hold(series: number, bucket: number, held: number, count: number): void {
    this.#buckets[series] = bucket;
    this.#held[series] = held;
    this.#counts[series] = count;
  }

  #close(series: number): void {
    const count = this.#counts[series]!;
    if (count === 0) return;
    const held = this.#held[series]!;
    const value = this.#kinds[series] === "average" ? held / count : held;
    this.#onValue(series, this.#buckets[series]!, value);
    this.#counts[series] = 0;
  }
}

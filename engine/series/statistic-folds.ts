/**
 * Computes statistics of the samples that each series has in a bucket. The samples of a series come in order of time, in
 * any number of runs.
 */
import { dayStartNs } from "../model/day.ts";
import type { SampleStatistic } from "../plan/sample-query.ts";
import { DayBuckets, type SampleRun } from "./folds.ts";

/** Receives the statistics that a series has in a bucket, in a vector that is used again. */
export type OnStatistics = (series: number, bucket: number, values: Float64Array) => void;

/** The place of each statistic in the state of a series. */
const places = {
  ...{ count: 0, sum: 1, min: 2, max: 3, mean: 4, squares: 5, changes: 6 },
  ...{ first: 7, firstTime: 8, last: 9, lastTime: 10, meanTime: 11, timeSquares: 12, products: 13 },
} as const satisfies Record<SampleStatistic, number>;
const width = 14;

/** Folds the series of one thread; each has one open bucket, to which samples are added. */
export class StatisticFolds {
  readonly #onStatistics: OnStatistics;
  readonly #wanted: readonly number[];
  readonly #values: Float64Array;
  readonly #fromNs: bigint;
  /** The open bucket of each series, and the statistics of its samples. A count of 0: no bucket is open. */
  readonly #buckets: Float64Array;
  readonly #states: Float64Array;
  #grid = new DayBuckets(0, 0n, undefined);
  /** Start of the day in milliseconds since `fromNs`. */
  #dayMs = 0;
  #countedFrom = 0;

  /** `fromNs`: the time from which times are counted. */
  constructor(
    series: number,
    wanted: readonly SampleStatistic[],
    fromNs: bigint,
    onStatistics: OnStatistics,
  ) {
    this.#onStatistics = onStatistics;
    this.#wanted = wanted.map((statistic) => places[statistic]);
    this.#values = new Float64Array(wanted.length);
    this.#fromNs = fromNs;
    this.#buckets = new Float64Array(series);
    this.#states = new Float64Array(series * width);
  }

  get byteLength(): number {
    return this.#buckets.length * (width + 1) * 8;
  }

  /** Begins with samples of the same or a later day, of which those before `countedFrom` do not count. */
  beginDay(grid: DayBuckets, countedFrom: number): void {
    this.#grid = grid;
    this.#dayMs = Number(dayStartNs(grid.day) - this.#fromNs) / 1e6;
    this.#countedFrom = countedFrom;
  }

  /** Where the samples that matter to a series begin. */
  neededFrom(): number {
    return this.#countedFrom;
  }

  /** Adds samples of a series, which follow those added before. A sample that is NaN is none. */
  add(series: number, { timeNs, values, from, to }: SampleRun): void {
    const grid = this.#grid;
    const states = this.#states;
    const at = series * width;
    let end = states[at]! === 0 ? Number.NEGATIVE_INFINITY : grid.endOf(this.#buckets[series]!);
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (Number.isNaN(value)) continue;
      const time = this.#dayMs + timeNs[i]! / 1e6;
      if (!(timeNs[i]! < end)) {
        this.#closeBucket(series);
        this.#buckets[series] = grid.bucketOf(timeNs[i]!);
        end = grid.endOf(this.#buckets[series]!);
        this.#openState(at, time, value);
      }
      addSample(states, at, time, value);
    }
  }

  /** Emits the statistics of all open buckets. */
  finish(): void {
    for (let series = 0; series < this.#buckets.length; series++) this.#closeBucket(series);
  }

  #openState(at: number, time: number, value: number): void {
    const states = this.#states;
    states[at + places.min] = value;
    states[at + places.max] = value;
    states[at + places.first] = value;
    states[at + places.firstTime] = time;
    states[at + places.last] = value;
  }

  #closeBucket(series: number): void {
    const at = series * width;
    if (this.#states[at] === 0) return;
    for (const [i, place] of this.#wanted.entries()) this.#values[i] = this.#states[at + place]!;
    this.#onStatistics(series, this.#buckets[series]!, this.#values);
    this.#states.fill(0, at, at + width);
  }
}

/** Adds one sample to a state: means and sums of squares by Welford's formulas (1962), and likewise of products. */
function addSample(states: Float64Array, at: number, time: number, value: number): void {
  const count = states[at + places.count]! + 1;
  states[at + places.count] = count;
  states[at + places.sum]! += value;
  if (value < states[at + places.min]!) states[at + places.min] = value;
  if (value > states[at + places.max]!) states[at + places.max] = value;
  if (value !== states[at + places.last]!) states[at + places.changes]! += 1;
  states[at + places.last] = value;
  states[at + places.lastTime] = time;
  const distance = value - states[at + places.mean]!;
  states[at + places.mean]! += distance / count;
  states[at + places.squares]! += distance * (value - states[at + places.mean]!);
  const timeDistance = time - states[at + places.meanTime]!;
  states[at + places.meanTime]! += timeDistance / count;
  states[at + places.timeSquares]! += timeDistance * (time - states[at + places.meanTime]!);
  states[at + places.products]! += timeDistance * (value - states[at + places.mean]!);
}

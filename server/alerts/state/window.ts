/** The window that all alerts over one query share: the newest buckets of the query's result. */

import { Failure } from "../../../engine/index.ts";
import { instanceIdleMsMax, instancesMax } from "../limits.ts";
import { instanceKey } from "./alert-state.ts";
import type { QueryReading } from "./read-series.ts";

/** Plain data, stored as it is, once for all alerts. */
export interface Window {
  version: typeof windowVersion;
  /** End of the newest bucket that was observed or skipped. */
  throughMs: number;
  /** Buckets that the window was last read for; it may hold fewer. If a rule needs more, older ones are read again. */
  filledBuckets: number;
  /** Starts of the newest buckets that were observed, ascending. */
  buckets: number[];
  /** By `instanceKey` of their labels. */
  series: Record<string, WindowSeries>;
}

export const windowVersion = 2;

export interface WindowSeries {
  labels: Record<string, string>;
  /** One for each of `buckets`, as it was when the bucket was observed; null where the bucket had no point. */
  values: (number | null)[];
  /** End of the newest bucket with a value; without one, end of the bucket in which the series was added. */
  lastDataMs: number;
}

interface ReadValues {
  labels: Record<string, string>;
  /** By the start of the bucket. */
  values: ReadonlyMap<number, number>;
}

/** An alert removes an instance that has had no data for this long. */
export function idleMsOf(windowBuckets: number, bucketMs: number): number {
  return Math.max(instanceIdleMsMax, windowBuckets * bucketMs);
}

/** A window while it moves over a reading, bucket by bucket. */
export class SlidingWindow {
  readonly buckets: number[] = [];
  readonly series = new Map<string, WindowSeries>();
  readonly unlabelled: boolean;
  readonly #size: number;
  readonly #bucketMs: number;
  readonly #reading: QueryReading;
  readonly #read: ReadonlyMap<string, ReadValues>;
  readonly #filledBuckets: number;

  /** `size`: buckets that it keeps. Throws Failure "limit" if the query gives too many series. */
  constructor(before: Window | undefined, reading: QueryReading, size: number, bucketMs: number) {
    this.#size = size;
    this.#bucketMs = bucketMs;
    this.#reading = reading;
    this.unlabelled = reading.unlabelled;
    this.#read = new Map(
      reading.series.map(({ labels, points }) => [instanceKey(labels), { labels, values: new Map(points) }]),
    );
    const refills = before === undefined || reading.fromMs < before.throughMs;
    this.#filledBuckets = refills ? size : Math.min(size, before.filledBuckets);
    if (before !== undefined) this.#copy(before);
    if (before !== undefined && refills) this.#fillBefore(before.throughMs);
    if (reading.unlabelled) this.#getOrAddSeries("[]", {}, reading.fromMs);
    this.#limitSeries();
  }

  /** Appends one bucket of the reading, and drops the oldest where there are more than `size`. */
  observe(bucketMs: number): void {
    for (const [key, { labels, values }] of this.#read) {
      if (!values.has(bucketMs)) continue;
      const series = this.#getOrAddSeries(key, labels, bucketMs);
      series.lastDataMs = Math.max(series.lastDataMs, bucketMs + this.#bucketMs);
    }
    this.buckets.push(bucketMs);
    const excess = Math.max(0, this.buckets.length - this.#size);
    this.buckets.splice(0, excess);
    for (const [key, { values }] of this.series) {
      values.push(this.#read.get(key)?.values.get(bucketMs) ?? null);
      values.splice(0, excess);
    }
  }

  /** Removes series without data for so long that no alert has an instance of them any more. */
  forgetIdle(nowMs: number): void {
    if (this.unlabelled) return;
    const idleMs = idleMsOf(this.#size, this.#bucketMs);
    for (const [key, { lastDataMs }] of this.series) {
      if (nowMs - lastDataMs >= idleMs) this.series.delete(key);
    }
  }

  /** Adds the series of an instance that an alert has, whether or not it has data. */
  ensureSeries(key: string, labels: Record<string, string>): void {
    if (!this.series.has(key)) this.#getOrAddSeries(key, labels, this.#reading.fromMs);
  }

  toWindow(): Window {
    return {
      version: windowVersion,
      throughMs: this.#reading.toMs,
      filledBuckets: this.#filledBuckets,
      buckets: this.buckets,
      series: Object.fromEntries(this.series),
    };
  }

  #copy({ buckets, series }: Window): void {
    this.buckets.push(...buckets);
    for (const [key, { labels, values, lastDataMs }] of Object.entries(series)) {
      this.series.set(key, { labels, values: [...values], lastDataMs });
    }
  }

  /** Inserts buckets of the reading that end by `throughMs`. Buckets in the window already keep their values. */
  #fillBefore(throughMs: number): void {
    const { fromMs, isLost } = this.#reading;
    for (const [key, { labels, values }] of this.#read) {
      const newestMs = Math.max(...[...values.keys()].filter((ms) => ms < throughMs));
      if (newestMs >= fromMs) this.#getOrAddSeries(key, labels, newestMs);
    }
    for (let bucketMs = fromMs; bucketMs < throughMs; bucketMs += this.#bucketMs) {
      if (isLost(bucketMs) || this.buckets.includes(bucketMs)) continue;
      const index = this.buckets.filter((ms) => ms < bucketMs).length;
      this.buckets.splice(index, 0, bucketMs);
      for (const [key, { values }] of this.series) {
        values.splice(index, 0, this.#read.get(key)?.values.get(bucketMs) ?? null);
      }
    }
    const excess = Math.max(0, this.buckets.length - this.#size);
    this.buckets.splice(0, excess);
    for (const { values } of this.series.values()) values.splice(0, excess);
  }

  #getOrAddSeries(key: string, labels: Record<string, string>, bucketMs: number): WindowSeries {
    let series = this.series.get(key);
    if (series === undefined) {
      series = { labels, values: this.buckets.map(() => null), lastDataMs: bucketMs + this.#bucketMs };
      this.series.set(key, series);
    }
    return series;
  }

  #limitSeries(): void {
    let count = this.series.size;
    for (const key of this.#read.keys()) if (!this.series.has(key)) count++;
    if (count > instancesMax) {
      const problem = `the query gives ${count} series, and an alert has ${instancesMax} instances at most`;
      throw new Failure("limit", problem);
    }
  }
}

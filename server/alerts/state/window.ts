/** What all alerts over one query look at: the newest buckets of its answer. */

import { instanceIdleMsMax, instancesMax } from "../limits.ts";
import { instanceKey } from "./alert-state.ts";
import type { QueryReading } from "./reading.ts";

/** Plain data: it is stored as it is, once for all alerts. */
export interface Window {
  version: typeof windowVersion;
  /** End of the newest bucket that was observed or passed over. */
  throughMs: number;
  /** How many buckets it was read or cut to last: a rule that looks further back has it filled anew. */
  filledBuckets: number;
  /** Starts of the newest buckets that were observed, ascending. */
  buckets: number[];
  /** By the key of their labels. */
  series: Record<string, WindowSeries>;
}

export const windowVersion = 2;

export interface WindowSeries {
  labels: Record<string, string>;
  /** Values of `buckets`, as they were when they were observed; null where there was none. */
  values: (number | null)[];
  /** End of the newest bucket that had a value, or of the one in which the series came. */
  lastDataMs: number;
}

interface ReadValues {
  labels: Record<string, string>;
  values: ReadonlyMap<number, number>;
}

/** An alert forgets a series that had no data for so long. */
export function idleMsOf(windowBuckets: number, bucketMs: number): number {
  return Math.max(instanceIdleMsMax, windowBuckets * bucketMs);
}

/** A window on its way from one position to the next. */
export class SlidingWindow {
  readonly buckets: number[] = [];
  readonly series = new Map<string, WindowSeries>();
  readonly unlabelled: boolean;
  readonly #size: number;
  readonly #bucketMs: number;
  readonly #reading: QueryReading;
  readonly #read: ReadonlyMap<string, ReadValues>;
  readonly #filledBuckets: number;

  /** Throws an Error, one sentence for people, where the query gives too many series. */
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
    if (before !== undefined) this.#take(before);
    if (before !== undefined && refills) this.#fillBefore(before.throughMs);
    if (reading.unlabelled) this.#seriesOf("[]", {}, reading.fromMs);
    this.#limitSeries();
  }

  /** Takes one bucket in. */
  observe(bucketMs: number): void {
    for (const [key, { labels, values }] of this.#read) {
      if (!values.has(bucketMs)) continue;
      const series = this.#seriesOf(key, labels, bucketMs);
      series.lastDataMs = Math.max(series.lastDataMs, bucketMs + this.#bucketMs);
    }
    this.buckets.push(bucketMs);
    const more = Math.max(0, this.buckets.length - this.#size);
    this.buckets.splice(0, more);
    for (const [key, { values }] of this.series) {
      values.push(this.#read.get(key)?.values.get(bucketMs) ?? null);
      values.splice(0, more);
    }
  }

  /** Series that no alert remembers any more. */
  forgetIdle(nowMs: number): void {
    if (this.unlabelled) return;
    const idleMs = idleMsOf(this.#size, this.#bucketMs);
    for (const [key, { lastDataMs }] of this.series) {
      if (nowMs - lastDataMs >= idleMs) this.series.delete(key);
    }
  }

  /** An alert remembers a series: it is there, with or without data. */
  keep(key: string, labels: Record<string, string>): void {
    if (!this.series.has(key)) this.#seriesOf(key, labels, this.#reading.fromMs);
  }

  end(): Window {
    return {
      version: windowVersion,
      throughMs: this.#reading.toMs,
      filledBuckets: this.#filledBuckets,
      buckets: this.buckets,
      series: Object.fromEntries(this.series),
    };
  }

  #take({ buckets, series }: Window): void {
    this.buckets.push(...buckets);
    for (const [key, { labels, values, lastDataMs }] of Object.entries(series)) {
      this.series.set(key, { labels, values: [...values], lastDataMs });
    }
  }

  /** Older buckets come in; those that were observed keep what they had then. */
  #fillBefore(throughMs: number): void {
    const { fromMs, isLost } = this.#reading;
    for (const [key, { labels, values }] of this.#read) {
      const newestMs = Math.max(...[...values.keys()].filter((ms) => ms < throughMs));
      if (newestMs >= fromMs) this.#seriesOf(key, labels, newestMs);
    }
    for (let bucketMs = fromMs; bucketMs < throughMs; bucketMs += this.#bucketMs) {
      if (isLost(bucketMs) || this.buckets.includes(bucketMs)) continue;
      const place = this.buckets.filter((ms) => ms < bucketMs).length;
      this.buckets.splice(place, 0, bucketMs);
      for (const [key, { values }] of this.series) {
        values.splice(place, 0, this.#read.get(key)?.values.get(bucketMs) ?? null);
      }
    }
    const more = Math.max(0, this.buckets.length - this.#size);
    this.buckets.splice(0, more);
    for (const { values } of this.series.values()) values.splice(0, more);
  }

  #seriesOf(key: string, labels: Record<string, string>, bucketMs: number): WindowSeries {
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
      throw new Error(`the query gives ${count} series, and an alert has ${instancesMax} instances at most`);
    }
  }
}

/** The window that all alerts over one query share: the newest buckets of the query's result. */

import { Failure } from "../../../engine/index.ts";
import { awaitingPointsMax, instanceIdleMsMax, instancesMax } from "../limits.ts";
import { instanceKey } from "./alert-state.ts";
import type { IncompleteBucket } from "./missing-rows.ts";
import type { QueryReading } from "./read-series.ts";
import type { MissingEffects } from "./verdict.ts";

/** Plain data, stored as it is, once for all alerts. */
export interface Window {
  version: typeof windowVersion;
  /** End of the newest bucket that was observed or skipped. */
  throughMs: number;
  /** Buckets that the window was last read for; it may hold fewer. If a rule needs more, older ones are read again. */
  filledBuckets: number;
  /** Starts of the newest buckets that were observed, ascending: as many as rules look at, and all that await rows. */
  buckets: number[];
  /** By `instanceKey` of their labels. */
  series: Record<string, WindowSeries>;
  /** Those of `buckets` that may lack rows. Absent where there are none. */
  incomplete?: IncompleteBucket[];
}

export const windowVersion = 2;

export interface WindowSeries {
  labels: Record<string, string>;
  /** One for each of `buckets`, as it was when the bucket was read last; null where the bucket had no point. */
  values: (number | null)[];
  /** End of the newest bucket with a value; without one, end of the bucket in which the series was added. */
  lastDataMs: number;
}

interface ReadValues {
  labels: Record<string, string>;
  /** By the start of the bucket. */
  values: ReadonlyMap<number, number>;
}

/** What a reading changes in the buckets of a window. */
interface Revision {
  revisedFromMs: number | undefined;
  revisedBuckets: number;
  keptBuckets: number;
  isReread: boolean;
}

const noRevision: Revision = { revisedFromMs: undefined, revisedBuckets: 0, keptBuckets: 0, isReread: false };

/** An alert removes an instance that has had no data for this long. */
export function idleMsOf(windowBuckets: number, bucketMs: number): number {
  return Math.max(instanceIdleMsMax, windowBuckets * bucketMs);
}

/**
 * A window while it moves over a reading, bucket by bucket. Until it is done, it also holds older buckets that were read:
 * whoever judges a bucket again looks at the buckets before it.
 */
export class SlidingWindow {
  readonly buckets: number[] = [];
  readonly series = new Map<string, WindowSeries>();
  readonly unlabelled: boolean;
  /** Start of the first bucket that reads otherwise than when it was judged. Undefined where there is none. */
  readonly revisedFromMs: number | undefined;
  /** Buckets that read otherwise, and take the new values. */
  readonly revisedBuckets: number;
  /** Buckets that read otherwise, and keep the values by which they were judged. */
  readonly keptBuckets: number;
  /** Values or completeness of buckets that were in the window have changed. */
  readonly isReread: boolean;
  readonly #size: number;
  readonly #bucketMs: number;
  readonly #reading: QueryReading;
  readonly #read: ReadonlyMap<string, ReadValues>;
  readonly #filledBuckets: number;
  /** By the start of the bucket. */
  readonly #incomplete = new Map<number, IncompleteBucket>();
  /** One for each of `buckets`. Undefined where no bucket is incomplete. */
  #effects: MissingEffects | undefined;

  /** `size`: buckets that rules look at. Throws Failure "limit" if the query gives too many series. */
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
    const changed = before === undefined ? noRevision : this.#takeUp(before);
    this.revisedFromMs = changed.revisedFromMs;
    this.revisedBuckets = changed.revisedBuckets;
    this.keptBuckets = changed.keptBuckets;
    this.isReread = changed.isReread;
    if (reading.unlabelled) this.#getOrAddSeries("[]", {}, reading.fromMs);
    this.#limitSeries();
  }

  /** What missing rows could do, one for each of `buckets`; undefined where no bucket lacks rows. */
  get effects(): MissingEffects | undefined {
    if (this.#incomplete.size === 0) return undefined;
    this.#effects ??= this.buckets.map((bucketMs) => this.#incomplete.get(bucketMs)?.effect);
    return this.#effects;
  }

  /** Start of the oldest bucket that may be judged again. */
  get oldestMs(): number | undefined {
    return this.buckets[this.#firstKept()];
  }

  isIncomplete(bucketMs: number): boolean {
    return this.#incomplete.has(bucketMs);
  }

  /** Appends one bucket of the reading. */
  observe(bucketMs: number): void {
    for (const [key, { labels, values }] of this.#read) {
      if (!values.has(bucketMs)) continue;
      const series = this.#getOrAddSeries(key, labels, bucketMs);
      series.lastDataMs = Math.max(series.lastDataMs, bucketMs + this.#bucketMs);
    }
    this.buckets.push(bucketMs);
    for (const [key, { values }] of this.series) {
      values.push(this.#read.get(key)?.values.get(bucketMs) ?? null);
    }
    this.#noteIncomplete(bucketMs);
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
    const excess = this.#firstKept();
    const buckets = this.buckets.slice(excess);
    const series = [...this.series].map(([key, { labels, values, lastDataMs }]): [string, WindowSeries] => [
      key,
      { labels, values: values.slice(excess), lastDataMs },
    ]);
    const incomplete = buckets.flatMap((bucketMs) => this.#incomplete.get(bucketMs) ?? []);
    return {
      version: windowVersion,
      throughMs: this.#reading.toMs,
      filledBuckets: this.#filledBuckets,
      buckets,
      series: Object.fromEntries(series),
      ...(incomplete.length === 0 ? {} : { incomplete }),
    };
  }

  /** Index of the first bucket that is kept: rules look at it or at a newer one, or it awaits rows. */
  #firstKept(): number {
    const first = Math.max(0, this.buckets.length - this.#size);
    if (this.#incomplete.size === 0) return first;
    const awaiting = this.buckets.findIndex((ms) => (this.#incomplete.get(ms)?.untilMs ?? null) !== null);
    const most = Math.floor(awaitingPointsMax / Math.max(1, this.series.size));
    return awaiting < 0 ? first : Math.min(first, Math.max(awaiting, this.buckets.length - most));
  }

  /** Takes the buckets of the window as it was, and what the reading says of them and of older ones. */
  #takeUp({ buckets, series, throughMs, incomplete = [] }: Window): Revision {
    this.buckets.push(...buckets);
    for (const [key, { labels, values, lastDataMs }] of Object.entries(series)) {
      this.series.set(key, { labels, values: [...values], lastDataMs });
    }
    const awaited = new Map(incomplete.map((each) => [each.bucketMs, each]));
    for (const bucketMs of buckets) this.#noteIncomplete(bucketMs);
    const { readFromMs, comparedFromMs, revisedAfterMs } = this.#reading;
    if (readFromMs < throughMs) this.#insertOlder(throughMs);
    if (comparedFromMs >= throughMs) return noRevision;
    const revision = { ...noRevision };
    for (const bucketMs of buckets) {
      if (bucketMs < comparedFromMs) continue;
      const was = awaited.get(bucketMs);
      const isAwaiting = (was?.untilMs ?? null) !== null;
      const isDecided = isAwaiting && was!.untilMs !== this.#incomplete.get(bucketMs)?.untilMs;
      const isRevised = isAwaiting || bucketMs + this.#bucketMs > revisedAfterMs;
      const isChanged = this.#revise(bucketMs, isRevised);
      revision.isReread ||= isDecided || (isChanged && isRevised);
      if (isChanged) revision[isRevised ? "revisedBuckets" : "keptBuckets"]++;
      if (isDecided || (isChanged && isRevised)) revision.revisedFromMs ??= bucketMs;
    }
    return revision;
  }

  /** Returns whether a bucket of the window reads otherwise now, and takes the new values where `isRevised`. */
  #revise(bucketMs: number, isRevised: boolean): boolean {
    const index = this.buckets.indexOf(bucketMs);
    let isChanged = false;
    for (const key of new Set([...this.series.keys(), ...this.#read.keys()])) {
      const { labels, values } = this.#read.get(key) ?? {};
      const value = values?.get(bucketMs) ?? null;
      if (value === (this.series.get(key)?.values[index] ?? null)) continue;
      isChanged = true;
      if (!isRevised) return true;
      const series = this.series.get(key) ?? this.#getOrAddSeries(key, labels!, bucketMs);
      series.values[index] = value;
      if (value !== null) series.lastDataMs = Math.max(series.lastDataMs, bucketMs + this.#bucketMs);
    }
    return isChanged;
  }

  /** Inserts buckets of the reading that end by `throughMs` and are not in the window. */
  #insertOlder(throughMs: number): void {
    const { readFromMs } = this.#reading;
    const known = new Set(this.buckets);
    for (const [key, { labels, values }] of this.#read) {
      const newestMs = Math.max(...[...values.keys()].filter((ms) => ms < throughMs && !known.has(ms)));
      if (newestMs >= readFromMs) this.#getOrAddSeries(key, labels, newestMs);
    }
    for (let bucketMs = readFromMs; bucketMs < throughMs; bucketMs += this.#bucketMs) {
      if (known.has(bucketMs)) continue;
      const index = this.buckets.filter((ms) => ms < bucketMs).length;
      this.buckets.splice(index, 0, bucketMs);
      for (const [key, { values }] of this.series) {
        values.splice(index, 0, this.#read.get(key)?.values.get(bucketMs) ?? null);
      }
      this.#noteIncomplete(bucketMs);
    }
  }

  #noteIncomplete(bucketMs: number): void {
    const incomplete = this.#reading.incomplete(bucketMs);
    if (incomplete !== undefined) this.#incomplete.set(bucketMs, incomplete);
    this.#effects = undefined;
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

import { bucketStartMsOf, countBuckets, type TimeBuckets } from "./buckets.ts";
import type { TimeRange } from "./range.ts";

/** How long the windows of buckets are, and how much earlier than their bucket they end. */
interface WindowTimes {
  windowSeconds?: number;
  offsetSeconds?: number;
}

/** Half-open: `toMs` is not in it. */
export interface TimeWindow {
  fromMs: number;
  toMs: number;
}

/** Up to this many buckets, the steps of each window are kept in a table: 1 MiB. */
const tableBucketsMax = 65_536;

/** The steps of windows, by the index of the bucket. */
interface StepTable {
  from: Float64Array;
  to: Float64Array;
}

/**
 * The window of time that is looked at for each bucket of a range. It ends with its bucket, or so much earlier as an
 * offset says. A window of a set length may begin before the range; without one, it is what the range has of the bucket.
 * There may be more buckets than fit in memory: steps are kept for each bucket only up to `tableBucketsMax`.
 */
export class BucketWindows {
  readonly #buckets: TimeBuckets;
  readonly #windowMs: number | undefined;
  readonly #offsetMs: number;
  /** Number of buckets. */
  readonly count: number;
  /** From the start of the first window to the end of the last. */
  readonly range: TimeRange;
  /** Width in milliseconds of the widest buckets, aligned to the epoch, that all windows can be put together from. */
  readonly stepMs: number;
  /** Made when steps are first asked for. */
  #table: StepTable | undefined;

  constructor(buckets: TimeBuckets, times: WindowTimes) {
    this.#buckets = buckets;
    const { windowSeconds, offsetSeconds = 0 } = times;
    this.#windowMs = windowSeconds === undefined ? undefined : Math.round(windowSeconds * 1000);
    this.#offsetMs = Math.round(offsetSeconds * 1000);
    this.count = countBuckets(buckets);
    const [first, last] = [this.windowOf(0), this.windowOf(this.count - 1)];
    this.range = { startMs: first.fromMs, endMs: Math.max(last.toMs, first.fromMs + 1) - 1 };
    this.stepMs = [this.#windowMs ?? 0, this.#offsetMs].reduce(greatestCommonDivisor, buckets.seconds * 1000);
  }

  /** The window of a bucket, by its index. */
  windowOf(bucket: number): TimeWindow {
    const { startMs, endMs, seconds } = this.#buckets;
    const [windowMs, offsetMs] = [this.#windowMs, this.#offsetMs];
    const bucketMs = bucketStartMsOf(this.#buckets, bucket);
    const bucketEndMs = bucketMs + seconds * 1000;
    const fromMs = windowMs === undefined ? Math.max(bucketMs, startMs) : bucketEndMs - windowMs;
    const toMs = Math.max(fromMs, Math.min(bucketEndMs, endMs + 1));
    return { fromMs: fromMs - offsetMs, toMs: toMs - offsetMs };
  }

  /** Steps of the longest window. */
  get stepsMax(): number {
    return Math.ceil((this.#windowMs ?? this.#buckets.seconds * 1000) / this.stepMs);
  }

  /** The first step of a bucket's window, counted from the step that holds the start of `range`. */
  firstStepOf(bucket: number): number {
    return this.#tableOfSteps?.from[bucket] ?? this.#computeSteps(bucket)[0];
  }

  /** The step after the last of a bucket's window. */
  endStepOf(bucket: number): number {
    return this.#tableOfSteps?.to[bucket] ?? this.#computeSteps(bucket)[1];
  }

  get #tableOfSteps(): StepTable | undefined {
    if (this.#table !== undefined || this.count > tableBucketsMax) return this.#table;
    const table = { from: new Float64Array(this.count), to: new Float64Array(this.count) };
    for (let bucket = 0; bucket < this.count; bucket++)
      [table.from[bucket], table.to[bucket]] = this.#computeSteps(bucket);
    this.#table = table;
    return table;
  }

  #computeSteps(bucket: number): [from: number, to: number] {
    const { stepMs } = this;
    const { fromMs, toMs } = this.windowOf(bucket);
    const first = Math.floor(this.range.startMs / stepMs);
    return [Math.floor(fromMs / stepMs) - first, Math.ceil(toMs / stepMs) - first];
  }

  /** Index of the first bucket, from `bucket` on, whose window ends after a step; `count` where there is none. */
  firstEndingBehind(step: number, bucket: number): number {
    // Mostly it is the next one.
    if (bucket < this.count && this.endStepOf(bucket) > step) return bucket;
    let [low, high] = [bucket, this.count];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.endStepOf(middle) > step) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

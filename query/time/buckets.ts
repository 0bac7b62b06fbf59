import type { TimeRange } from "./range.ts";

/**
 * A range of time in buckets of equal width. Buckets are aligned to the epoch, hold their start but not their end, and
 * are identified by their start.
 */
export interface TimeBuckets extends TimeRange {
  /** Width of a bucket in seconds. */
  seconds: number;
}

/** The most buckets of a range where the width of a bucket is chosen here. */
const bucketsMax = 200;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
/** Widths that people read easily. Each divides the next larger unit: a minute, an hour, a day. */
const roundSeconds = [
  ...[1, 2, 5, 10, 15, 20, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * minute),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * hour),
  day,
];

/** The buckets of a range. A width of 0 means the narrowest round width that gives at most 200 buckets. */
export function makeTimeBuckets(startMs: number, endMs: number, seconds: number): TimeBuckets {
  return { startMs, endMs, seconds: seconds === 0 ? chooseBucketSeconds(startMs, endMs) : seconds };
}

function chooseBucketSeconds(startMs: number, endMs: number): number {
  const least = (endMs + 1 - startMs) / 1000 / bucketsMax;
  return roundSeconds.find((seconds) => seconds >= least) ?? Math.ceil(least / day) * day;
}

/** Start of a bucket in milliseconds since the epoch, by its index. Bucket 0 holds the start of the range. */
export function bucketStartMsOf({ startMs, seconds }: TimeBuckets, index: number): number {
  const widthMs = seconds * 1000;
  return (Math.floor(startMs / widthMs) + index) * widthMs;
}

/** The number of buckets that overlap the range. */
export function countBuckets({ startMs, endMs, seconds }: TimeBuckets): number {
  const widthMs = seconds * 1000;
  return Math.floor(endMs / widthMs) - Math.floor(startMs / widthMs) + 1;
}

/** The number of seconds of a bucket that are within the range. */
export function countCoveredSeconds(buckets: TimeBuckets, bucketMs: number): number {
  const from = Math.max(bucketMs, buckets.startMs);
  const to = Math.min(bucketMs + buckets.seconds * 1000, buckets.endMs + 1);
  return (to - from) / 1000;
}

/**
 * Starts of the buckets that are only partly within the range, in milliseconds since the epoch: the first, the last,
 * both, or none.
 */
export function listPartialBuckets(buckets: TimeBuckets): number[] {
  const last = Math.floor(buckets.endMs / (buckets.seconds * 1000)) * buckets.seconds * 1000;
  const edges = new Set([bucketStartMsOf(buckets, 0), last]);
  return [...edges].filter((bucketMs) => countCoveredSeconds(buckets, bucketMs) < buckets.seconds);
}

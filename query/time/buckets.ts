/** The buckets of a range of time: aligned to the epoch, half open, stamped with their start. */
export interface TimeBuckets {
  /** Of the range, milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
  seconds: number;
}

/** Points that an automatic width gives at most. */
const pointsMax = 200;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
/** Widths that people read easily, each a divisor of the next larger unit. */
const roundSeconds = [
  ...[1, 2, 5, 10, 15, 20, 30],
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * minute),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * hour),
  day,
];

/** Buckets of a range; a width of 0 means the narrowest round one that gives about 200 points. */
export function makeTimeBuckets(startMs: number, endMs: number, seconds: number): TimeBuckets {
  return { startMs, endMs, seconds: seconds === 0 ? chooseBucketSeconds(startMs, endMs) : seconds };
}

function chooseBucketSeconds(startMs: number, endMs: number): number {
  const least = (endMs + 1 - startMs) / 1000 / pointsMax;
  return roundSeconds.find((seconds) => seconds >= least) ?? Math.ceil(least / day) * day;
}

/** Start of the bucket that stands so many behind the one that holds the start of the range. */
export function bucketStartMsOf({ startMs, seconds }: TimeBuckets, place: number): number {
  const widthMs = seconds * 1000;
  return (Math.floor(startMs / widthMs) + place) * widthMs;
}

/** Buckets that the range touches. */
export function countBuckets({ startMs, endMs, seconds }: TimeBuckets): number {
  const widthMs = seconds * 1000;
  return Math.floor(endMs / widthMs) - Math.floor(startMs / widthMs) + 1;
}

/** Seconds of a bucket that lie in the range. */
export function countCoveredSeconds(buckets: TimeBuckets, bucketMs: number): number {
  const from = Math.max(bucketMs, buckets.startMs);
  const to = Math.min(bucketMs + buckets.seconds * 1000, buckets.endMs + 1);
  return (to - from) / 1000;
}

/** Starts of the buckets that lie only in part in the range: the first, the last, both, or none. */
export function listPartialBuckets(buckets: TimeBuckets): number[] {
  const last = Math.floor(buckets.endMs / (buckets.seconds * 1000)) * buckets.seconds * 1000;
  const edges = new Set([bucketStartMsOf(buckets, 0), last]);
  return [...edges].filter((bucketMs) => countCoveredSeconds(buckets, bucketMs) < buckets.seconds);
}

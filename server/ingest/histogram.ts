/**
 * Turns histograms into series of counters, like Prometheus' classic histograms: `<name>_bucket{le="…"}`, `<name>_sum`
 * and `<name>_count`.
 */

import type { Sample } from "../../engine/index.ts";
import { RowProblem } from "./json/json-row.ts";
import { histogramBucketsMax, histogramLabelCopiesMax } from "./limits.ts";

/**
 * Counts by bucket: `counts[i]` counts the values in (bounds[i - 1], bounds[i]]; the last bucket has no upper bound.
 */
export interface Buckets {
  /** Upper bounds, ascending. */
  bounds: readonly number[];
  /** One element more than `bounds`. */
  counts: readonly number[];
}

/**
 * The samples of one histogram: `_bucket` for each upper bound `le`, `_sum` unless it is undefined, and `_count`.
 * Bucket values are cumulative; the last one is the total. Throws RowProblem where there are too many buckets.
 */
export function makeClassicSamples(
  shared: Omit<Sample, "value">,
  { bounds, counts }: Buckets,
  sum: number | undefined,
): Sample[] {
  const { name, labels } = shared;
  const labelCount = Object.keys(labels).length;
  if (counts.length > histogramBucketsMax || counts.length * labelCount > histogramLabelCopiesMax) {
    throw new RowProblem(
      "field",
      `a histogram of ${counts.length} buckets with ${labelCount} labels is too large`,
    );
  }
  const samples: Sample[] = [];
  let total = 0;
  for (const [i, count] of counts.entries()) {
    total += count;
    const le = i < bounds.length ? String(bounds[i]) : "+Inf";
    samples.push({ ...shared, name: `${name}_bucket`, labels: { ...labels, le }, value: total });
  }
  if (sum !== undefined) samples.push({ ...shared, name: `${name}_sum`, value: sum });
  samples.push({ ...shared, name: `${name}_count`, value: total });
  return samples;
}

/**
 * As `makeClassicSamples`, for an exponential histogram. Its bounds change with the scale, and a bucket that is new began
 * when the bounds changed: so only the sum and the count have the start.
 */
export function makeExponentialSamples(
  { startNs, ...shared }: Omit<Sample, "value">,
  buckets: Buckets,
  sum: number | undefined,
): Sample[] {
  const samples = makeClassicSamples(shared, buckets, sum);
  if (startNs === undefined) return samples;
  const bucketName = `${shared.name}_bucket`;
  return samples.map((sample) => (sample.name === bucketName ? sample : { ...sample, startNs }));
}

/** Counts of the buckets with the indexes `offset`, `offset + 1` and so on. */
export interface ExponentialRange {
  offset: number;
  bucketCounts: readonly number[];
}

export interface ExponentialHistogram {
  scale: number;
  /** Count of the values whose magnitude is `zeroThreshold` at most. */
  zeroCount: number;
  zeroThreshold: number;
  positive: ExponentialRange;
  /** Like `positive`, for the magnitudes of negative values. */
  negative: ExponentialRange;
}

/** Bounds of a converted exponential histogram: as many as exporters keep by default. */
const boundsMax = 160;

/**
 * Converts the buckets of an exponential histogram into classic ones, by OpenTelemetry's data model (metrics,
 * "ExponentialHistogram"). The base is 2^(2^-scale); the bucket with index i holds the values in (base^i, base^(i+1)].
 * Above 160 bounds, neighbouring buckets are merged by lowering the scale; each step halves the indexes. Negative
 * ranges are mirrored: a bucket holds its lower bound but not its upper one, so a value that equals a negative bound
 * counts in the bucket above it. Each range begins with a bound that has an empty bucket below it, so that quantiles do
 * not interpolate down to zero.
 */
export function toClassicBuckets(histogram: ExponentialHistogram): Buckets {
  let { scale } = histogram;
  let positive = trimRange(histogram.positive);
  let negative = trimRange(histogram.negative);
  while (positive.bucketCounts.length + negative.bucketCounts.length + rangeEdges > boundsMax) {
    positive = halveRange(positive);
    negative = halveRange(negative);
    scale--;
  }
  const bound = (index: number) => 2 ** (index * 2 ** -scale);
  const buckets = { bounds: [] as number[], counts: [] as number[] };
  addNegative(buckets, negative, bound);
  addZero(buckets, histogram, negative.bucketCounts.length > 0);
  addPositive(buckets, positive, bound);
  buckets.counts.push(0);
  return mergeEqualBounds(buckets);
}

/** Bounds besides the upper bounds of buckets: one below each range, and both ends of the zero bucket. */
const rangeEdges = 4;

interface BucketLists {
  bounds: number[];
  counts: number[];
}

function addNegative(
  buckets: BucketLists,
  { offset, bucketCounts }: ExponentialRange,
  bound: (i: number) => number,
) {
  if (bucketCounts.length === 0) return;
  addBucket(buckets, -bound(offset + bucketCounts.length), 0);
  for (let i = bucketCounts.length - 1; i >= 0; i--) addBucket(buckets, -bound(offset + i), bucketCounts[i]!);
}

function addZero(
  buckets: BucketLists,
  { zeroCount, zeroThreshold }: ExponentialHistogram,
  hasNegative: boolean,
) {
  if (zeroCount === 0) return;
  if (hasNegative && zeroThreshold > 0) addBucket(buckets, -zeroThreshold, 0);
  addBucket(buckets, zeroThreshold, zeroCount);
}

function addPositive(
  buckets: BucketLists,
  { offset, bucketCounts }: ExponentialRange,
  bound: (i: number) => number,
) {
  if (bucketCounts.length === 0) return;
  addBucket(buckets, bound(offset), 0);
  for (const [i, count] of bucketCounts.entries()) addBucket(buckets, bound(offset + i + 1), count);
}

function addBucket({ bounds, counts }: BucketLists, bound: number, count: number): void {
  bounds.push(bound);
  counts.push(count);
}

/**
 * Merges bounds that do not ascend: ranges may meet or overlap (as the zero bucket's may), and bounds beyond the
 * largest number are all infinite.
 */
function mergeEqualBounds({ bounds, counts }: BucketLists): Buckets {
  const merged: BucketLists = { bounds: [], counts: [] };
  let pendingCount = 0;
  for (const [i, bound] of bounds.entries()) {
    const last = merged.bounds.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (!Number.isFinite(bound)) pendingCount += counts[i]!;
    else if (bound > last) {
      addBucket(merged, bound, counts[i]! + pendingCount);
      pendingCount = 0;
    } else merged.counts[merged.counts.length - 1] = merged.counts.at(-1)! + counts[i]!;
  }
  merged.counts.push(counts.at(-1)! + pendingCount);
  return merged;
}

/** Drops the empty buckets at both ends; exporters may send many. */
function trimRange({ offset, bucketCounts }: ExponentialRange): ExponentialRange {
  const first = bucketCounts.findIndex((count) => count > 0);
  const last = bucketCounts.findLastIndex((count) => count > 0);
  return first < 0
    ? { offset: 0, bucketCounts: [] }
    : { offset: offset + first, bucketCounts: bucketCounts.slice(first, last + 1) };
}

/** Lowers the scale by one: two buckets become one. */
function halveRange({ offset, bucketCounts }: ExponentialRange): ExponentialRange {
  const counts: number[] = [];
  const first = Math.floor(offset / 2);
  for (const [i, count] of bucketCounts.entries()) {
    const index = Math.floor((offset + i) / 2) - first;
    counts[index] = (counts[index] ?? 0) + count;
  }
  return { offset: first, bucketCounts: counts };
}

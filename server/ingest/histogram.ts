/** Histograms become series of counters, as Prometheus' classic histograms are: `<name>_bucket{le="…"}`, `<name>_sum` and `<name>_count`. */

/** Counts of values by bucket: `counts[i]` lie above `bounds[i - 1]`, up to and with `bounds[i]`; the last one has no upper bound. */
export interface Buckets {
  /** Ascending. */
  bounds: readonly number[];
  /** One more than the bounds. */
  counts: readonly number[];
}

/** A value of one of the series that a histogram becomes. */
export interface HistogramValue {
  /** Behind the metric's name. */
  suffix: "_bucket" | "_sum" | "_count";
  /** The bucket's upper bound, of `_bucket` alone. */
  le?: string;
  value: number;
}

/** The values of one histogram; `sum` is undefined where it was not sent. Bucket counts are cumulative, the last is all. */
export function histogramValues({ bounds, counts }: Buckets, sum: number | undefined): HistogramValue[] {
  const values: HistogramValue[] = [];
  let total = 0;
  for (const [i, count] of counts.entries()) {
    total += count;
    const le = i < bounds.length ? String(bounds[i]) : "+Inf";
    values.push({ suffix: "_bucket", le, value: total });
  }
  if (sum !== undefined) values.push({ suffix: "_sum", value: sum });
  values.push({ suffix: "_count", value: total });
  return values;
}

/** Counts of the buckets with the indexes `offset`, `offset + 1` and so on. */
export interface ExponentialRange {
  offset: number;
  bucketCounts: readonly number[];
}

export interface ExponentialHistogram {
  scale: number;
  /** Values that are `zeroThreshold` at most, their sign aside. */
  zeroCount: number;
  zeroThreshold: number;
  positive: ExponentialRange;
  /** As `positive`, of the values' opposites. */
  negative: ExponentialRange;
}

/** Bounds that an exponential histogram becomes: what its own exporters keep by default. */
const boundsMax = 160;

/**
 * The buckets of an exponential histogram as classic ones, after OpenTelemetry's data model (metrics, "ExponentialHistogram"): the
 * base is 2^(2^-scale), and the bucket with index i holds the values above base^i, up to and with base^(i+1). Where there would be
 * more than 160 bounds, neighbours are merged by lowering the scale, each step of which halves the indexes. Negative ranges are
 * mirrored, so their values lie at or above a bucket's lower bound and below its upper one: a value that is exactly a negative bound
 * counts in the bucket above it. Each range begins with a bound that has nothing below it, so that quantiles do not
 * reach down to zero.
 */
export function classicBuckets(histogram: ExponentialHistogram): Buckets {
  let { scale, positive, negative } = trimmed(histogram);
  while (positive.bucketCounts.length + negative.bucketCounts.length + rangeEdges > boundsMax) {
    positive = halved(positive);
    negative = halved(negative);
    scale--;
  }
  const bound = (index: number) => 2 ** (index * 2 ** -scale);
  const buckets = { bounds: [] as number[], counts: [] as number[] };
  addNegative(buckets, negative, bound);
  addZero(buckets, histogram, negative.bucketCounts.length > 0);
  addPositive(buckets, positive, bound);
  buckets.counts.push(0);
  return withoutRepeats(buckets);
}

/** Bounds beside those above the buckets: below each range, and at both ends of zero's. */
const rangeEdges = 4;

interface Growing {
  bounds: number[];
  counts: number[];
}

function addNegative(
  buckets: Growing,
  { offset, bucketCounts }: ExponentialRange,
  bound: (i: number) => number,
) {
  if (bucketCounts.length === 0) return;
  add(buckets, -bound(offset + bucketCounts.length), 0);
  for (let i = bucketCounts.length - 1; i >= 0; i--) add(buckets, -bound(offset + i), bucketCounts[i]!);
}

function addZero(buckets: Growing, { zeroCount, zeroThreshold }: ExponentialHistogram, hasNegative: boolean) {
  if (zeroCount === 0) return;
  if (hasNegative && zeroThreshold > 0) add(buckets, -zeroThreshold, 0);
  add(buckets, zeroThreshold, zeroCount);
}

function addPositive(
  buckets: Growing,
  { offset, bucketCounts }: ExponentialRange,
  bound: (i: number) => number,
) {
  if (bucketCounts.length === 0) return;
  add(buckets, bound(offset), 0);
  for (const [i, count] of bucketCounts.entries()) add(buckets, bound(offset + i + 1), count);
}

function add({ bounds, counts }: Growing, bound: number, count: number): void {
  bounds.push(bound);
  counts.push(count);
}

/** Bounds that ascend: those of ranges that meet or overlap, as zero's may, and those beyond the largest number are one. */
function withoutRepeats({ bounds, counts }: Growing): Buckets {
  const kept: Growing = { bounds: [], counts: [] };
  let waiting = 0;
  for (const [i, bound] of bounds.entries()) {
    const last = kept.bounds.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (!Number.isFinite(bound)) waiting += counts[i]!;
    else if (bound > last) {
      add(kept, bound, counts[i]! + waiting);
      waiting = 0;
    } else kept.counts[kept.counts.length - 1] = kept.counts.at(-1)! + counts[i]!;
  }
  kept.counts.push(counts.at(-1)! + waiting);
  return kept;
}

/** Without the empty buckets at both ends, of which exporters may send many. */
function trimmed({ scale, positive, negative }: ExponentialHistogram) {
  return { scale, positive: trimmedRange(positive), negative: trimmedRange(negative) };
}

function trimmedRange({ offset, bucketCounts }: ExponentialRange): ExponentialRange {
  const first = bucketCounts.findIndex((count) => count > 0);
  const last = bucketCounts.findLastIndex((count) => count > 0);
  return first < 0
    ? { offset: 0, bucketCounts: [] }
    : { offset: offset + first, bucketCounts: bucketCounts.slice(first, last + 1) };
}

/** At the next lower scale, where two buckets are one. */
function halved({ offset, bucketCounts }: ExponentialRange): ExponentialRange {
  const counts: number[] = [];
  const first = Math.floor(offset / 2);
  for (const [i, count] of bucketCounts.entries()) {
    const place = Math.floor((offset + i) / 2) - first;
    counts[place] = (counts[place] ?? 0) + count;
  }
  return { offset: first, bucketCounts: counts };
}

/** Converts Prometheus' native histograms into classic ones. */

import { type Buckets, type ExponentialRange, toClassicBuckets } from "../histogram.ts";
import { RowProblem } from "../json/json-row.ts";
import type { Long, WireHistogram, WireSpan } from "./schema.ts";

/** The schema of histograms that send their own bounds (`custom_values`). */
const customSchema = -53;
/** Buckets between the first and the last that is sent. Senders keep some hundred. */
const bucketsMax = 100_000;

/** Converts a native histogram into classic buckets. Throws RowProblem. */
export function bucketsOf(histogram: WireHistogram): Buckets {
  const { schema } = histogram;
  const positive = readRange(
    histogram.positiveSpans,
    readCounts(histogram.positiveDeltas, histogram.positiveCounts),
  );
  if (schema === customSchema) return toCustomBuckets(histogram.customValues, positive);
  if (schema < -4 || schema > 8) {
    throw new RowProblem("field", `a histogram's schema must be from -4 to 8, or -53, got ${schema}`);
  }
  const { negativeSpans, negativeDeltas, negativeCounts, zeroThreshold } = histogram;
  return toClassicBuckets({
    scale: schema,
    zeroCount: histogram.zeroCountInt?.toNumber() ?? histogram.zeroCountFloat ?? 0,
    zeroThreshold,
    positive: shiftOffset(positive),
    negative: shiftOffset(readRange(negativeSpans, readCounts(negativeDeltas, negativeCounts))),
  });
}

/** Prometheus numbers a bucket by its upper bound, OpenTelemetry by its lower one. */
function shiftOffset({ offset, bucketCounts }: ExponentialRange): ExponentialRange {
  return { offset: offset - 1, bucketCounts };
}

function toCustomBuckets(bounds: readonly number[], { offset, bucketCounts }: ExponentialRange): Buckets {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  for (const [i, count] of bucketCounts.entries()) {
    const index = offset + i;
    if (count !== 0 && counts[index] === undefined) {
      throw new RowProblem("field", "a histogram counts in buckets that it has no bounds for");
    }
    if (count !== 0) counts[index] = count;
  }
  if (bounds.some((bound, i) => i > 0 && !(bound > bounds[i - 1]!))) {
    throw new RowProblem("field", "a histogram's custom_values must ascend");
  }
  return { bounds, counts };
}

/** Integer counts are sent as deltas, each to the previous one. */
function readCounts(deltas: readonly Long[], floats: readonly number[]): readonly number[] {
  if (floats.length > 0) return floats;
  let count = 0;
  return deltas.map((delta) => {
    count += delta.toNumber();
    return count;
  });
}

/**
 * Expands spans into one run of buckets. A span's offset is relative to the end of the previous span, the first one's
 * to zero. Throws RowProblem.
 */
function readRange(spans: readonly WireSpan[], counts: readonly number[]): ExponentialRange {
  const bucketCounts: number[] = [];
  let next = 0;
  for (const [i, { offset, length }] of spans.entries()) {
    if (i > 0 && offset < 0) throw new RowProblem("field", "a histogram's spans overlap");
    const gap = i === 0 ? 0 : offset;
    if (bucketCounts.length + gap + length > bucketsMax || next + length > counts.length) {
      throw new RowProblem("field", "a histogram's spans and counts do not fit together");
    }
    for (let empty = 0; empty < gap; empty++) bucketCounts.push(0);
    for (const count of counts.slice(next, next + length)) bucketCounts.push(count);
    next += length;
  }
  if (bucketCounts.some((count) => !(count >= 0)))
    throw new RowProblem("field", "a histogram's count is below 0");
  return { offset: spans[0]?.offset ?? 0, bucketCounts };
}

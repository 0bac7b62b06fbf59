/** Buckets that may have rows of several chunks. A point in any other bucket is complete once its chunk was read. */
import { type ChunkRef, extentOf } from "../chunk/chunk-ref.ts";
import type { BucketGrid } from "./bucket-runs.ts";

/** First and last bucket of each range of shared buckets, ascending. */
export type SharedBuckets = Float64Array;

/** The shared buckets of all chunks that a query reads. */
export function findSharedBuckets(chunks: readonly ChunkRef[], grid: BucketGrid): SharedBuckets {
  const ranges = chunks
    .map((ref) => {
      const { timeNsMin, timeNsMax } = extentOf(ref);
      return { from: grid.bucketOf(ref.day, timeNsMin), to: grid.bucketOf(ref.day, timeNsMax) };
    })
    .sort((a, b) => a.from - b.from);
  const shared: number[] = [];
  let reachedBucket = Number.NEGATIVE_INFINITY;
  for (const { from, to } of ranges) {
    const last = Math.min(to, reachedBucket);
    if (from <= last) {
      if (shared.length > 0 && from <= shared.at(-1)!)
        shared[shared.length - 1] = Math.max(shared.at(-1)!, last);
      else shared.push(from, last);
    }
    reachedBucket = Math.max(reachedBucket, to);
  }
  return Float64Array.from(shared);
}

/** Whether a bucket is in one of the ranges. */
export function isSharedBucket(shared: SharedBuckets, bucket: number): boolean {
  let low = 0;
  let high = shared.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shared[middle * 2 + 1]! < bucket) low = middle + 1;
    else high = middle;
  }
  return low * 2 < shared.length && shared[low * 2]! <= bucket;
}

/** A range of time. */
export interface TimeRange {
  /** Start of the range, whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** End of the range, whole milliseconds since the epoch. The whole of this millisecond is in the range. */
  endMs: number;
}

/** A range of time in nanoseconds since the epoch, as the store takes it: `fromNs` is in the range, `toNs` is not. */
export interface TimeRangeNs {
  fromNs: bigint;
  toNs: bigint;
}

const nsPerMs = 1_000_000n;

/**
 * Converts a range in milliseconds, with both ends inclusive, to a half-open range in nanoseconds. The last millisecond
 * is in it.
 */
export function toRangeNs(startMs: number, endMs: number): TimeRangeNs {
  return { fromNs: BigInt(startMs) * nsPerMs, toNs: (BigInt(endMs) + 1n) * nsPerMs };
}

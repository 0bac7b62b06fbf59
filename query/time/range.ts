/** A range of time. */
export interface TimeRange {
  /** Start of the range, whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** End of the range, inclusive with its whole millisecond. */
  endMs: number;
}

/** A range of time in nanoseconds since the epoch, half open, as the store takes it. */
export interface TimeRangeNs {
  fromNs: bigint;
  toNs: bigint;
}

const nsPerMs = 1_000_000n;

/** Converts a range of milliseconds, both inclusive, to nanoseconds, half open: it includes the end's millisecond. */
export function toRangeNs(startMs: number, endMs: number): TimeRangeNs {
  return { fromNs: BigInt(startMs) * nsPerMs, toNs: (BigInt(endMs) + 1n) * nsPerMs };
}

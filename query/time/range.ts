const nsPerMs = 1_000_000n;

/** Half-open nanoseconds for whole milliseconds since the epoch, both inclusive: the end counts with its whole millisecond. */
export function toRangeNs(startMs: number, endMs: number): { fromNs: bigint; toNs: bigint } {
  return { fromNs: BigInt(startMs) * nsPerMs, toNs: (BigInt(endMs) + 1n) * nsPerMs };
}

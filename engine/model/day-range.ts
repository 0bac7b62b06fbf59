/** Ranges of time within one day. */
import { dayNs, dayStartNs } from "./day.ts";

/** Half-open nanoseconds since the start of a day, clamped to it. */
export interface DayRange {
  from: number;
  to: number;
}

/** The part of [fromNs, toNs) that lies in a day; empty (`from >= to`) where they do not meet. */
export function clampToDay(fromNs: bigint, toNs: bigint, day: number): DayRange {
  const start = dayStartNs(day);
  const clamp = (timeNs: bigint) =>
    Number(timeNs < start ? 0n : timeNs > start + dayNs ? dayNs : timeNs - start);
  return { from: clamp(fromNs), to: clamp(toNs) };
}

/** Later than any row: the greatest signed 64-bit number of nanoseconds since the epoch. */
export const endOfTimeNs = 2n ** 63n - 1n;

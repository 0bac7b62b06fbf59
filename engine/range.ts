/** Rows of a chunk within bounds of time: they stand in order, so bounds are found by bisection. */
import { dayNs, dayStartNs } from "./day.ts";

/** Half-open nanoseconds since the start of a day, clamped to it. */
export interface DayRange {
  from: number;
  to: number;
}

export function rangeInDay(fromNs: bigint, toNs: bigint, day: number): DayRange {
  const start = dayStartNs(day);
  const clamp = (timeNs: bigint) =>
    Number(timeNs < start ? 0n : timeNs > start + dayNs ? dayNs : timeNs - start);
  return { from: clamp(fromNs), to: clamp(toNs) };
}

/** First row whose time is at least `timeNs`; the number of rows where there is none. */
export function lowerBound(times: Float64Array, timeNs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < timeNs) low = middle + 1;
    else high = middle;
  }
  return low;
}

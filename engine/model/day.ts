/**
 * UTC days, which partitions cover. A day is its number since 1970-01-01; times within a day are nanoseconds since its
 * start, below 2^53 and so exact as numbers.
 */
import { existsSync, readdirSync } from "node:fs";

/** Length of a day in nanoseconds. */
export const dayNs = 86_400_000_000_000n;
/** Length of a day in seconds. */
export const daySeconds = 86_400;
const dayMs = 86_400_000;
/** The last day that a `Date` can hold. */
export const daysMax = 100_000_000;

/** The day of a time in nanoseconds since the epoch. */
export function dayOf(timeNs: bigint): number {
  return Number(timeNs / dayNs);
}

/** Start of a day, in nanoseconds since the epoch. */
export function dayStartNs(day: number): bigint {
  return BigInt(day) * dayNs;
}

/** Start of a day, in milliseconds since the epoch. */
export function dayStartMs(day: number): number {
  return day * dayMs;
}

/** Nanoseconds since the start of the day. */
export function timeInDay(timeNs: bigint, day: number): number {
  return Number(timeNs - BigInt(day) * dayNs);
}

/** Whole seconds since the epoch, and nanoseconds of the second. */
export interface Instant {
  seconds: number;
  nanos: number;
}

/** The instant of so many nanoseconds since the epoch, 0 or more. */
export function toInstant(timeNs: bigint): Instant {
  const day = dayOf(timeNs);
  const ns = timeInDay(timeNs, day);
  return { seconds: day * daySeconds + Math.floor(ns / 1e9), nanos: ns % 1e9 };
}

/** Milliseconds since the epoch, rounded down, of a time within a day. */
export function timeMs(day: number, timeNs: number): number {
  return day * dayMs + Math.floor(timeNs / 1e6);
}

/** The day as a folder name, such as "2026-11-20". */
export function dayName(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** The day of a folder name; undefined where it is not one. */
function parseDayName(name: string): number | undefined {
  if (!/^\d{4,6}-\d{2}-\d{2}$/.test(name)) return undefined;
  const day = Date.parse(`${name}T00:00:00Z`) / dayMs;
  return Number.isInteger(day) && dayName(day) === name ? day : undefined;
}

/** The days of the partitions in a signal's folder, the oldest first; none where there is no folder. */
export function listDays(folder: string): number[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => parseDayName(name) ?? []).sort((a, b) => a - b);
}

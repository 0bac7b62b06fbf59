/** Partitions are UTC days; times inside one are nanoseconds since its start, below 2^53 and so exact as numbers. */
import { existsSync, readdirSync } from "node:fs";

export const dayNs = 86_400_000_000_000n;
const dayMs = 86_400_000;

/** Number of the day since 1970-01-01 that holds a time. */
export function dayOf(timeNs: bigint): number {
  return Number(timeNs / dayNs);
}

export function dayStartNs(day: number): bigint {
  return BigInt(day) * dayNs;
}

export function timeInDay(timeNs: bigint, day: number): number {
  return Number(timeNs - BigInt(day) * dayNs);
}

/** Whole milliseconds since the epoch of a time in a day. */
export function timeMs(day: number, timeNs: number): number {
  return day * dayMs + Math.floor(timeNs / 1e6);
}

/** "2026-11-20" */
export function dayName(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** The day that a folder's name stands for, or undefined. */
function parseDayName(name: string): number | undefined {
  if (!/^\d{4,6}-\d{2}-\d{2}$/.test(name)) return undefined;
  const day = Date.parse(`${name}T00:00:00Z`) / dayMs;
  return Number.isInteger(day) && dayName(day) === name ? day : undefined;
}

/** The days that a signal's folder has partitions of, the oldest first; none where there is no folder. */
export function daysIn(folder: string): number[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => parseDayName(name) ?? []).sort((a, b) => a - b);
}

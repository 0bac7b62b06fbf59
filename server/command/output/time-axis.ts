/** The line below charts that says which column is which time. */

import type { Zone } from "../flags/zone.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** Distances between the times of an axis. */
const stepsMs = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 28, 91, 182, 365, 730, 1_825, 3_650, 18_250].map((count) => count * day),
];

/**
 * Returns the axis of charts of `columns` characters that cover the range from `startMs` to before `endMs`. A mark stands
 * in the column of its time; its label begins right after it.
 */
export function drawTimeAxis(
  { startMs, endMs }: { startMs: number; endMs: number },
  columns: number,
  zone: Zone,
): string {
  const columnMs = (endMs - startMs) / columns;
  const stepMs = stepsMs.find((step) => step / columnMs >= labelOf(startMs, step, zone).length + 3) ?? 0;
  let axis = "";
  for (const ms of stepMs === 0 ? [] : roundTimes(startMs, endMs, stepMs, zone)) {
    const column = Math.floor((ms - startMs) / columnMs);
    const label = `╵${labelOf(ms, stepMs, zone)}`;
    if (column >= axis.length && column + label.length <= columns) axis = axis.padEnd(column) + label;
  }
  return axis === "" ? `╵${labelOf(startMs, second, zone)}` : axis;
}

/** The times of a range at which clocks of the zone show a multiple of the step. */
function* roundTimes(startMs: number, endMs: number, stepMs: number, zone: Zone): Iterable<number> {
  const firstMs = Math.ceil(zone.toClockMs(startMs) / stepMs) * stepMs;
  for (let clockMs = firstMs; ; clockMs += stepMs) {
    const ms = zone.fromClockMs(clockMs);
    if (ms >= endMs) return;
    if (ms >= startMs) yield ms;
  }
}

/** The part of a time that tells times which are `stepMs` apart from each other; the day too at midnight. */
function labelOf(ms: number, stepMs: number, zone: Zone): string {
  const clock = new Date(zone.toClockMs(ms)).toISOString();
  if (stepMs >= day) return clock.slice(0, 10);
  const time = stepMs >= minute ? clock.slice(11, 16) : clock.slice(11, 19);
  return stepMs >= hour && time === "00:00" ? clock.slice(5, 10) : time;
}

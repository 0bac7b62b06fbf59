/** The windows of investigations. */

import { isBreaching } from "../alerts/state/alert-definition.ts";
import type { Fire } from "../alerts/state/fire.ts";

/** Milliseconds since the epoch. */
export interface IncidentWindow {
  startMs: number;
  /** Exclusive. */
  endMs: number;
}

const minuteMs = 60_000;
/** A longer window hides what began within it. */
export const windowMsMax = 60 * minuteMs;
/** What begins a fire began before the bucket that shows it: starting late loses the evidence, starting early does not. */
const beforeMs = minuteMs;
/** With less of what follows the first bucket, an investigation has too few calls to compare. */
const followingMs = 3 * minuteMs;
/** How long rows may take to arrive. */
const arrivalMs = 20_000;

/** What the window of a fire depends on. */
type FireTimes = Pick<Fire, "firedAtMs" | "bucketSeconds"> & Partial<Pick<Fire, "breached" | "opening">>;

/** The start of the oldest bucket that the fire began with, at most half an hour before it. */
function findFirstBreach({ firedAtMs, bucketSeconds, breached, opening }: FireTimes): number {
  const judged = (opening?.points ?? []).slice(
    -(opening?.persistenceSettings.datapointsInEvaluationWindow ?? 0),
  );
  const isBreach = (value: number | null) =>
    value === null ? breached?.value === null : isBreaching(value, opening!);
  const first = judged.find(([, value]) => isBreach(value))?.[0] ?? firedAtMs - bucketSeconds * 1_000;
  return Math.max(first, firedAtMs - windowMsMax / 2);
}

/** When enough has arrived to investigate a fire. */
export function dueMsOf(fire: FireTimes): number {
  return Math.max(fire.firedAtMs, findFirstBreach(fire) + followingMs) + arrivalMs;
}

/**
 * The windows that a fire may be explained by: what begins it may have begun in the minute before its first bucket, or
 * that minute is as usual and hides it.
 */
export function candidatesOf(window: IncidentWindow): IncidentWindow[] {
  return [window, { ...window, startMs: window.startMs + beforeMs }];
}

/** The window of fires that are investigated together. */
export function windowOfFires(fires: readonly FireTimes[], nowMs: number): IncidentWindow {
  const startMs = Math.min(...fires.map(findFirstBreach)) - beforeMs;
  const endMs = Math.max(...fires.map((fire) => dueMsOf(fire) - arrivalMs));
  return { startMs, endMs: Math.min(endMs, nowMs, startMs + windowMsMax) };
}

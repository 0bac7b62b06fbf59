/** Times of the week in which a route sends nothing. */

import type { Day, MuteTime } from "../model/notification-route.ts";

const minuteMs = 60_000;
const dayMinutes = 1_440;
/** Mute times that follow each other: more mean that they never end. */
const chainMax = 20;

/**
 * When the mute times that hold at `nowMs` are over, Unix milliseconds: those that follow without a gap count as one.
 * Undefined where none holds. Where they never end, it is some time ahead, at which it is to be asked again.
 */
export function findMuteEnd(muteTimes: readonly MuteTime[], nowMs: number): number | undefined {
  let endMs: number | undefined;
  for (let i = 0; i < chainMax; i++) {
    const atMs = endMs ?? nowMs;
    const ends = muteTimes.map((each) => endOf(each, atMs)).filter((end) => end !== undefined);
    if (ends.length === 0) break;
    endMs = Math.max(...ends);
  }
  return endMs;
}

/** When a mute time that holds at `atMs` ends; undefined where it does not hold. */
function endOf(
  { days, from = "00:00", to = "24:00", timeZone = "UTC" }: MuteTime,
  atMs: number,
): number | undefined {
  const { day, dayBefore, minute } = localTime(atMs, timeZone);
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  const beginsOn = (each: Day) => days === undefined || days.includes(each);
  const isOvernight = end <= begin;
  const lastMinute = isOvernight ? dayMinutes + end : end;
  const minutesLeft =
    beginsOn(day) && minute >= begin && minute < lastMinute
      ? lastMinute - minute
      : isOvernight && beginsOn(dayBefore) && minute < end
        ? end - minute
        : undefined;
  if (minutesLeft === undefined) return undefined;
  const plannedMs = Math.floor(atMs / minuteMs) * minuteMs + minutesLeft * minuteMs;
  // Where clocks are set in between, the minutes that are left are not those of the clock.
  const offMinutes = end - localTime(plannedMs, timeZone).minute;
  const halfDay = dayMinutes / 2;
  const shift = ((((offMinutes + halfDay) % dayMinutes) + dayMinutes) % dayMinutes) - halfDay;
  const endMs = plannedMs + shift * minuteMs;
  const isReached = localTime(endMs, timeZone).minute === end % dayMinutes;
  return isReached ? endMs : findClockChange(endMs, plannedMs, timeZone);
}

/** When clocks are set between two times: the first minute of the new time. No clock shows the minutes that it skips. */
function findClockChange(beforeMs: number, afterMs: number, timeZone: string): number {
  const offsetMinutes = (ms: number) => {
    return (((localTime(ms, timeZone).minute - ms / minuteMs) % dayMinutes) + dayMinutes) % dayMinutes;
  };
  const before = offsetMinutes(beforeMs);
  let [low, high] = [beforeMs / minuteMs, afterMs / minuteMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMinutes(middle * minuteMs) === before) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}

function minutesOf(clockTime: string): number {
  const [hours, minutes] = clockTime.split(":").map(Number) as [number, number];
  return hours * 60 + minutes;
}

const dayNames = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;
const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(atMs: number, timeZone: string): { day: Day; dayBefore: Day; minute: number } {
  let format = formats.get(timeZone);
  if (format === undefined) {
    const parts = { weekday: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    format = new Intl.DateTimeFormat("en", { timeZone, ...parts });
    formats.set(timeZone, format);
  }
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const day = parts.get("weekday")!.toLowerCase() as Day;
  const dayBefore = dayNames[(dayNames.indexOf(day) + 6) % 7]!;
  return { day, dayBefore, minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")) };
}

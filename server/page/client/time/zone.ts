/** The one time zone in which the page shows times. */

import { computed } from "@preact/signals";
import { preference } from "../browser/preferences.ts";

/** "local", or "UTC". */
export const zone = preference("zone", "local");

const pad = (value: number, digits = 2) => String(value).padStart(digits, "0");

/** Splits Unix milliseconds into the numbers of a calendar and a clock. */
function partsOf(ms: number, isUtc: boolean) {
  const date = new Date(ms);
  return isUtc
    ? [
        date.getUTCFullYear(),
        date.getUTCMonth() + 1,
        date.getUTCDate(),
        date.getUTCHours(),
        date.getUTCMinutes(),
        date.getUTCSeconds(),
        date.getUTCMilliseconds(),
      ]
    : [
        date.getFullYear(),
        date.getMonth() + 1,
        date.getDate(),
        date.getHours(),
        date.getMinutes(),
        date.getSeconds(),
        date.getMilliseconds(),
      ];
}

/** Formats times in the chosen zone. */
export const clock = computed(() => {
  const isUtc = zone.value === "UTC";
  return {
    /** `2026-11-23 16:42:25.116` */
    full: (ms: number): string => {
      const [year, month, day, hour, minute, second, milli] = partsOf(ms, isUtc) as [
        number,
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      return `${year}-${pad(month)}-${pad(day)} ${pad(hour)}:${pad(minute)}:${pad(second)}.${pad(milli, 3)}`;
    },
    /** `11-23 16:42:25` */
    short: (ms: number): string => {
      const [, month, day, hour, minute, second] = partsOf(ms, isUtc) as number[];
      return `${pad(month!)}-${pad(day!)} ${pad(hour!)}:${pad(minute!)}:${pad(second!)}`;
    },
    /** The part of a time that tells ticks of an axis apart. */
    tick: (ms: number, stepMs: number): string => {
      const [, month, day, hour, minute, second] = partsOf(ms, isUtc) as number[];
      if (stepMs >= 86_400_000) return `${pad(month!)}-${pad(day!)}`;
      if (stepMs >= 60_000) return `${pad(hour!)}:${pad(minute!)}`;
      return `${pad(hour!)}:${pad(minute!)}:${pad(second!)}`;
    },
    /** Minutes that the zone is ahead of UTC at a time. */
    offsetMinutes: (ms: number): number => (isUtc ? 0 : -new Date(ms).getTimezoneOffset()),
    name: isUtc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
});

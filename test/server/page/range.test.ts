/** Times that people type, in zones whose clocks change. */

import { expect, test } from "vitest";
import { Zone } from "../../../server/command/flags/zone.ts";
import { nameDuration, readTimeText } from "../../../server/page/client/time/range.ts";

const minuteMs = 60_000;

test.each(["America/Los_Angeles", "Europe/Berlin", "Australia/Sydney", "Asia/Kolkata", "UTC"])(
  "each quarter of an hour of a year is read as the time at which a clock of %s shows it",
  (name) => {
    const zone = new Zone(name);
    const offsetMinutes = (ms: number) => (zone.toClockMs(ms) - ms) / minuteMs;
    const wrong: string[] = [];
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 15 * minuteMs) {
      const clockMs = zone.toClockMs(ms);
      const shown = new Date(clockMs).toISOString().slice(0, 16).replace("T", " ");
      // Where the clocks are set back they show a time twice: the first is meant.
      if (readTimeText(shown, offsetMinutes) !== zone.fromClockMs(clockMs)) wrong.push(shown);
    }
    expect(wrong).toEqual([]);
  },
);

test("a time that the clocks skip is as far behind the change", () => {
  const zone = new Zone("Europe/Berlin");
  const offsetMinutes = (ms: number) => (zone.toClockMs(ms) - ms) / minuteMs;
  expect(readTimeText("2026-03-29 02:30", offsetMinutes)).toBe(
    zone.fromClockMs(Date.UTC(2026, 2, 29, 2, 30)),
  );
});

test.each([
  [0.0003, "300 ns"],
  [0.001, "1 µs"],
  [0.0125, "12.5 µs"],
  [0.25, "250 µs"],
  [1.2345, "1.23 ms"],
  [1_500, "1.5 s"],
  [90_000, "1 min 30 s"],
])("%d ms are called %s", (ms, name) => {
  expect(nameDuration(ms)).toBe(name);
});

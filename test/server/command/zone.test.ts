/** Times of a zone against the zone's own calendar, and the axes of charts. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { Zone } from "../../../server/command/flags/zone.ts";
import { drawTimeAxis } from "../../../server/command/output/time-axis.ts";

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/St_Johns",
  "Asia/Kolkata",
  "Pacific/Auckland",
  "Africa/Cairo",
];
const someTime = fc.integer({ min: Date.UTC(1975, 0), max: Date.UTC(2040, 0) });

test("a printed time is the same time, and shows what a clock of the zone shows", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), someTime, (name, ms) => {
      const printed = new Zone(name).print(ms);
      expect(Date.parse(printed)).toBe(ms);
      const shown = new Date(ms).toLocaleString("sv-SE", { timeZone: name });
      expect(printed.slice(0, 19).replace("T", " ")).toBe(shown);
    }),
  );
});

test("a clock's time is found again, but for hours that come twice", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), someTime, (name, ms) => {
      const zone = new Zone(name);
      const found = zone.fromClockMs(zone.toClockMs(ms));
      expect(zone.toClockMs(found)).toBe(zone.toClockMs(ms));
      expect([0, 3_600_000]).toContain(ms - found);
    }),
  );
});

test.each([
  [
    "UTC",
    "2026-01-29T08:00:00Z",
    "2026-01-29T09:00:00Z",
    60,
    "╵08:00    ╵08:10    ╵08:20    ╵08:30    ╵08:40    ╵08:50",
  ],
  ["UTC", "2026-01-29T08:03:00Z", "2026-01-29T08:43:00Z", 40, "       ╵08:10    ╵08:20    ╵08:30"],
  ["Asia/Kolkata", "2026-01-29T18:00:00Z", "2026-01-29T20:00:00Z", 24, "      ╵01-30      ╵01:00"],
  ["UTC", "2026-01-25T00:00:00Z", "2026-02-24T00:00:00Z", 60, "        ╵2026-01-29   ╵2026-02-05"],
  ["UTC", "2026-01-29T08:00:00Z", "2026-01-29T08:00:07Z", 7, "╵08:00:00"],
])("the axis in %s from %s to %s in %i columns", (zone, from, to, columns, axis) => {
  const range = { startMs: Date.parse(from), endMs: Date.parse(to) };
  const drawn = drawTimeAxis(range, columns, new Zone(zone));
  expect(drawn.startsWith(axis), drawn).toBe(true);
});

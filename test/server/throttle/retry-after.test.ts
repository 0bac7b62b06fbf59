/** The forms of Retry-After, and those that say nothing. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readRetryAfter } from "../../../server/throttle/retry-after.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 0, 29, 8, 42) }));
afterEach(() => void vi.useRealTimers());

test.each([
  ["0", 0],
  ["7", 7_000],
  [" 7 ", 7_000],
  ["60", 60_000],
  ["61", 60_000],
  ["2147484", 60_000],
  ["9".repeat(400), 60_000],
  ["Thu, 29 Jan 2026 08:42:05 GMT", 5_000],
  ["Thursday, 29-Jan-26 08:42:05 GMT", 5_000],
  ["Thu, 29 Jan 2026 08:41:00 GMT", 0],
  ["Fri, 29 Jan 2027 08:42:00 GMT", 60_000],
  ["-5", undefined],
  ["1.5", undefined],
  ["1e9", undefined],
  ["2026", 60_000],
  ["NaN", undefined],
  ["Infinity", undefined],
  ["soon", undefined],
  ["", undefined],
  [undefined, undefined],
])("%j is a pause of %j ms", (value, ms) => {
  expect(readRetryAfter(value, 60_000)).toBe(ms);
});

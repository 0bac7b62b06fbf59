/** The oldest time after an arrival number, compared with a minimum over all rows that arrived. */
import { expect, test } from "vitest";
import { OldestArrivals } from "../../../engine/partition/arrival-times.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../kernels/kernel-cases.ts";

test(`the oldest time after an arrival number is never too late, and exact for recent arrivals (SVC_SEED=${seed})`, () => {
  const random = new Random(seed, 3);
  const times = new OldestArrivals();
  const all: { arrival: number; timeMs: number }[] = [];
  const day = 20_000;
  for (let arrival = 1; arrival <= 20_000; arrival++) {
    const lateMs = random.oneIn(50) ? random.below(600_000) : random.below(20);
    const timeMs = Math.max(0, 700_000 + arrival * 10 - lateMs);
    all.push({ arrival, timeMs });
    times.record("logs", arrival, day, timeMs * 1e6 + random.below(1_000_000));
  }
  expect(times.oldestMs("logs", 20_000)).toBeUndefined();
  expect(times.oldestMs("traces", 0)).toBeUndefined();
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { arrival, timeMs } of all.toReversed()) {
    oldestMs = Math.min(oldestMs, timeMs);
    const found = times.oldestMs("logs", arrival - 1)! - day * 86_400_000;
    // Recent arrivals have a minimum of their own each.
    if (arrival > 16_000) expect(found).toBe(oldestMs);
    else expect(found).toBeLessThanOrEqual(oldestMs);
  }
});

/** Measures how long work keeps this thread from other work. */
import { existsSync } from "node:fs";
import { findOwnThread, ThreadClock } from "../../engine/index.ts";
import { measureSlowness } from "../slowness.ts";

/** False where the system does not say how much CPU time a thread has used. */
export const canMeasureTurns = existsSync("/proc/thread-self/schedstat");

const slowness = measureSlowness();

/**
 * Runs work; returns the longest turn of this thread meanwhile, in CPU milliseconds of the machine for which bounds are
 * stated.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const clock = new ThreadClock(findOwnThread());
  let longestMs = 0;
  let lastMs = clock.nowMs();
  let isOver = false;
  const look = () => {
    const nowMs = clock.nowMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  clock.close();
  return longestMs / slowness;
}

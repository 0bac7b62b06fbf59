/** When alerts are evaluated: on a grid of time, each group of alerts some moments behind it. */
import { createHash } from "node:crypto";
import { evaluationEveryMsMax, spreadMsMax } from "../limits.ts";

export interface Grid {
  bucketMs: number;
  /** From one grid time to the next. */
  everyMs: number;
  /** From a grid time to the evaluation: the delay for late data and the group's share of the spread. */
  behindMs: number;
}

/** Groups that read the same rows have the same `spreadBy`, so that they read them together. */
export function gridOf(bucketSeconds: number, delayMs: number, spreadBy: string): Grid {
  const bucketMs = bucketSeconds * 1000;
  const everyMs = Math.min(bucketMs, evaluationEveryMsMax);
  const share = createHash("sha256").update(spreadBy).digest().readUInt32LE(0) / 2 ** 32;
  const spreadMs = Math.floor(share * Math.min(everyMs, spreadMsMax));
  return { bucketMs, everyMs, behindMs: delayMs + spreadMs };
}

/** End of the newest bucket that is judged by now. */
export function headMs({ bucketMs, everyMs, behindMs }: Grid, nowMs: number): number {
  const gridMs = floorTo(nowMs - behindMs, everyMs);
  return floorTo(gridMs, bucketMs);
}

/** The first time at which a bucket that ends behind `throughMs` is judged. */
export function bucketDueMs({ bucketMs, everyMs, behindMs }: Grid, throughMs: number): number {
  const endMs = floorTo(throughMs, bucketMs) + bucketMs;
  return Math.ceil(endMs / everyMs) * everyMs + behindMs;
}

/** The next time on the grid, whether a bucket has ended or not. */
export function gridDueMs({ everyMs, behindMs }: Grid, nowMs: number): number {
  return floorTo(nowMs - behindMs, everyMs) + everyMs + behindMs;
}

function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs;
}

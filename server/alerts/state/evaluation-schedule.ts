/** When alerts are evaluated: at regular ticks, after each of which every query group waits for a delay of its own. */
import { createHash } from "node:crypto";
import { evaluationEveryMsMax, spreadMsMax } from "../limits.ts";

export interface EvaluationSchedule {
  bucketMs: number;
  /** Interval between two ticks. */
  everyMs: number;
  /** Delay from a tick to the evaluation: the wait for late data, plus the group's share of the spread. */
  behindMs: number;
}

/**
 * `delayMs`: the wait for late data. `spreadBy`: its hash decides the group's share of the spread. Groups that read the
 * same rows pass the same text, so that one scan can serve them.
 */
export function makeSchedule(bucketSeconds: number, delayMs: number, spreadBy: string): EvaluationSchedule {
  const bucketMs = bucketSeconds * 1000;
  const everyMs = Math.min(bucketMs, evaluationEveryMsMax);
  const share = createHash("sha256").update(spreadBy).digest().readUInt32LE(0) / 2 ** 32;
  const spreadMs = Math.floor(share * Math.min(everyMs, spreadMsMax));
  return { bucketMs, everyMs, behindMs: delayMs + spreadMs };
}

/** End of the newest bucket that is complete, and so should be judged, at `nowMs`. */
export function newestCompleteMs({ bucketMs, everyMs, behindMs }: EvaluationSchedule, nowMs: number): number {
  const tickMs = floorTo(nowMs - behindMs, everyMs);
  return floorTo(tickMs, bucketMs);
}

/** The first time at which a bucket that ends after `throughMs` is judged. */
export function bucketDueMs({ bucketMs, everyMs, behindMs }: EvaluationSchedule, throughMs: number): number {
  const endMs = floorTo(throughMs, bucketMs) + bucketMs;
  return Math.ceil(endMs / everyMs) * everyMs + behindMs;
}

/** The evaluation time of the next tick, whether or not a bucket ends there. */
export function nextEvaluationMs({ everyMs, behindMs }: EvaluationSchedule, nowMs: number): number {
  return floorTo(nowMs - behindMs, everyMs) + everyMs + behindMs;
}

export function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs;
}

import type { QueryLimits } from "../../engine/index.ts";

/**
 * Limits for a later step of work that began at `startedAtMs` (a value of `performance.now()`). All steps share one
 * deadline, so the time that has passed is deducted from it.
 */
export function deductElapsedTime(startedAtMs: number, limits: QueryLimits | undefined): QueryLimits {
  if (limits?.deadlineMs === undefined) return limits ?? {};
  return { ...limits, deadlineMs: limits.deadlineMs - (performance.now() - startedAtMs) };
}

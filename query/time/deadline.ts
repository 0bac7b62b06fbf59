import type { QueryLimits } from "../../engine/index.ts";

/** The same limits for the later parts of work that began at a time of `performance.now()`: its deadline is one for all parts. */
export function deductElapsedTime(begunMs: number, limits: QueryLimits | undefined): QueryLimits {
  if (limits?.deadlineMs === undefined) return limits ?? {};
  return { ...limits, deadlineMs: limits.deadlineMs - (performance.now() - begunMs) };
}

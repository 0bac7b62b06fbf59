import { setImmediate } from "node:timers/promises";
import { Failure, type QueryLimits } from "../../engine/index.ts";

/**
 * Limits for a later step of work that began at `startedAtMs` (a value of `performance.now()`). All steps share one
 * deadline, so the time that has passed is deducted from it.
 */
export function deductElapsedTime(startedAtMs: number, limits: QueryLimits | undefined): QueryLimits {
  if (limits?.deadlineMs === undefined) return limits ?? {};
  return { ...limits, deadlineMs: limits.deadlineMs - (performance.now() - startedAtMs) };
}

/** Label reads between two looks at the clock: less than a millisecond of work. */
const readsPerCheck = 1_024;

/** The deadline of the work that the query thread does itself, after the store has answered. */
export class WorkDeadline {
  readonly #endAtMs: number;
  readonly #abort: AbortSignal | undefined;
  #reads = 0;

  constructor(startedAtMs: number, limits: QueryLimits | undefined) {
    this.#endAtMs = startedAtMs + (limits?.deadlineMs ?? Number.POSITIVE_INFINITY);
    this.#abort = limits?.abort;
  }

  /** Throws Failure "deadline" or "cancelled" where the query must end. */
  check(): void {
    if (this.#abort?.aborted === true) throw new Failure("cancelled", "the query was cancelled");
    if (performance.now() <= this.#endAtMs) return;
    throw new Failure("deadline", "the query took longer than its deadline; a shorter time range is faster");
  }

  /** To be called for each label that is read: loops over many series read their labels. */
  countRead(): void {
    if (++this.#reads % readsPerCheck === 0) this.check();
  }

  /** Lets other requests run, and throws where the query must end. */
  async yield(): Promise<void> {
    await setImmediate();
    this.check();
  }
}

import { Failure, type QueryLimits, Turns } from "../../engine/index.ts";

/**
 * Limits for a later step of work that began at `startedAtMs` (a value of `performance.now()`). All steps share one
 * deadline, so the time that has passed is deducted from it.
 */
export function deductElapsedTime(startedAtMs: number, limits: QueryLimits | undefined): QueryLimits {
  if (limits?.deadlineMs === undefined) return limits ?? {};
  return { ...limits, deadlineMs: limits.deadlineMs - (performance.now() - startedAtMs) };
}

/** Steps between two looks at the clock: less than a millisecond of work. */
const stepsPerCheck = 64;

/** The deadline and the turns of the work that the query thread does itself, after the store has answered. */
export class WorkDeadline {
  readonly #endAtMs: number;
  readonly #abort: AbortSignal | undefined;
  readonly #turns = new Turns();
  #steps = 0;

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

  /**
   * Counts steps of some microseconds at most; returns whether others should run now: every loop over series or points
   * has `if (work.isTurnOver()) await work.yield()`.
   */
  isTurnOver(steps = 1): boolean {
    this.#steps += steps;
    if (this.#steps < stepsPerCheck) return false;
    this.#steps = 0;
    return this.#turns.isOver;
  }

  /** Lets other requests run, and throws where the query must end. */
  async yield(): Promise<void> {
    await this.#turns.next();
    this.check();
  }
}

import type { Alert } from "./alert.ts";
import { bucketMsOf, windowBuckets } from "./alert.ts";
import { type AlertState, hasUntold } from "./alert-state.ts";
import { EvaluationLog } from "./evaluation-log.ts";
import { catchUpMsMax, clockBackMsMax, readBucketsMax } from "./limits.ts";

/** Whole buckets: start of the first, end of the last. */
export interface BucketRange {
  fromMs: number;
  toMs: number;
}

/** One alert under evaluation. Its state changes only in turns, each of which ends when the new state is stored. */
export class Subject {
  alert: Alert;
  state: AlertState;
  error: string | null = null;
  readonly log = new EvaluationLog();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(alert: Alert, state: AlertState) {
    this.alert = alert;
    this.state = state;
  }

  /** Waits for the turns before. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Whether the clock has gone back so far that evaluation must begin anew. */
  isAhead(headMs: number): boolean {
    const { throughMs } = this.state;
    return throughMs !== null && throughMs - headMs > clockBackMsMax + bucketMsOf(this.alert);
  }

  /** The buckets to read now; empty where only what is known already is to be judged or told; undefined where nothing is to be done. */
  nextRange(headMs: number): BucketRange | undefined {
    const { throughMs, windowBuckets: known } = this.state;
    const bucketMs = bucketMsOf(this.alert);
    const windowMs = windowBuckets(this.alert) * bucketMs;
    if (throughMs === null) return { fromMs: Math.max(0, headMs - windowMs), toMs: headMs };
    if (windowBuckets(this.alert) > known) {
      const toMs = Math.max(throughMs, Math.min(headMs, throughMs + readBucketsMax * bucketMs));
      return { fromMs: Math.max(0, throughMs - windowMs), toMs };
    }
    if (headMs > throughMs) {
      const oldestMs = Math.ceil((headMs - catchUpMsMax) / bucketMs) * bucketMs;
      const fromMs = Math.min(Math.max(throughMs, oldestMs), headMs - bucketMs);
      return { fromMs, toMs: Math.min(headMs, fromMs + readBucketsMax * bucketMs) };
    }
    return this.isUnsettled() ? { fromMs: throughMs, toMs: throughMs } : undefined;
  }

  /** A rule waits to be judged for the first time, or a fire to be told. */
  isUnsettled(): boolean {
    const { evaluationRules } = this.alert.timeseries;
    const isNew = Object.values(this.state.instances).some(({ rules }) =>
      evaluationRules.some(({ name }) => rules[name] === undefined),
    );
    return (isNew && this.state.buckets.length > 0) || hasUntold(this.state);
  }
}

/** Groups of alerts with the same query: one query reads for all of them, and they share one window. */
import { createHash } from "node:crypto";
import type { Signal } from "../../engine/index.ts";
import { QueryLog } from "./evaluation-log.ts";
import { catchUpMsMax, clockBackMsMax, readBucketsMax } from "./limits.ts";
import type { QueryShape } from "./query/query-shape.ts";
import { type AlertDefinition, ownDelayMsOf, queryOf, windowBuckets } from "./state/alert-definition.ts";
import { rewindState } from "./state/alert-edit.ts";
import type { AlertState } from "./state/alert-state.ts";
import {
  bucketDueMs,
  type EvaluationSchedule,
  floorTo,
  makeSchedule,
  nextEvaluationMs,
} from "./state/evaluation-schedule.ts";
import type { Window } from "./state/window.ts";

/** A range of whole buckets: start of the first, end of the last. */
export interface BucketRange {
  fromMs: number;
  toMs: number;
}

/** What a group needs of an alert in it. */
export interface GroupMember {
  readonly alert: AlertDefinition;
  state: AlertState;
  isUnsaved: boolean;
  /** End of the newest bucket that was judged or skipped; null before the first. */
  throughMs(): number | null;
  hasPendingWork(): boolean;
}

/** What is known of the query once it is planned. */
interface GroupShape extends Pick<QueryShape, "unlabelled" | "signals" | "missing"> {
  schedule: EvaluationSchedule;
  /** The wait for late data. */
  delayMs: number;
}

/** How long rows may take to arrive where alerts do not say it themselves. */
export interface Delays {
  delayMs: number;
  signalDelaysMs: Partial<Record<Signal, number>>;
}

/** Rows that came after their bucket had been judged, since the server started. */
export interface LateRows {
  /** Judged buckets that they changed, and that were judged again. */
  judgedAgain: number;
  /** Judged buckets that they changed, and that keep their verdict: they came too late. */
  tooLate: number;
  /** Readings before which rows of the signal came that are older than the window: these may be the alert's or not. */
  beyondWindow: number;
}

/** Alerts with the same query, bucket size, delay and access rights. The window and the states change only within `inTurn`. */
export class QueryGroup<Member extends GroupMember> {
  /** Also the id of its window. */
  readonly id: string;
  readonly query: string;
  readonly bucketMs: number;
  readonly readsAs: string;
  /** The wait for late data that its alerts ask for. */
  readonly ownDelayMs: number | undefined;
  readonly lateRows: LateRows = { judgedAgain: 0, tooLate: 0, beyondWindow: 0 };
  readonly alerts = new Set<Member>();
  readonly log = new QueryLog();
  window: Window | undefined;
  /** Why the last evaluation failed; null where it succeeded. */
  error: string | null = null;
  dueMs: number;
  isRunning = false;
  /** Undefined until the first evaluation: planning all queries at a start would take too long. */
  shape: GroupShape | undefined;
  /** Arrival position of the newest reading; undefined before the first. */
  arrivalsRead: number | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(alert: AlertDefinition, window: Window | undefined, nowMs: number) {
    const { query, bucketSeconds } = queryOf(alert);
    this.id = windowId(alert);
    this.query = query;
    this.bucketMs = bucketSeconds * 1000;
    this.readsAs = alert.readsAs ?? "";
    this.ownDelayMs = ownDelayMsOf(alert);
    this.window = window;
    this.dueMs = nowMs;
  }

  /** Runs `act` once the `act` of every earlier call has settled. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Plans the query if that has not been done. Throws a QueryError, an Error for people. */
  prepare(shapeOf: (query: string) => QueryShape, delays: Delays): GroupShape {
    if (this.shape === undefined) {
      const { selector, unlabelled, signals, missing } = shapeOf(this.query);
      const delayMs = this.ownDelayMs ?? signalDelayMs(signals, delays);
      const schedule = makeSchedule(this.bucketMs / 1000, delayMs, selector);
      this.shape = { schedule, delayMs, unlabelled, signals, missing };
    }
    return this.shape;
  }

  /** True also where the clock has gone back so far that `dueMs` would not come for long. */
  isDue(nowMs: number): boolean {
    if (this.isRunning) return false;
    if (this.dueMs <= nowMs || this.dueMs === Number.POSITIVE_INFINITY) return this.dueMs <= nowMs;
    const { everyMs, behindMs } = this.shape?.schedule ?? { everyMs: 0, behindMs: 0 };
    return this.dueMs - nowMs > clockBackMsMax + this.bucketMs + everyMs + behindMs;
  }

  /**
   * Starts again without a window where the clock has gone back too far to wait for it. Fires stay open. A longer delay
   * that alerts ask for looks like a clock that has gone back by as much.
   */
  rewind(newestCompleteMs: number, nowMs: number): void {
    if (
      this.window === undefined ||
      this.window.throughMs - newestCompleteMs <= clockBackMsMax + this.bucketMs + (this.ownDelayMs ?? 0)
    )
      return;
    this.window = undefined;
    for (const evaluated of this.alerts) {
      evaluated.state = rewindState(evaluated.state, nowMs);
      evaluated.isUnsaved = true;
    }
  }

  /**
   * Returns the buckets to read now. The range is empty where there is nothing to read, but buckets of the window are
   * still to be judged, or people to be notified. Undefined where nothing is to be done. `isRevising`: buckets of the
   * window are to be read again.
   */
  nextRange(newestCompleteMs: number, isRevising: boolean): BucketRange | undefined {
    const { bucketMs, window } = this;
    const windowMs = this.#windowBuckets() * bucketMs;
    if (window === undefined) {
      const judgeFromMs = Math.max(
        newestCompleteMs - catchUpMsMax,
        this.#oldestThroughMs(newestCompleteMs - bucketMs),
      );
      const startMs = floorTo(judgeFromMs, bucketMs);
      const toMs = Math.min(newestCompleteMs, startMs + readBucketsMax * bucketMs);
      return { fromMs: Math.max(0, startMs + bucketMs - windowMs), toMs };
    }
    const { throughMs, filledBuckets } = window;
    if (windowMs > filledBuckets * bucketMs) {
      const toMs = Math.max(throughMs, Math.min(newestCompleteMs, throughMs + readBucketsMax * bucketMs));
      return { fromMs: Math.max(0, throughMs - windowMs), toMs };
    }
    if (newestCompleteMs > throughMs) {
      const oldestMs = Math.ceil((newestCompleteMs - catchUpMsMax) / bucketMs) * bucketMs;
      const fromMs = Math.min(Math.max(throughMs, oldestMs), newestCompleteMs - bucketMs);
      return { fromMs, toMs: Math.min(newestCompleteMs, fromMs + readBucketsMax * bucketMs) };
    }
    return isRevising || !this.#isSettled() ? { fromMs: throughMs, toMs: throughMs } : undefined;
  }

  /** Whether every alert has judged all buckets of the window, and has nothing else to do. */
  #isSettled(): boolean {
    for (const evaluated of this.alerts)
      if (evaluated.hasPendingWork() || this.isBehind(evaluated)) return false;
    return true;
  }

  /** Returns whether an alert has not judged all buckets of the window. */
  isBehind(evaluated: Member): boolean {
    const throughMs = evaluated.throughMs();
    return this.window !== undefined && (throughMs === null || throughMs < this.window.throughMs);
  }

  /** Start of the first bucket that an alert judges. A new alert begins with the newest bucket. */
  judgedFromMs(evaluated: Member, newestCompleteMs: number): number {
    return evaluated.throughMs() ?? newestCompleteMs - this.bucketMs;
  }

  /** The time of the next evaluation, computed after one. */
  nextDueMs(newestCompleteMs: number, nowMs: number): number {
    const { shape, window } = this;
    if (shape === undefined) return Number.POSITIVE_INFINITY;
    const { schedule } = shape;
    if (this.error !== null) return nextEvaluationMs(schedule, nowMs);
    if (window === undefined || window.throughMs < newestCompleteMs) return nowMs;
    let dueMs = bucketDueMs(schedule, window.throughMs);
    // Rows that come late are looked for at every tick, also within a long bucket.
    if (schedule.bucketMs > schedule.everyMs) dueMs = Math.min(dueMs, nextEvaluationMs(schedule, nowMs));
    for (const evaluated of this.alerts) {
      if (this.isBehind(evaluated)) return nowMs;
      if (evaluated.hasPendingWork()) dueMs = Math.min(dueMs, nextEvaluationMs(schedule, nowMs));
    }
    return dueMs;
  }

  /**
   * Start of the first bucket of the window that is to be compared with what is stored now; undefined where none is.
   * `oldestMs`: time of the oldest row that arrived since the last reading, undefined where none did.
   */
  comparedFromMs(oldestMs: number | undefined, nowMs: number): number | undefined {
    const { window, bucketMs } = this;
    if (window === undefined) return undefined;
    const { buckets, throughMs, incomplete = [] } = window;
    const due = incomplete.find(({ untilMs }) => untilMs !== null && untilMs <= nowMs);
    const dueMs = due?.bucketMs ?? Number.POSITIVE_INFINITY;
    const arrivedMs = oldestMs === undefined ? Number.POSITIVE_INFINITY : floorTo(oldestMs, bucketMs);
    const fromMs = Math.max(Math.min(dueMs, arrivedMs), buckets[0] ?? throughMs);
    return fromMs < throughMs ? fromMs : undefined;
  }

  /** Whether some bucket of the window awaits rows. */
  isAwaiting(): boolean {
    return this.window?.incomplete?.some(({ untilMs }) => untilMs !== null) ?? false;
  }

  /**
   * Start of the first bucket that the query reads for a range. Before a bucket that may be judged again, it also reads
   * those that its rules look at.
   */
  readFromMs({ fromMs }: BucketRange, comparedFromMs: number | undefined): number {
    if (comparedFromMs === undefined) return fromMs;
    return Math.max(0, Math.min(fromMs, comparedFromMs - (this.#windowBuckets() - 1) * this.bucketMs));
  }

  #windowBuckets(): number {
    let most = 0;
    for (const { alert } of this.alerts) most = Math.max(most, windowBuckets(alert));
    return most;
  }

  #oldestThroughMs(newestMs: number): number {
    let oldestMs = newestMs;
    for (const evaluated of this.alerts) oldestMs = Math.min(oldestMs, evaluated.throughMs() ?? newestMs);
    return oldestMs;
  }
}

/** The longest wait of the signals that a query reads. */
export function signalDelayMs(signals: readonly Signal[], { delayMs, signalDelaysMs }: Delays): number {
  return Math.max(0, ...signals.map((signal) => signalDelaysMs[signal] ?? delayMs));
}

/** The id of the window, and of the group: equal for alerts with the same query, bucket size, delay and access rights. */
export function windowId(alert: AlertDefinition): string {
  const { query, bucketSeconds } = queryOf(alert);
  const delayMs = ownDelayMsOf(alert);
  const identity = JSON.stringify([
    ...[bucketSeconds, query, alert.readsAs ?? ""],
    ...(delayMs === undefined ? [] : [delayMs]),
  ]);
  return createHash("sha256").update(identity).digest("base64url").slice(0, 22);
}

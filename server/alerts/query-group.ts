/** Alerts that ask the same: one query answers them all, and they look at one window. */
import { createHash } from "node:crypto";
import type { Signal } from "../../engine/index.ts";
import { QueryLog } from "./evaluation-log.ts";
import { catchUpMsMax, clockBackMsMax, readBucketsMax } from "./limits.ts";
import type { QueryShape } from "./query/query-shape.ts";
import { type AlertDefinition, queryOf, windowBuckets } from "./state/alert-definition.ts";
import type { AlertState } from "./state/alert-state.ts";
import { rewindState } from "./state/edit.ts";
import { bucketDueMs, type Grid, gridDueMs, gridOf } from "./state/grid.ts";
import type { Window } from "./state/window.ts";

/** Whole buckets: start of the first, end of the last. */
export interface BucketRange {
  fromMs: number;
  toMs: number;
}

/** What a group reads of an alert in it. */
export interface GroupMember {
  readonly alert: AlertDefinition;
  state: AlertState;
  isUnsaved: boolean;
  throughMs(): number | null;
  isUnsettled(): boolean;
}

/** Alerts whose query, bucket size and rights are the same. What they remember changes only in turns of the group. */
export class QueryGroup<Member extends GroupMember> {
  /** Of its window. */
  readonly id: string;
  readonly query: string;
  readonly bucketMs: number;
  readonly readsAs: string;
  readonly alerts = new Set<Member>();
  readonly log = new QueryLog();
  window: Window | undefined;
  /** Why the last evaluation failed. */
  error: string | null = null;
  dueMs: number;
  isRunning = false;
  /** Of its query; undefined until it is evaluated for the first time, since a start has no time to plan all. */
  shape: { grid: Grid; unlabelled: boolean; signals: readonly Signal[] } | undefined;
  /** Arrivals that the newest reading has seen; undefined before the first. */
  arrivalsRead: number | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(alert: AlertDefinition, window: Window | undefined, nowMs: number) {
    const { query, bucketSeconds } = queryOf(alert);
    this.id = windowId(alert);
    this.query = query;
    this.bucketMs = bucketSeconds * 1000;
    this.readsAs = alert.readsAs ?? "";
    this.window = window;
    this.dueMs = nowMs;
  }

  /** Waits for the turns before. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Throws an Error for people where the query is none. */
  prepare(shapeOf: (query: string) => QueryShape, delayMs: number): Grid {
    if (this.shape === undefined) {
      const { selector, unlabelled, signals } = shapeOf(this.query);
      this.shape = { grid: gridOf(this.bucketMs / 1000, delayMs, selector), unlabelled, signals };
    }
    return this.shape.grid;
  }

  /** Also where the clock has gone back so far that the time would not come for long. */
  isDue(nowMs: number): boolean {
    if (this.isRunning) return false;
    if (this.dueMs <= nowMs || this.shape === undefined) return this.dueMs <= nowMs;
    const { everyMs, behindMs } = this.shape.grid;
    return this.dueMs - nowMs > clockBackMsMax + this.bucketMs + everyMs + behindMs;
  }

  /** Begins anew where the clock has gone back so far that waiting for it makes no sense. */
  rewind(headMs: number, nowMs: number): void {
    if (this.window === undefined || this.window.throughMs - headMs <= clockBackMsMax + this.bucketMs) return;
    this.window = undefined;
    for (const evaluated of this.alerts) {
      evaluated.state = rewindState(evaluated.state, nowMs);
      evaluated.isUnsaved = true;
    }
  }

  /** The buckets to read now; empty where only what is known already is to be judged or told; undefined where nothing is to be done. */
  nextRange(headMs: number): BucketRange | undefined {
    const { bucketMs, window } = this;
    const windowMs = this.#windowBuckets() * bucketMs;
    if (window === undefined) {
      const judgedMs = Math.max(headMs - catchUpMsMax, this.#oldestPosition(headMs - bucketMs));
      const startMs = floorTo(judgedMs, bucketMs);
      const toMs = Math.min(headMs, startMs + readBucketsMax * bucketMs);
      return { fromMs: Math.max(0, startMs + bucketMs - windowMs), toMs };
    }
    const { throughMs, filledBuckets } = window;
    if (windowMs > filledBuckets * bucketMs) {
      const toMs = Math.max(throughMs, Math.min(headMs, throughMs + readBucketsMax * bucketMs));
      return { fromMs: Math.max(0, throughMs - windowMs), toMs };
    }
    if (headMs > throughMs) {
      const oldestMs = Math.ceil((headMs - catchUpMsMax) / bucketMs) * bucketMs;
      const fromMs = Math.min(Math.max(throughMs, oldestMs), headMs - bucketMs);
      return { fromMs, toMs: Math.min(headMs, fromMs + readBucketsMax * bucketMs) };
    }
    const isSettled = ![...this.alerts].some((each) => each.isUnsettled() || this.isBehind(each));
    return isSettled ? undefined : { fromMs: throughMs, toMs: throughMs };
  }

  /** It has yet to judge what the window holds already. */
  isBehind(evaluated: Member): boolean {
    const throughMs = evaluated.throughMs();
    return this.window !== undefined && (throughMs === null || throughMs < this.window.throughMs);
  }

  /** Start of the first bucket that an alert judges: of one that is new, the newest. */
  judgedFromMs(evaluated: Member, headMs: number): number {
    return evaluated.throughMs() ?? headMs - this.bucketMs;
  }

  /** When to look again after an evaluation. */
  nextDueMs(headMs: number, nowMs: number): number {
    const { shape, window } = this;
    if (shape === undefined) return Number.POSITIVE_INFINITY;
    const { grid } = shape;
    if (this.error !== null) return gridDueMs(grid, nowMs);
    if (window === undefined || window.throughMs < headMs) return nowMs;
    let dueMs = bucketDueMs(grid, window.throughMs);
    for (const evaluated of this.alerts) {
      if (this.isBehind(evaluated)) return nowMs;
      if (evaluated.isUnsettled()) dueMs = Math.min(dueMs, gridDueMs(grid, nowMs));
    }
    return dueMs;
  }

  /**
   * What is read for a range: not what is lost at its beginning; of the window the buckets in which rows have come since it was read.
   * `oldestMs`: time of the oldest of those rows.
   */
  readRange(
    { fromMs, toMs }: BucketRange,
    isLost: (startMs: number) => boolean,
    oldestMs: number | undefined,
  ): BucketRange {
    const { bucketMs, window } = this;
    let startMs = fromMs;
    while (startMs < toMs && isLost(startMs)) startMs += bucketMs;
    if (window?.throughMs !== fromMs || startMs !== fromMs || startMs === toMs) {
      return { fromMs: startMs, toMs };
    }
    const oldestBucketMs = floorTo(oldestMs ?? fromMs, bucketMs);
    const windowFromMs = fromMs - window.filledBuckets * bucketMs;
    return { fromMs: Math.max(0, Math.min(fromMs, Math.max(windowFromMs, oldestBucketMs))), toMs };
  }

  #windowBuckets(): number {
    let most = 0;
    for (const { alert } of this.alerts) most = Math.max(most, windowBuckets(alert));
    return most;
  }

  #oldestPosition(newestMs: number): number {
    let oldestMs = newestMs;
    for (const evaluated of this.alerts) oldestMs = Math.min(oldestMs, evaluated.throughMs() ?? newestMs);
    return oldestMs;
  }
}

/** The same for alerts that ask the same with the same rights. */
export function windowId(alert: AlertDefinition): string {
  const { query, bucketSeconds } = queryOf(alert);
  const asked = JSON.stringify([bucketSeconds, query, alert.readsAs ?? ""]);
  return createHash("sha256").update(asked).digest("base64url").slice(0, 22);
}

function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs;
}

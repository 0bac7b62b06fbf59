/**
 * One evaluation of a query group: reads the new buckets, lets all alerts of the group judge them, and stores what
 * changed together with the notifications.
 */

import { Semaphore } from "../throttle/semaphore.ts";
import type { EvaluatedAlert } from "./evaluated-alert.ts";
import type { AlertStep, StepCommit } from "./evaluation-commit.ts";
import type { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import { EventLoopPacer } from "./event-loop-pacer.ts";
import { advancesInFlightMax, evaluationTimeoutMs, plansAtOnce } from "./limits.ts";
import { TimedQueries } from "./query/timed-queries.ts";
import type { BucketRange, QueryGroup } from "./query-group.ts";
import type { AlertRecords } from "./records.ts";
import { type Advanced, advance } from "./state/advance.ts";
import type { AlertState } from "./state/alert-state.ts";
import type { Downtime } from "./state/downtime.ts";
import { newestCompleteMs } from "./state/evaluation-schedule.ts";
import { countLateBuckets, countMissedBuckets } from "./state/lateness.ts";
import type { QueryReading } from "./state/read-series.ts";
import type { Window } from "./state/window.ts";

interface EvaluationParts {
  options: EvaluatorOptions;
  records: AlertRecords;
  steps: StepCommit;
  downtime: Downtime;
  metrics: EvaluationMetrics;
}

export class QueryEvaluation {
  readonly #parts: EvaluationParts;
  readonly #queries = new TimedQueries(evaluationTimeoutMs);
  #isClosed = false;
  readonly #advancing = new Semaphore(advancesInFlightMax);
  readonly #planning = new EventLoopPacer(plansAtOnce);

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
  }

  /** Aborts running queries, and starts no more. */
  close(): void {
    this.#isClosed = true;
    this.#queries.abortAll();
  }

  /** Evaluates a group once. Resolves when the results are stored, or the failure is logged; does not reject. */
  async evaluate(group: QueryGroup<EvaluatedAlert>, nowMs: number): Promise<void> {
    if (this.#isClosed) return;
    group.isRunning = true;
    const begunMs = performance.now();
    let headEndMs = Number.NEGATIVE_INFINITY;
    try {
      headEndMs = await this.#headOf(group, nowMs);
      group.rewind(headEndMs, nowMs);
      const range = group.nextRange(headEndMs);
      if (range !== undefined) await this.#evaluateRange(group, range, headEndMs, nowMs);
    } catch (error) {
      if (this.#isClosed) return;
      this.#recordFailure(group, error, performance.now() - begunMs, nowMs);
    } finally {
      this.#parts.metrics.evaluationSeconds.observe((performance.now() - begunMs) / 1000);
      group.dueMs = group.nextDueMs(headEndMs, nowMs);
      group.isRunning = false;
    }
  }

  /** Returns the end of the newest complete bucket. The query is planned when it is first evaluated. */
  async #headOf(group: QueryGroup<EvaluatedAlert>, nowMs: number): Promise<number> {
    const { delayMs, shapeOf } = this.#parts.options;
    if (group.shape === undefined) await this.#planning.wait();
    return newestCompleteMs(group.prepare(shapeOf, delayMs), nowMs);
  }

  async #evaluateRange(
    group: QueryGroup<EvaluatedAlert>,
    range: BucketRange,
    headEndMs: number,
    nowMs: number,
  ): Promise<void> {
    const { downtime } = this.#parts;
    const isLost = (startMs: number) => downtime.overlaps(startMs, startMs + group.bucketMs);
    const { unlabelled, signals } = group.shape!;
    const { arrivals } = this.#parts.options;
    // Taken before the query runs, so that rows which arrive meanwhile count as unread.
    const arrived = arrivals.position();
    const oldestMs =
      group.arrivalsRead === undefined ? undefined : arrivals.oldestMs(signals, group.arrivalsRead);
    const begunMs = performance.now();
    const series = await this.#read(group, group.readRange(range, isLost, oldestMs));
    const queryMs = performance.now() - begunMs;
    const reading: QueryReading = { ...range, series, unlabelled, isLost };
    await this.#advancing.run(() =>
      group.inTurn(async () => {
        const isUsed = await this.#advance(group, reading, queryMs, headEndMs, nowMs);
        if (isUsed && range.fromMs < range.toMs) group.arrivalsRead = arrived;
      }),
    );
  }

  async #read(
    { query, bucketMs, readsAs }: QueryGroup<EvaluatedAlert>,
    { fromMs, toMs }: BucketRange,
  ): Promise<QueryReading["series"]> {
    if (fromMs >= toMs) return [];
    const { metrics, options } = this.#parts;
    const begunMs = performance.now();
    metrics.queries.add();
    const request = { query, startMs: fromMs, endMs: toMs - 1, bucketSeconds: bucketMs / 1000, readsAs };
    const series = await this.#queries.run((signal) => options.query(request, signal));
    metrics.querySeconds.observe((performance.now() - begunMs) / 1000);
    return series;
  }

  /** Judges a reading and stores the results. Returns false where the reading does not fit the group any more. */
  async #advance(
    group: QueryGroup<EvaluatedAlert>,
    reading: QueryReading,
    queryMs: number,
    headEndMs: number,
    nowMs: number,
  ): Promise<boolean> {
    // An edit while the query ran may have changed which buckets the group needs.
    const range = group.alerts.size === 0 ? undefined : group.nextRange(headEndMs);
    if (range?.fromMs !== reading.fromMs || range.toMs !== reading.toMs) return false;
    const { metrics } = this.#parts;
    const alerts = [...group.alerts];
    const fromMs = alerts.map((evaluated) => group.judgedFromMs(evaluated, headEndMs));
    const followers = alerts.map(({ alert, state }, i) => ({ alert, state, fromMs: fromMs[i]! }));
    const before = group.window;
    const advanced = advance(followers, before, reading);
    await this.#store(group, alerts, fromMs, advanced, reading.toMs >= headEndMs);
    if (before !== undefined) {
      metrics.missed.add(alerts.length * countMissedBuckets(before, reading, group.bucketMs));
      metrics.lateBuckets.add(alerts.length * countLateBuckets(before, reading));
    }
    const { fromMs: readFromMs, toMs } = reading;
    const entry = { atMs: nowMs, queryMs, range: { fromMs: readFromMs, toMs }, error: null };
    group.log.add({ ...entry, window: group.window });
    group.error = null;
    metrics.evaluations.add(alerts.length, { outcome: "judged" });
    for (const { to } of advanced.advances.flatMap((each) => each?.transitions ?? [])) {
      metrics.transitions.add(1, { to });
    }
    return true;
  }

  /** Stores the window, and the states of the alerts that changed, in one commit. */
  async #store(
    group: QueryGroup<EvaluatedAlert>,
    alerts: readonly EvaluatedAlert[],
    fromMs: readonly number[],
    { window, advances }: Advanced,
    isHead: boolean,
  ): Promise<void> {
    const { records, steps } = this.#parts;
    const changed: { evaluated: EvaluatedAlert; step: AlertStep }[] = [];
    for (const [i, evaluated] of alerts.entries()) {
      const advanced = advances[i] ?? null;
      const state = attachToWindow(advanced?.state ?? evaluated.state, group, fromMs[i]!, window);
      const isIdle = state === evaluated.state && !evaluated.isUnsaved && !evaluated.hasPendingWork();
      if (isIdle) continue;
      const { opened = [], closed = [], transitions = [] } = advanced ?? {};
      const { alert } = evaluated;
      changed.push({
        evaluated,
        step: { alertId: alert.metadata.id, alert, state, opened, closed, transitions },
      });
    }
    const isMoved =
      window.throughMs !== group.window?.throughMs || window.filledBuckets !== group.window.filledBuckets;
    const changes = isMoved ? [records.windowChange(group.id, window)] : [];
    const states = await steps.store(
      changed.map(({ step }) => step),
      isHead,
      changes,
    );
    group.window = window;
    for (const [i, { evaluated }] of changed.entries()) {
      evaluated.state = states[i]!;
      evaluated.isUnsaved = false;
      evaluated.log.recordState(evaluated.state);
    }
  }

  /** Logs an error once as long as the same one repeats. */
  #recordFailure(group: QueryGroup<EvaluatedAlert>, error: unknown, queryMs: number, nowMs: number): void {
    const { metrics, options } = this.#parts;
    const message = error instanceof Error ? error.message : String(error);
    if (group.error !== message) {
      const [first, ...others] = Array.from(group.alerts, ({ alert }) => JSON.stringify(alert.metadata.name));
      const more = others.length === 0 ? "" : ` and ${others.length} more`;
      options.log("warn", `alert ${first}${more}: ${message}`);
    }
    group.error = message;
    group.log.add({ atMs: nowMs, queryMs, range: null, error: message, window: group.window });
    metrics.evaluations.add(group.alerts.size, { outcome: "failed" });
  }
}

/** Makes an alert follow the window once it has judged, or need not judge, all buckets up to the window's end. */
function attachToWindow(
  state: AlertState,
  { id }: QueryGroup<EvaluatedAlert>,
  fromMs: number,
  { throughMs }: Window,
): AlertState {
  if (state.window === id) return state;
  const hasCaughtUp = state.throughMs === null ? throughMs > fromMs : throughMs >= fromMs;
  return hasCaughtUp ? { ...state, window: id, throughMs } : state;
}

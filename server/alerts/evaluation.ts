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
import { floorTo, newestCompleteMs } from "./state/evaluation-schedule.ts";
import { type AwaitedRows, awaitRows, isCompleted, reachMsOf } from "./state/incomplete-buckets.ts";
import { countMissedBuckets } from "./state/lateness.ts";
import type { IncompleteBucket } from "./state/missing-rows.ts";
import type { QueryReading } from "./state/read-series.ts";
import type { Window } from "./state/window.ts";

interface TimedReading extends QueryReading {
  queryMs: number;
}

interface EvaluationTime {
  headEndMs: number;
  nowMs: number;
  /** Buckets of the window were read again. */
  isRevising: boolean;
}

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
      await this.#evaluateNext(group, headEndMs, nowMs);
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
    const { options } = this.#parts;
    if (group.shape === undefined) await this.#planning.wait();
    return newestCompleteMs(group.prepare(options.shapeOf, options).schedule, nowMs);
  }

  async #evaluateNext(group: QueryGroup<EvaluatedAlert>, headEndMs: number, nowMs: number): Promise<void> {
    const { arrivals, lateRowsMs } = this.#parts.options;
    const oldestMs = this.#oldestArrivedMs(group);
    const comparedFromMs = group.comparedFromMs(oldestMs, nowMs);
    // Without anything to judge again, late rows are counted when the next bucket is read.
    const isRevising = comparedFromMs !== undefined && (lateRowsMs > 0 || group.isAwaiting());
    const range = group.nextRange(headEndMs, isRevising);
    if (range === undefined) return;
    // Taken before the query runs, so that rows which arrive meanwhile count as unread.
    const arrived = arrivals.position();
    const reading = await this.#readRange(group, range, comparedFromMs, nowMs);
    await this.#advancing.run(() =>
      group.inTurn(async () => {
        const isUsed = await this.#advance(group, reading, { headEndMs, nowMs, isRevising });
        if (!isUsed || reading.readFromMs >= reading.toMs) return;
        if (group.arrivalsRead !== undefined) this.#countBeyondWindow(group, oldestMs);
        group.arrivalsRead = arrived;
      }),
    );
  }

  /**
   * Time of the oldest row that arrived since the last reading. After a start it is not known what arrived before, and so
   * the whole window is read again.
   */
  #oldestArrivedMs({ shape, arrivalsRead }: QueryGroup<EvaluatedAlert>): number | undefined {
    return arrivalsRead === undefined
      ? 0
      : this.#parts.options.arrivals.oldestMs(shape!.signals, arrivalsRead);
  }

  async #readRange(
    group: QueryGroup<EvaluatedAlert>,
    range: BucketRange,
    comparedFromMs: number | undefined,
    nowMs: number,
  ): Promise<TimedReading> {
    const { delayMs, unlabelled } = group.shape!;
    const readFromMs = group.readFromMs(range, comparedFromMs);
    const begunMs = performance.now();
    const whole = { fromMs: readFromMs, toMs: range.toMs };
    const series = await this.#read(group, whole);
    const incomplete = await this.#incompleteOf(group, whole, nowMs);
    return {
      ...range,
      ...{ readFromMs, series, unlabelled },
      comparedFromMs: comparedFromMs ?? Number.POSITIVE_INFINITY,
      revisedAfterMs: nowMs - delayMs - this.#parts.options.lateRowsMs,
      incomplete: (bucketMs) => incomplete.get(bucketMs),
      queryMs: performance.now() - begunMs,
    };
  }

  /** The buckets of the window and of a range that may lack rows, by their starts. */
  async #incompleteOf(
    group: QueryGroup<EvaluatedAlert>,
    { fromMs, toMs }: BucketRange,
    nowMs: number,
  ): Promise<ReadonlyMap<number, IncompleteBucket>> {
    const { bucketMs, window } = group;
    const awaited = this.#awaitedRows(group);
    const known = new Map(window?.incomplete?.map((each) => [each.bucketMs, each]));
    const found = new Map<number, IncompleteBucket>();
    const due: IncompleteBucket[] = [];
    const firstMs = Math.min(fromMs, window?.buckets[0] ?? fromMs);
    const reachMs = reachMsOf(awaited);
    const gapsFromMs = firstMs - reachMs - bucketMs;
    if (known.size === 0 && awaited.gaps(gapsFromMs, toMs + awaited.delayMs).length === 0) return found;
    const judged = new Set(window?.buckets);
    for (let startMs = firstMs; startMs < toMs; startMs += bucketMs) {
      const was = known.get(startMs);
      // A bucket of the window that was complete stays so.
      if (was === undefined && judged.has(startMs)) continue;
      const incomplete = was?.untilMs === null ? was : awaitRows(startMs, awaited);
      if (incomplete === undefined) continue;
      if (incomplete.untilMs === null || incomplete.untilMs > nowMs) found.set(startMs, incomplete);
      else due.push(incomplete);
    }
    const withRows = await this.#bucketsOfGaps(group, due, awaited);
    for (const each of due) {
      const isInReach = (rowsMs: number) => rowsMs <= each.bucketMs && rowsMs >= each.bucketMs - reachMs;
      if (isCompleted(each.bucketMs, awaited, withRows.some(isInReach))) continue;
      found.set(each.bucketMs, { ...each, untilMs: null });
    }
    return found;
  }

  #awaitedRows({ bucketMs, shape }: QueryGroup<EvaluatedAlert>): AwaitedRows {
    const { downtime, options } = this.#parts;
    const { delayMs, missing } = shape!;
    const gaps = (fromMs: number, toMs: number) => downtime.within(fromMs, toMs);
    return { ...missing, bucketMs, delayMs, retryWaitMs: options.retryWaitMs, gaps };
  }

  /** Starts of the buckets, of those that the query looks at for these, in which rows from a downtime are stored. */
  async #bucketsOfGaps(
    { query, bucketMs, readsAs }: QueryGroup<EvaluatedAlert>,
    due: readonly IncompleteBucket[],
    awaited: AwaitedRows,
  ): Promise<number[]> {
    const [oldest, newest] = [due[0], due.at(-1)];
    if (oldest === undefined || newest === undefined) return [];
    const range = { fromMs: oldest.bucketMs - reachMsOf(awaited), toMs: newest.bucketMs + bucketMs };
    const found: number[] = [];
    for (const [fromMs, toMs] of awaited.gaps(range.fromMs, range.toMs)) {
      const startMs = Math.max(fromMs, range.fromMs);
      const endMs = Math.min(toMs, range.toMs) - 1;
      const request = { query, startMs, endMs, bucketSeconds: bucketMs / 1000, readsAs };
      const { bucketsWithRows } = this.#parts.options;
      found.push(...(await this.#queries.run((signal) => bucketsWithRows(request, signal))));
    }
    return found;
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
    reading: TimedReading,
    { headEndMs, nowMs, isRevising }: EvaluationTime,
  ): Promise<boolean> {
    // An edit while the query ran may have changed which buckets the group needs.
    const range = group.alerts.size === 0 ? undefined : group.nextRange(headEndMs, isRevising);
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
      this.#countLateRows(group, advanced);
    }
    const { fromMs: readFromMs, toMs, queryMs } = reading;
    const entry = { atMs: nowMs, queryMs, range: { fromMs: readFromMs, toMs }, error: null };
    group.log.add({ ...entry, window: group.window });
    group.error = null;
    metrics.evaluations.add(alerts.length, { outcome: "judged" });
    for (const { to } of advanced.advances.flatMap((each) => each?.transitions ?? [])) {
      metrics.transitions.add(1, { to });
    }
    return true;
  }

  /** Counts that rows of the signals came which are older than the window. Whether they are the alert's is not known. */
  #countBeyondWindow(
    { alerts, lateRows, window, bucketMs }: QueryGroup<EvaluatedAlert>,
    oldestMs: number | undefined,
  ): void {
    const fromMs = window?.buckets[0] ?? Number.NEGATIVE_INFINITY;
    if (oldestMs === undefined || floorTo(oldestMs, bucketMs) >= fromMs) return;
    lateRows.beyondWindow++;
    this.#parts.metrics.beyondWindow.add(alerts.size);
  }

  #countLateRows(
    { alerts, lateRows }: QueryGroup<EvaluatedAlert>,
    { revisedBuckets, keptBuckets, advances }: Advanced,
  ): void {
    const { metrics } = this.#parts;
    lateRows.judgedAgain += revisedBuckets;
    lateRows.tooLate += keptBuckets;
    metrics.lateBuckets.add(alerts.size * (revisedBuckets + keptBuckets));
    let fired = 0;
    let taken = 0;
    for (const advanced of advances) {
      if (advanced === null) continue;
      const { opened, closed, retracted } = advanced;
      fired += opened.filter(({ corrected }) => corrected === true).length;
      taken += closed.filter(({ reason }) => reason === "corrected").length + retracted.length;
    }
    metrics.corrections.add(fired, { to: "fired" });
    metrics.corrections.add(taken, { to: "corrected" });
  }

  /** Stores the window, and the states of the alerts that changed, in one commit. */
  async #store(
    group: QueryGroup<EvaluatedAlert>,
    alerts: readonly EvaluatedAlert[],
    fromMs: readonly number[],
    { window, advances, isReread }: Advanced,
    isHead: boolean,
  ): Promise<void> {
    const { records, steps } = this.#parts;
    const changed: { evaluated: EvaluatedAlert; step: AlertStep }[] = [];
    for (const [i, evaluated] of alerts.entries()) {
      const advanced = advances[i] ?? null;
      const state = attachToWindow(advanced?.state ?? evaluated.state, group, fromMs[i]!, window);
      const isIdle = state === evaluated.state && !evaluated.isUnsaved && !evaluated.hasPendingWork();
      if (isIdle) continue;
      const { alert } = evaluated;
      const { opened, closed, transitions, retracted } = advanced ?? nothing;
      const step = { opened, closed, transitions, retracted, delayMs: group.shape!.delayMs };
      changed.push({ evaluated, step: { alertId: alert.metadata.id, alert, state, ...step } });
    }
    const isMoved =
      window.throughMs !== group.window?.throughMs ||
      window.filledBuckets !== group.window.filledBuckets ||
      isReread;
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

const nothing = { opened: [], closed: [], transitions: [], retracted: [] };

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

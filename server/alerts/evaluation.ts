/** The evaluation of one query: its new buckets are read, judged by all alerts that ask it, stored and told. */

import { Semaphore } from "../limits/semaphore.ts";
import type { EvaluatedAlert } from "./evaluated-alert.ts";
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
import { headMs } from "./state/grid.ts";
import { lateBuckets, missedBuckets } from "./state/lateness.ts";
import type { QueryReading } from "./state/reading.ts";
import type { Window } from "./state/window.ts";
import type { AlertStep, StepCommit } from "./step-commit.ts";

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

  /** Gives up the queries that run, and begins no more. */
  close(): void {
    this.#isClosed = true;
    this.#queries.end();
  }

  /** Resolves when what follows is stored. */
  async evaluate(group: QueryGroup<EvaluatedAlert>, nowMs: number): Promise<void> {
    if (this.#isClosed) return;
    group.isRunning = true;
    const begunMs = performance.now();
    let head = Number.NEGATIVE_INFINITY;
    try {
      head = await this.#headOf(group, nowMs);
      group.rewind(head, nowMs);
      const range = group.nextRange(head);
      if (range !== undefined) await this.#evaluateRange(group, range, head, nowMs);
    } catch (error) {
      if (this.#isClosed) return;
      this.#failed(group, error, performance.now() - begunMs, nowMs);
    } finally {
      this.#parts.metrics.evaluationSeconds.observe((performance.now() - begunMs) / 1000);
      group.dueMs = group.nextDueMs(head, nowMs);
      group.isRunning = false;
    }
  }

  /** The query is planned when it is first evaluated. */
  async #headOf(group: QueryGroup<EvaluatedAlert>, nowMs: number): Promise<number> {
    const { delayMs, shapeOf } = this.#parts.options;
    if (group.shape === undefined) await this.#planning.wait();
    return headMs(group.prepare(shapeOf, delayMs), nowMs);
  }

  async #evaluateRange(
    group: QueryGroup<EvaluatedAlert>,
    range: BucketRange,
    head: number,
    nowMs: number,
  ): Promise<void> {
    const { downtime } = this.#parts;
    const isLost = (startMs: number) => downtime.overlaps(startMs, startMs + group.bucketMs);
    const { unlabelled, signals } = group.shape!;
    const { arrivals } = this.#parts.options;
    const arrived = arrivals.position();
    const oldestMs =
      group.arrivalsRead === undefined ? undefined : arrivals.oldestMs(signals, group.arrivalsRead);
    const begunMs = performance.now();
    const series = await this.#read(group, group.readRange(range, isLost, oldestMs));
    const queryMs = performance.now() - begunMs;
    const reading: QueryReading = { ...range, series, unlabelled, isLost };
    await this.#advancing.run(() =>
      group.inTurn(async () => {
        const isTaken = await this.#advance(group, reading, queryMs, head, nowMs);
        if (isTaken && range.fromMs < range.toMs) group.arrivalsRead = arrived;
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
    const asked = { query, startMs: fromMs, endMs: toMs - 1, bucketSeconds: bucketMs / 1000, readsAs };
    const series = await this.#queries.run((signal) => options.query(asked, signal));
    metrics.querySeconds.observe((performance.now() - begunMs) / 1000);
    return series;
  }

  /** Says whether the reading was of use. */
  async #advance(
    group: QueryGroup<EvaluatedAlert>,
    reading: QueryReading,
    queryMs: number,
    head: number,
    nowMs: number,
  ): Promise<boolean> {
    // An edit that came while the query ran may have made its answer useless.
    const range = group.alerts.size === 0 ? undefined : group.nextRange(head);
    if (range?.fromMs !== reading.fromMs || range.toMs !== reading.toMs) return false;
    const { metrics } = this.#parts;
    const alerts = [...group.alerts];
    const fromMs = alerts.map((evaluated) => group.judgedFromMs(evaluated, head));
    const watchers = alerts.map(({ alert, state }, i) => ({ alert, state, fromMs: fromMs[i]! }));
    const before = group.window;
    const advanced = advance(watchers, before, reading);
    await this.#store(group, alerts, fromMs, advanced, reading.toMs >= head);
    if (before !== undefined) {
      metrics.missed.add(alerts.length * missedBuckets(before, reading, group.bucketMs));
      metrics.lateBuckets.add(alerts.length * lateBuckets(before, reading));
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

  /** The window once for all, and of the alerts those that changed. */
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
      const state = followed(advanced?.state ?? evaluated.state, group, fromMs[i]!, window);
      const isIdle = state === evaluated.state && !evaluated.isUnsaved && !evaluated.isUnsettled();
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
      evaluated.log.changed(evaluated.state);
    }
  }

  #failed(group: QueryGroup<EvaluatedAlert>, error: unknown, queryMs: number, nowMs: number): void {
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

/** An alert that has come to where the window is goes with it from now on. */
function followed(
  state: AlertState,
  { id }: QueryGroup<EvaluatedAlert>,
  fromMs: number,
  { throughMs }: Window,
): AlertState {
  if (state.window === id) return state;
  const isThere = state.throughMs === null ? throughMs > fromMs : throughMs >= fromMs;
  return isThere ? { ...state, window: id, throughMs } : state;
}

/** The evaluation of one query: its new buckets are read, judged by all alerts that ask it, stored and told. */

import { Turnstile } from "../limits/semaphore.ts";
import type { Subject } from "./evaluated-alert.ts";
import type { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import { Pace } from "./event-loop-pacer.ts";
import { advancesInFlightMax, evaluationTimeoutMs, plansAtOnce } from "./limits.ts";
import { TimedQueries } from "./query/timed-queries.ts";
import type { BucketRange, Group } from "./query-group.ts";
import type { AlertRecords } from "./records.ts";
import { type Advanced, advance } from "./state/advance.ts";
import type { AlertState } from "./state/alert-state.ts";
import type { Downtime } from "./state/downtime.ts";
import { headMs } from "./state/grid.ts";
import { lateBuckets, missedBuckets } from "./state/lateness.ts";
import type { Reading } from "./state/reading.ts";
import type { Window } from "./state/window.ts";
import type { Step, Steps } from "./step-commit.ts";

interface EvaluationParts {
  options: EvaluatorOptions;
  records: AlertRecords;
  steps: Steps;
  downtime: Downtime;
  metrics: EvaluationMetrics;
}

export class Evaluation {
  readonly #parts: EvaluationParts;
  readonly #queries = new TimedQueries(evaluationTimeoutMs);
  #isClosed = false;
  readonly #turnstile = new Turnstile(advancesInFlightMax);
  readonly #planning = new Pace(plansAtOnce);

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
  }

  /** Gives up the queries that run, and begins no more. */
  close(): void {
    this.#isClosed = true;
    this.#queries.end();
  }

  /** Resolves when what follows is stored. */
  async evaluate(group: Group<Subject>, nowMs: number): Promise<void> {
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
  async #headOf(group: Group<Subject>, nowMs: number): Promise<number> {
    const { delayMs, shapeOf } = this.#parts.options;
    if (group.shape === undefined) await this.#planning.wait();
    return headMs(group.prepare(shapeOf, delayMs), nowMs);
  }

  async #evaluateRange(
    group: Group<Subject>,
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
    const reading: Reading = { ...range, series, unlabelled, isLost };
    await this.#turnstile.pass(() =>
      group.inTurn(async () => {
        const isTaken = await this.#advance(group, reading, queryMs, head, nowMs);
        if (isTaken && range.fromMs < range.toMs) group.arrivalsRead = arrived;
      }),
    );
  }

  async #read(
    { query, bucketMs, readsAs }: Group<Subject>,
    { fromMs, toMs }: BucketRange,
  ): Promise<Reading["series"]> {
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
    group: Group<Subject>,
    reading: Reading,
    queryMs: number,
    head: number,
    nowMs: number,
  ): Promise<boolean> {
    // An edit that came while the query ran may have made its answer useless.
    const range = group.subjects.size === 0 ? undefined : group.nextRange(head);
    if (range?.fromMs !== reading.fromMs || range.toMs !== reading.toMs) return false;
    const { metrics } = this.#parts;
    const subjects = [...group.subjects];
    const fromMs = subjects.map((subject) => group.judgedFromMs(subject, head));
    const watchers = subjects.map(({ alert, state }, i) => ({ alert, state, fromMs: fromMs[i]! }));
    const before = group.window;
    const advanced = advance(watchers, before, reading);
    await this.#store(group, subjects, fromMs, advanced, reading.toMs >= head);
    if (before !== undefined) {
      metrics.missed.add(subjects.length * missedBuckets(before, reading, group.bucketMs));
      metrics.lateBuckets.add(subjects.length * lateBuckets(before, reading));
    }
    const { fromMs: readFromMs, toMs } = reading;
    const entry = { atMs: nowMs, queryMs, range: { fromMs: readFromMs, toMs }, error: null };
    group.log.add({ ...entry, window: group.window });
    group.error = null;
    metrics.evaluations.add(subjects.length, { outcome: "judged" });
    for (const { to } of advanced.advances.flatMap((each) => each?.transitions ?? [])) {
      metrics.transitions.add(1, { to });
    }
    return true;
  }

  /** The window once for all, and of the alerts those that changed. */
  async #store(
    group: Group<Subject>,
    subjects: readonly Subject[],
    fromMs: readonly number[],
    { window, advances }: Advanced,
    isHead: boolean,
  ): Promise<void> {
    const { records, steps } = this.#parts;
    const changed: { subject: Subject; step: Step }[] = [];
    for (const [i, subject] of subjects.entries()) {
      const advanced = advances[i] ?? null;
      const state = followed(advanced?.state ?? subject.state, group, fromMs[i]!, window);
      const isIdle = state === subject.state && !subject.isUnsaved && !subject.isUnsettled();
      if (isIdle) continue;
      const { opened = [], closed = [], transitions = [] } = advanced ?? {};
      const { alert } = subject;
      changed.push({
        subject,
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
    for (const [i, { subject }] of changed.entries()) {
      subject.state = states[i]!;
      subject.isUnsaved = false;
      subject.log.changed(subject.state);
    }
  }

  #failed(group: Group<Subject>, error: unknown, queryMs: number, nowMs: number): void {
    const { metrics, options } = this.#parts;
    const message = error instanceof Error ? error.message : String(error);
    if (group.error !== message) {
      const [first, ...others] = Array.from(group.subjects, ({ alert }) =>
        JSON.stringify(alert.metadata.name),
      );
      const more = others.length === 0 ? "" : ` and ${others.length} more`;
      options.log("warn", `alert ${first}${more}: ${message}`);
    }
    group.error = message;
    group.log.add({ atMs: nowMs, queryMs, range: null, error: message, window: group.window });
    metrics.evaluations.add(group.subjects.size, { outcome: "failed" });
  }
}

/** An alert that has come to where the window is goes with it from now on. */
function followed(
  state: AlertState,
  { id }: Group<Subject>,
  fromMs: number,
  { throughMs }: Window,
): AlertState {
  if (state.window === id) return state;
  const isThere = state.throughMs === null ? throughMs > fromMs : throughMs >= fromMs;
  return isThere ? { ...state, window: id, throughMs } : state;
}

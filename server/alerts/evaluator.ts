/** The evaluator: holds the alerts, puts those with the same query into groups, and evaluates groups that are due. */
import type { StateChange } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { EvaluatedAlert } from "./evaluated-alert.ts";
import { QueryEvaluation } from "./evaluation.ts";
import { StepCommit } from "./evaluation-commit.ts";
import type { ExplainedEvaluation } from "./evaluation-log.ts";
import { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import type { WatchedAlert } from "./health-watch.ts";
import { historyPageDefault, historySweepEveryMs } from "./limits.ts";
import { type BucketRange, type LateRows, QueryGroup, signalDelayMs, windowId } from "./query-group.ts";
import { AlertRecords } from "./records.ts";
import { type AlertDefinition, ownDelayMsOf, queryOf } from "./state/alert-definition.ts";
import { adoptAlert, closeAllFires } from "./state/alert-edit.ts";
import { type AlertState, instanceKey, type RuleCondition, worstState } from "./state/alert-state.ts";
import { Downtime } from "./state/downtime.ts";
import { type ClosedFire, type Fire, fireIdOf } from "./state/fire.ts";
import type { FiringSummary } from "./state/firing-summary.ts";
import type { Transition } from "./state/judgement.ts";
import type { IncompleteBucket } from "./state/missing-rows.ts";
import type { ReadSeries } from "./state/read-series.ts";
import type { Window } from "./state/window.ts";
import type { HistoryPage, HistoryQuery } from "./transition-history.ts";

export interface AlertSummary extends FiringSummary {
  /** Why the last evaluation failed; null where it succeeded. */
  error: string | null;
  /** End of the newest bucket that was judged or skipped; null before the first. */
  throughMs: number | null;
  /** Time of the last evaluation, also of one that failed; null where there was none since the server started. */
  evaluatedAtMs: number | null;
}

export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly records: AlertRecords;
  readonly #steps: StepCommit;
  readonly #downtime: Downtime;
  readonly #evaluation: QueryEvaluation;
  readonly #alerts = new Map<string, EvaluatedAlert>();
  /** By the id of the group, which is the id of its window. */
  readonly #groups = new Map<string, QueryGroup<EvaluatedAlert>>();
  /** Stored states of alerts that have not been upserted since the start. Those that remain at `begin` are deleted. */
  readonly #orphans: Map<string, AlertState>;
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<Promise<void>>();
  /** When histories were looked through last; not before an hour after the start. */
  #sweptMs: number;

  /** Throws an Error if a later version of svc has stored states of alerts. */
  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.records = new AlertRecords(options.state, options.historyAgeMs);
    this.#steps = new StepCommit(options, this.records);
    this.#downtime = new Downtime(options.state, options.now(), options.aliveMark);
    this.#evaluation = new QueryEvaluation({
      options,
      records: this.records,
      steps: this.#steps,
      downtime: this.#downtime,
      metrics: new EvaluationMetrics(options.metrics),
    });
    this.#sweptMs = options.now();
    this.#orphans = new Map(this.records.states());
    this.#readMetrics(options.metrics);
  }

  /** Adds an alert or changes its definition. Resolves when the effects on its state and fires are stored. */
  async upsert(alert: AlertDefinition): Promise<void> {
    const { id } = alert.metadata;
    const known = this.#alerts.get(id);
    if (known !== undefined) {
      await known.inTurn(() => this.#inGroupTurn(known, () => this.#adopt(known, alert, known.state)));
      return;
    }
    const before = this.#orphans.get(id);
    this.#orphans.delete(id);
    const { state } = adoptAlert(alert, undefined, this.#options.now());
    const evaluated = new EvaluatedAlert(alert, before ?? state);
    this.#alerts.set(id, evaluated);
    await evaluated.inTurn(() => this.#adopt(evaluated, alert, before));
  }

  /** Removes an alert: closes its fires and deletes its state. Resolves when that is stored. */
  async remove(id: string): Promise<void> {
    const evaluated = this.#alerts.get(id);
    if (evaluated === undefined) return;
    this.#alerts.delete(id);
    await evaluated.inTurn(() =>
      this.#inGroupTurn(evaluated, async () => {
        await this.#delete(id, evaluated.state, this.#windowRemoval(evaluated));
        this.#leaveGroup(evaluated);
      }),
    );
  }

  /**
   * To be called once all configured alerts were upserted. Alerts with a stored state that were not upserted have been
   * deleted while the server was down: their fires are closed and their state is deleted, and so are unused windows.
   */
  async begin(): Promise<void> {
    for (const [id, state] of this.#orphans) await this.#delete(id, state, []);
    this.#orphans.clear();
    const unused = this.records.windowIds().filter((id) => !this.#groups.has(id));
    const changes = [
      ...unused.map((id) => this.records.windowChange(id, undefined)),
      ...this.records.unusedFireChanges((alertId) => this.#alerts.has(alertId)),
    ];
    if (changes.length > 0) await this.#options.state.write(changes);
  }

  /** Evaluates what is due every `tickMs`, until `close`. */
  run(): void {
    const tick = () => {
      const running = this.evaluateDue().catch((error: unknown) => {
        this.#options.log("error", `evaluation of alerts: ${String(error)}`);
      });
      this.#running.add(running);
      void running.then(() => this.#running.delete(running));
      this.#timer = setTimeout(tick, tickMs);
    };
    tick();
  }

  /** Aborts running queries, and waits until the finished evaluations are stored. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#evaluation.close();
    await Promise.all(this.#running);
    await Promise.all(
      Array.from(this.#alerts.values(), (evaluated) => evaluated.inTurn(async () => undefined)),
    );
    await this.#recordClock(this.#downtime.recordStop(this.#options.now()));
  }

  /** Evaluates all groups that are due. Resolves when the results are stored. */
  async evaluateDue(): Promise<void> {
    const nowMs = this.#options.now();
    await this.#recordClock(this.#downtime.recordAlive(nowMs));
    await this.#sweepHistory(nowMs);
    const due = [...this.#groups.values()].filter((group) => group.isDue(nowMs));
    await Promise.all(due.map((group) => this.#evaluation.evaluate(group, nowMs)));
  }

  /** The time of the next evaluation, infinite without alerts. */
  nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const group of this.#groups.values()) dueMs = Math.min(dueMs, group.dueMs);
    return dueMs;
  }

  /** `error`: why the last evaluation failed, null where it succeeded. Undefined for an unknown alert. */
  stateOf(id: string): { state: RuleCondition; error: string | null; details: AlertState } | undefined {
    const evaluated = this.#alerts.get(id);
    if (evaluated === undefined) return undefined;
    const { state, group } = evaluated;
    const details = { ...state, throughMs: evaluated.throughMs() };
    return { state: worstState(state), error: group?.error ?? null, details };
  }

  /** Buckets that end later are not judged yet, because rows of theirs may still come. Throws a QueryError. */
  completeThroughMs(alert: AlertDefinition): number {
    const { now, shapeOf } = this.#options;
    const { query } = queryOf(alert);
    return now() - (ownDelayMsOf(alert) ?? signalDelayMs(shapeOf(query).signals, this.#options));
  }

  /** What lists say of an alert, at a cost that does not depend on its instances. Undefined for an unknown alert. */
  summaryOf(id: string): AlertSummary | undefined {
    const evaluated = this.#alerts.get(id);
    if (evaluated === undefined) return undefined;
    const { group } = evaluated;
    const [newest] = group?.log.entries ?? [];
    return {
      ...evaluated.summary(),
      error: group?.error ?? null,
      throughMs: evaluated.throughMs(),
      evaluatedAtMs: newest?.atMs ?? null,
    };
  }

  /** All alerts, and why those are not judged that are not: unknown before the first evaluation since the start. */
  *watched(): Generator<WatchedAlert> {
    for (const evaluated of this.#alerts.values()) {
      const { alert, group } = evaluated;
      if (group === undefined || group.log.entries.length === 0) {
        yield { alert, problem: undefined };
        continue;
      }
      const hasNoData = evaluated.throughMs() !== null && evaluated.summary().lacksData;
      yield { alert, problem: group.error ?? (hasNoData ? "its query finds no data" : null) };
    }
  }

  /** The last evaluations of an alert, the newest first. */
  evaluations(id: string): ExplainedEvaluation[] {
    const evaluated = this.#alerts.get(id);
    return evaluated === undefined ? [] : evaluated.log.list(evaluated.alert);
  }

  /** The stored fires of an alert, the newest first. */
  fires(id: string): Fire[] {
    return this.records.fires(id);
  }

  /** The stored fires of all alerts that began from `startMs` to before `endMs`, the oldest first. */
  firesBetween(startMs: number, endMs: number): Fire[] {
    return this.records.firesBetween(startMs, endMs);
  }

  /** A stored fire of an alert. */
  fireOf(alertId: string, fireId: string): Fire | undefined {
    const fire = this.records.fire(fireId);
    return fire?.alertId === alertId ? fire : undefined;
  }

  /** The alert as it is evaluated, if the rule of the fire decides by the same as when the fire began. */
  alertOfFire({ id, alertId, rule, labels, firedAtMs }: Fire): AlertDefinition | undefined {
    const { alert, state } = this.#alerts.get(alertId) ?? {};
    const adopted = state?.rules[rule];
    if (adopted === undefined) return undefined;
    const sameId = fireIdOf(alertId, rule, adopted.adoptedMs, instanceKey(labels), firedAtMs);
    return sameId === id ? alert : undefined;
  }

  /** Runs `act` while no evaluation and no edit changes fires of an alert; not where the alert is not evaluated. */
  async inAlertTurn(id: string, act: () => Promise<void>): Promise<void> {
    const evaluated = this.#alerts.get(id);
    await evaluated?.inTurn(() => this.#inGroupTurn(evaluated, act));
  }

  /** Reads whole buckets of an alert's query as its evaluation would now. Throws what the query throws. */
  async readSeries(
    alert: AlertDefinition,
    { fromMs, toMs }: BucketRange,
    signal: AbortSignal,
  ): Promise<readonly ReadSeries[]> {
    const { readsAs = "" } = alert;
    return this.#options.query({ ...queryOf(alert), startMs: fromMs, endMs: toMs - 1, readsAs }, signal);
  }

  /** The newest stored transitions of an alert, the newest first. */
  history(id: string): Transition[] {
    return this.historyPage(id, { limit: historyPageDefault }).transitions;
  }

  /** A page of the stored transitions of an alert. Throws an Error for people where the cursor is none. */
  historyPage(id: string, query: HistoryQuery): HistoryPage {
    return this.records.history.page(id, query, this.#options.now());
  }

  /** What is known of rows that came late, and of buckets that may lack rows. Undefined for an unknown alert. */
  completenessOf(id: string): { lateRows: LateRows; incomplete: readonly IncompleteBucket[] } | undefined {
    const group = this.#alerts.get(id)?.group;
    if (group === undefined) return undefined;
    return { lateRows: group.lateRows, incomplete: group.window?.incomplete ?? [] };
  }

  /** Deletes transitions that are too old. If that fails, it is tried again later. */
  async #sweepHistory(nowMs: number): Promise<void> {
    if (Math.abs(nowMs - this.#sweptMs) < historySweepEveryMs) return;
    this.#sweptMs = nowMs;
    const changes = this.records.history.expired([...this.#alerts.keys()], nowMs);
    if (changes.length === 0) return;
    try {
      await this.#options.state.write(changes);
    } catch (error) {
      this.#options.log("error", `old transitions cannot be deleted: ${(error as Error).message}`);
    }
  }

  /**
   * Stores that the evaluator runs at this time. If that fails, evaluation goes on, but more time counts as downtime
   * after the next start.
   */
  async #recordClock(write: Promise<void>): Promise<void> {
    try {
      await write;
    } catch (error) {
      this.#options.log("error", `the time of evaluation cannot be stored: ${(error as Error).message}`);
    }
  }

  /** Runs `act` while no evaluation changes states of alerts in the group of this alert. */
  #inGroupTurn<T>({ group }: EvaluatedAlert, act: () => Promise<T>): Promise<T> {
    return group === undefined ? act() : group.inTurn(act);
  }

  /** Sets an alert's definition, stores what changes in its state, and moves it to the group of its query. */
  async #adopt(
    evaluated: EvaluatedAlert,
    alert: AlertDefinition,
    before: AlertState | undefined,
  ): Promise<void> {
    const nowMs = this.#options.now();
    const { state: edited, closed } = adoptAlert(alert, before, nowMs);
    const { state, window } = this.#moveToWindow(edited, windowId(alert));
    const changes = evaluated.group?.id === windowId(alert) ? [] : this.#windowRemoval(evaluated);
    if (window !== undefined) changes.push(this.records.windowChange(windowId(alert), window));
    let stored = state;
    if (state !== before || changes.length > 0) {
      const step = { alertId: alert.metadata.id, alert: evaluated.alert, state, ...closings(closed) };
      const { delayMs } = this.#options;
      const [written] = await this.#steps.store([{ ...step, delayMs }], false, changes);
      stored = written ?? state;
    }
    if (evaluated.group?.id !== windowId(alert)) this.#leaveGroup(evaluated);
    evaluated.adopt(alert, stored);
    if (this.#alerts.get(alert.metadata.id) === evaluated) this.#joinGroup(evaluated, nowMs);
  }

  /**
   * Moves the state of an alert whose access rights changed to the window `toId`. Where no such window exists yet,
   * returns the old window too, to be stored under the new id.
   */
  #moveToWindow(state: AlertState, toId: string): { state: AlertState; window?: Window } {
    if (state.window === null || state.window === toId) return { state };
    const window = this.records.window(state.window);
    const exists = this.#groups.has(toId) || this.records.window(toId) !== undefined;
    if (window === undefined || exists) {
      return { state: { ...state, window: null, throughMs: window?.throughMs ?? null } };
    }
    return { state: { ...state, window: toId, throughMs: window.throughMs }, window };
  }

  async #delete(id: string, state: AlertState, changes: StateChange[]): Promise<void> {
    const closed = closeAllFires(state, this.#options.now(), "deleted");
    const { delayMs } = this.#options;
    const step = { alertId: id, alert: undefined, state: undefined, delayMs, ...closings(closed) };
    await this.#steps.store([step], false, changes);
  }

  #joinGroup(evaluated: EvaluatedAlert, nowMs: number): void {
    const id = windowId(evaluated.alert);
    const group =
      this.#groups.get(id) ?? new QueryGroup<EvaluatedAlert>(evaluated.alert, this.records.window(id), nowMs);
    this.#groups.set(id, group);
    group.dueMs = Math.min(group.dueMs, nowMs);
    if (evaluated.group === group) {
      evaluated.log.recordState(evaluated.state);
      return;
    }
    group.alerts.add(evaluated);
    evaluated.group = group;
    evaluated.log.follow(group.log, evaluated.state);
  }

  /** Returns the removal of the group's window where the alert is the last of the group. */
  #windowRemoval({ group }: EvaluatedAlert): StateChange[] {
    return group?.alerts.size === 1 ? [this.records.windowChange(group.id, undefined)] : [];
  }

  #leaveGroup(evaluated: EvaluatedAlert): void {
    const { group } = evaluated;
    if (group === undefined) return;
    evaluated.log.follow(undefined, evaluated.state);
    group.alerts.delete(evaluated);
    evaluated.group = undefined;
    if (group.alerts.size === 0) this.#groups.delete(group.id);
  }

  #readMetrics(metrics: Metrics): void {
    const sum = (measure: (evaluated: EvaluatedAlert) => number) => {
      let total = 0;
      for (const evaluated of this.#alerts.values()) total += measure(evaluated);
      return total;
    };
    metrics.gauge("svc_alert_rules", "Rules under evaluation.", () =>
      sum(({ alert }) => alert.timeseries.evaluationRules.length),
    );
    metrics.gauge("svc_alert_instances", "Instances of all alerts.", () =>
      sum(({ state }) => Object.keys(state.instances).length),
    );
    metrics.gauge("svc_alert_errors", "Alerts whose last evaluation failed.", () =>
      sum(({ group }) => (group === undefined || group.error === null ? 0 : 1)),
    );
    metrics.gauge(
      "svc_alert_lag_seconds",
      "How long the evaluation that waits the longest is overdue.",
      () => {
        return this.#groups.size === 0 ? 0 : Math.max(0, this.#options.now() - this.nextDueMs()) / 1000;
      },
    );
  }
}

function closings(closed: ClosedFire[]) {
  return { closed, opened: [], transitions: [], retracted: [] };
}

/** Interval at which due groups are looked for: an evaluation begins at most this late. */
const tickMs = 250;

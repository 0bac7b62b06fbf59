/** Evaluates alerts at their times: what is due is read, judged, stored and told. */
import type { StateChange } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { EvaluatedAlert } from "./evaluated-alert.ts";
import { QueryEvaluation } from "./evaluation.ts";
import type { ExplainedEvaluation } from "./evaluation-log.ts";
import { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import { QueryGroup, windowId } from "./query-group.ts";
import { AlertRecords } from "./records.ts";
import type { Transition } from "./state/advance.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import { type AlertState, type RuleCondition, worstState } from "./state/alert-state.ts";
import { Downtime } from "./state/downtime.ts";
import { adoptAlert, closeAllFires } from "./state/edit.ts";
import type { Fire } from "./state/fire.ts";
import type { Window } from "./state/window.ts";
import { StepCommit } from "./step-commit.ts";

export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #records: AlertRecords;
  readonly #steps: StepCommit;
  readonly #downtime: Downtime;
  readonly #evaluation: QueryEvaluation;
  readonly #alerts = new Map<string, EvaluatedAlert>();
  /** By the id of their windows. */
  readonly #groups = new Map<string, QueryGroup<EvaluatedAlert>>();
  /** States of alerts that were not named since the start: what is left of them at `begin` was deleted. */
  readonly #orphans: Map<string, AlertState>;
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<Promise<void>>();

  /** Throws an Error where a later version of svc has stored states of alerts. */
  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.#records = new AlertRecords(options.state);
    this.#steps = new StepCommit(options, this.#records);
    this.#downtime = new Downtime(options.state, options.now());
    this.#evaluation = new QueryEvaluation({
      options,
      records: this.#records,
      steps: this.#steps,
      downtime: this.#downtime,
      metrics: new EvaluationMetrics(options.metrics),
    });
    this.#orphans = new Map(this.#records.states());
    this.#readMetrics(options.metrics);
  }

  /** Takes up an alert, or its new form. Resolves when what follows from the change is stored. */
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

  /** Ends the alert's fires. */
  async remove(id: string): Promise<void> {
    const evaluated = this.#alerts.get(id);
    if (evaluated === undefined) return;
    this.#alerts.delete(id);
    await evaluated.inTurn(() =>
      this.#inGroupTurn(evaluated, async () => {
        await this.#delete(id, evaluated.state, this.#windowLeftBy(evaluated));
        this.#leaveGroup(evaluated);
      }),
    );
  }

  /** All alerts were named: those that are remembered and were not have been deleted meanwhile. */
  async begin(): Promise<void> {
    for (const [id, state] of this.#orphans) await this.#delete(id, state, []);
    this.#orphans.clear();
    const left = this.#records.windowIds().filter((id) => !this.#groups.has(id));
    if (left.length === 0) return;
    await this.#options.state.write(left.map((id) => this.#records.windowChange(id, undefined)));
  }

  /** Evaluates at the clock's pace until `close`. */
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

  /** Gives up the queries that run; what was judged is stored. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#evaluation.close();
    await Promise.all(this.#running);
    await Promise.all(
      Array.from(this.#alerts.values(), (evaluated) => evaluated.inTurn(async () => undefined)),
    );
    await this.#downtime.end(this.#options.now());
  }

  /** Evaluates all that is due. Resolves when it is stored. */
  async evaluateDue(): Promise<void> {
    const nowMs = this.#options.now();
    await this.#sayAlive(nowMs);
    const due = [...this.#groups.values()].filter((group) => group.isDue(nowMs));
    await Promise.all(due.map((group) => this.#evaluation.evaluate(group, nowMs)));
  }

  /** The time of the next evaluation; infinite without alerts. */
  nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const group of this.#groups.values()) dueMs = Math.min(dueMs, group.dueMs);
    return dueMs;
  }

  stateOf(id: string): { state: RuleCondition; error: string | null; details: AlertState } | undefined {
    const evaluated = this.#alerts.get(id);
    if (evaluated === undefined) return undefined;
    const { state, group } = evaluated;
    const details = { ...state, throughMs: evaluated.throughMs() };
    return { state: worstState(state), error: group?.error ?? null, details };
  }

  evaluations(id: string): ExplainedEvaluation[] {
    const evaluated = this.#alerts.get(id);
    return evaluated === undefined ? [] : evaluated.log.list(evaluated.alert);
  }

  fires(id: string): Fire[] {
    return this.#records.fires(id);
  }

  history(id: string): Transition[] {
    return this.#records.history(id);
  }

  /** Where it cannot be stored, so much more counts as downtime after the next start. */
  async #sayAlive(nowMs: number): Promise<void> {
    try {
      await this.#downtime.alive(nowMs);
    } catch (error) {
      this.#options.log("error", `the time of evaluation cannot be stored: ${(error as Error).message}`);
    }
  }

  /** The alert's state stays as it is meanwhile. */
  #inGroupTurn<T>({ group }: EvaluatedAlert, act: () => Promise<T>): Promise<T> {
    return group === undefined ? act() : group.inTurn(act);
  }

  async #adopt(
    evaluated: EvaluatedAlert,
    alert: AlertDefinition,
    before: AlertState | undefined,
  ): Promise<void> {
    const nowMs = this.#options.now();
    const { state: edited, closed } = adoptAlert(alert, before, nowMs);
    const { state, window } = this.#moved(edited, windowId(alert));
    const changes = evaluated.group?.id === windowId(alert) ? [] : this.#windowLeftBy(evaluated);
    if (window !== undefined) changes.push(this.#records.windowChange(windowId(alert), window));
    let stored = state;
    if (state !== before || changes.length > 0) {
      const step = { alertId: alert.metadata.id, alert: evaluated.alert, state, closed };
      const [written] = await this.#steps.store([{ ...step, opened: [], transitions: [] }], false, changes);
      stored = written ?? state;
    }
    if (evaluated.group?.id !== windowId(alert)) this.#leaveGroup(evaluated);
    evaluated.adopt(alert, stored);
    if (this.#alerts.get(alert.metadata.id) === evaluated) this.#joinGroup(evaluated, nowMs);
  }

  /** Under other rights the alert follows another window: one like the one before, unless there is one already. */
  #moved(state: AlertState, toId: string): { state: AlertState; window?: Window } {
    if (state.window === null || state.window === toId) return { state };
    const window = this.#records.window(state.window);
    const isTaken = this.#groups.has(toId) || this.#records.window(toId) !== undefined;
    if (window === undefined || isTaken) {
      return { state: { ...state, window: null, throughMs: window?.throughMs ?? null } };
    }
    return { state: { ...state, window: toId, throughMs: window.throughMs }, window };
  }

  async #delete(id: string, state: AlertState, changes: StateChange[]): Promise<void> {
    const closed = closeAllFires(state, this.#options.now(), "deleted");
    const step = { alertId: id, alert: undefined, state: undefined, closed, opened: [], transitions: [] };
    await this.#steps.store([step], false, changes);
  }

  #joinGroup(evaluated: EvaluatedAlert, nowMs: number): void {
    const id = windowId(evaluated.alert);
    let group = this.#groups.get(id);
    if (group === undefined) {
      group = new QueryGroup<EvaluatedAlert>(evaluated.alert, this.#records.window(id), nowMs);
      this.#groups.set(id, group);
    }
    group.dueMs = Math.min(group.dueMs, nowMs);
    if (evaluated.group === group) {
      evaluated.log.changed(evaluated.state);
      return;
    }
    group.alerts.add(evaluated);
    evaluated.group = group;
    evaluated.log.follow(group.log, evaluated.state);
  }

  /** With the last of its alerts a window goes. */
  #windowLeftBy({ group }: EvaluatedAlert): StateChange[] {
    return group?.alerts.size === 1 ? [this.#records.windowChange(group.id, undefined)] : [];
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
    const gauge = (name: string, help: string, read: () => number) => metrics.read("gauge", name, help, read);
    const sum = (of: (evaluated: EvaluatedAlert) => number) => {
      let total = 0;
      for (const evaluated of this.#alerts.values()) total += of(evaluated);
      return total;
    };
    gauge("svc_alert_rules", "Rules under evaluation.", () =>
      sum(({ alert }) => alert.timeseries.evaluationRules.length),
    );
    gauge("svc_alert_instances", "Instances of all alerts.", () =>
      sum(({ state }) => Object.keys(state.instances).length),
    );
    gauge("svc_alert_errors", "Alerts whose last evaluation failed.", () =>
      sum(({ group }) => (group === undefined || group.error === null ? 0 : 1)),
    );
    gauge("svc_alert_lag_seconds", "How long the evaluation that waits the longest is overdue.", () => {
      return this.#groups.size === 0 ? 0 : Math.max(0, this.#options.now() - this.nextDueMs()) / 1000;
    });
  }
}

/** Times on the grid are met this exactly. */
const tickMs = 250;

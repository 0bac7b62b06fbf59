/** Evaluates alerts at their times: what is due is read, judged, stored and told. */
import type { StateChange } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { Subject } from "./evaluated-alert.ts";
import { Evaluation } from "./evaluation.ts";
import type { Evaluation as ExplainedEvaluation } from "./evaluation-log.ts";
import { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { EvaluatorOptions } from "./evaluator-options.ts";
import { Group, windowId } from "./query-group.ts";
import { AlertRecords } from "./records.ts";
import type { Transition } from "./state/advance.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import { type AlertState, type RuleCondition, worstState } from "./state/alert-state.ts";
import { Downtime } from "./state/downtime.ts";
import { adopt, closeAll } from "./state/edit.ts";
import type { Fire } from "./state/fire.ts";
import type { Window } from "./state/window.ts";
import { Steps } from "./step-commit.ts";

export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #records: AlertRecords;
  readonly #steps: Steps;
  readonly #downtime: Downtime;
  readonly #evaluation: Evaluation;
  readonly #subjects = new Map<string, Subject>();
  /** By the id of their windows. */
  readonly #groups = new Map<string, Group<Subject>>();
  /** States of alerts that were not named since the start: what is left of them at `begin` was deleted. */
  readonly #orphans: Map<string, AlertState>;
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<Promise<void>>();

  /** Throws an Error where a later version of svc has stored states of alerts. */
  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.#records = new AlertRecords(options.state);
    this.#steps = new Steps(options, this.#records);
    this.#downtime = new Downtime(options.state, options.now());
    this.#evaluation = new Evaluation({
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
    const known = this.#subjects.get(id);
    if (known !== undefined) {
      await known.inTurn(() => this.#inGroupTurn(known, () => this.#adopt(known, alert, known.state)));
      return;
    }
    const before = this.#orphans.get(id);
    this.#orphans.delete(id);
    const { state } = adopt(alert, undefined, this.#options.now());
    const subject = new Subject(alert, before ?? state);
    this.#subjects.set(id, subject);
    await subject.inTurn(() => this.#adopt(subject, alert, before));
  }

  /** Ends the alert's fires. */
  async remove(id: string): Promise<void> {
    const subject = this.#subjects.get(id);
    if (subject === undefined) return;
    this.#subjects.delete(id);
    await subject.inTurn(() =>
      this.#inGroupTurn(subject, async () => {
        await this.#delete(id, subject.state, this.#windowLeftBy(subject));
        this.#leaveGroup(subject);
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
      Array.from(this.#subjects.values(), (subject) => subject.inTurn(async () => undefined)),
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
    const subject = this.#subjects.get(id);
    if (subject === undefined) return undefined;
    const { state, group } = subject;
    const details = { ...state, throughMs: subject.throughMs() };
    return { state: worstState(state), error: group?.error ?? null, details };
  }

  evaluations(id: string): ExplainedEvaluation[] {
    const subject = this.#subjects.get(id);
    return subject === undefined ? [] : subject.log.list(subject.alert);
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
  #inGroupTurn<T>({ group }: Subject, act: () => Promise<T>): Promise<T> {
    return group === undefined ? act() : group.inTurn(act);
  }

  async #adopt(subject: Subject, alert: AlertDefinition, before: AlertState | undefined): Promise<void> {
    const nowMs = this.#options.now();
    const { state: edited, closed } = adopt(alert, before, nowMs);
    const { state, window } = this.#moved(edited, windowId(alert));
    const changes = subject.group?.id === windowId(alert) ? [] : this.#windowLeftBy(subject);
    if (window !== undefined) changes.push(this.#records.windowChange(windowId(alert), window));
    let stored = state;
    if (state !== before || changes.length > 0) {
      const step = { alertId: alert.metadata.id, alert: subject.alert, state, closed };
      const [told] = await this.#steps.store([{ ...step, opened: [], transitions: [] }], false, changes);
      stored = told ?? state;
    }
    if (subject.group?.id !== windowId(alert)) this.#leaveGroup(subject);
    subject.adopt(alert, stored);
    if (this.#subjects.get(alert.metadata.id) === subject) this.#joinGroup(subject, nowMs);
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
    const closed = closeAll(state, this.#options.now(), "deleted");
    const step = { alertId: id, alert: undefined, state: undefined, closed, opened: [], transitions: [] };
    await this.#steps.store([step], false, changes);
  }

  #joinGroup(subject: Subject, nowMs: number): void {
    const id = windowId(subject.alert);
    let group = this.#groups.get(id);
    if (group === undefined) {
      group = new Group<Subject>(subject.alert, this.#records.window(id), nowMs);
      this.#groups.set(id, group);
    }
    group.dueMs = Math.min(group.dueMs, nowMs);
    if (subject.group === group) {
      subject.log.changed(subject.state);
      return;
    }
    group.subjects.add(subject);
    subject.group = group;
    subject.log.follow(group.log, subject.state);
  }

  /** With the last of its alerts a window goes. */
  #windowLeftBy({ group }: Subject): StateChange[] {
    return group?.subjects.size === 1 ? [this.#records.windowChange(group.id, undefined)] : [];
  }

  #leaveGroup(subject: Subject): void {
    const { group } = subject;
    if (group === undefined) return;
    subject.log.follow(undefined, subject.state);
    group.subjects.delete(subject);
    subject.group = undefined;
    if (group.subjects.size === 0) this.#groups.delete(group.id);
  }

  #readMetrics(metrics: Metrics): void {
    const gauge = (name: string, help: string, read: () => number) => metrics.read("gauge", name, help, read);
    const sum = (of: (subject: Subject) => number) => {
      let total = 0;
      for (const subject of this.#subjects.values()) total += of(subject);
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

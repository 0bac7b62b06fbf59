/** Evaluates alerts at their times: what is due is read, judged, stored and told. */
import type { State } from "../../engine/index.ts";
import type { AlertMessage } from "../alert-event.ts";
import type { Metrics } from "../metrics.ts";
import { Turnstile } from "../turnstile.ts";
import { advance, type Reading, type ReadSeries, type Transition } from "./advance.ts";
import { type Alert, queryOf } from "./alert.ts";
import { type AlertState, type RuleCondition, worstState } from "./alert-state.ts";
import { Downtime } from "./downtime.ts";
import { adopt, closeAll, rewound } from "./edit.ts";
import type { Evaluation } from "./evaluation-log.ts";
import { EvaluationMetrics } from "./evaluation-metrics.ts";
import type { Fire } from "./fire.ts";
import { gridOf, headMs } from "./grid.ts";
import { type Group, groupKey, nextDue, readRange, within } from "./group.ts";
import { lateBuckets, missedBuckets } from "./lateness.ts";
import { advancesInFlightMax, evaluationTimeoutMs } from "./limits.ts";
import { AlertRecords } from "./records.ts";
import { type BucketRange, Subject } from "./subject.ts";
import { tell } from "./telling.ts";

export interface AskedSeries {
  query: string;
  startMs: number;
  /** Inclusive. */
  endMs: number;
  bucketSeconds: number;
  /** Of the alerts that ask; "" where they do not say. */
  readsAs: string;
}

/** What is known of a query before it runs. Throws an Error for people where it is none. */
export interface QueryShape {
  /** It gives one series without labels and no other. */
  unlabelled: boolean;
  /** The same for queries that read the same rows. */
  selector: string;
}

/** Where messages go: they are stored together with the state that gave rise to them. */
interface Outbox {
  prepare(messages: readonly AlertMessage[]): {
    changes: Parameters<State["write"]>[0];
    /** The changes are on disk. */
    stored(): void;
  };
}

export interface EvaluatorOptions {
  state: State;
  now: () => number;
  query: (asked: AskedSeries, signal: AbortSignal) => Promise<readonly ReadSeries[]>;
  shapeOf: (query: string) => QueryShape;
  outbox: Outbox;
  /** The id of the silence that covers a fire now. */
  silencedBy: (fire: Pick<Fire, "alertId" | "rule" | "labels">, nowMs: number) => string | undefined;
  /** How long rows may take to arrive. */
  delayMs: number;
  metrics: Metrics;
  log: (level: "warn" | "error", message: string) => void;
}

interface Answer {
  series: readonly ReadSeries[];
  queryMs: number;
}

export class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #records: AlertRecords;
  readonly #downtime: Downtime;
  readonly #metrics: EvaluationMetrics;
  readonly #subjects = new Map<string, Subject>();
  readonly #groups = new Map<string, Group>();
  readonly #turnstile = new Turnstile(advancesInFlightMax);
  /** States of alerts that were not named since the start: what is left of them at `begin` was deleted. */
  readonly #orphans: Map<string, AlertState>;
  #timer: NodeJS.Timeout | undefined;
  readonly #running = new Set<Promise<void>>();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.#records = new AlertRecords(options.state);
    this.#downtime = new Downtime(options.state, options.now());
    this.#metrics = new EvaluationMetrics(options.metrics);
    this.#orphans = new Map(this.#records.states());
    this.#readMetrics(options.metrics);
  }

  /** Takes up an alert, or its new form. Resolves when what follows from the change is stored. */
  async upsert(alert: Alert): Promise<void> {
    const { id } = alert.metadata;
    const nowMs = this.#options.now();
    const known = this.#subjects.get(id);
    if (known !== undefined) {
      await known.inTurn(() => this.#adopt(known, alert, known.state));
      return;
    }
    const before = this.#orphans.get(id);
    this.#orphans.delete(id);
    const { state } = adopt(alert, undefined, nowMs);
    const subject = new Subject(alert, before ?? state);
    this.#subjects.set(id, subject);
    await subject.inTurn(() => this.#adopt(subject, alert, before));
  }

  /** Ends the alert's fires. */
  async remove(id: string): Promise<void> {
    const subject = this.#subjects.get(id);
    if (subject === undefined) return;
    this.#subjects.delete(id);
    this.#leaveGroup(subject);
    await subject.inTurn(() => this.#delete(id, subject.state));
  }

  /** All alerts were named: those that are remembered and were not have been deleted meanwhile. */
  async begin(): Promise<void> {
    for (const [id, state] of this.#orphans) await this.#delete(id, state);
    this.#orphans.clear();
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

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all(this.#running);
    await Promise.all([...this.#subjects.values()].map((subject) => subject.inTurn(async () => undefined)));
    await this.#downtime.end(this.#options.now());
  }

  /** Evaluates all that is due. Resolves when it is stored. */
  async evaluateDue(): Promise<void> {
    const nowMs = this.#options.now();
    await this.#sayAlive(nowMs);
    const due = [...this.#groups.values()].filter((group) => group.dueMs <= nowMs && !group.isRunning);
    await Promise.all(due.map((group) => this.#evaluateGroup(group, nowMs)));
  }

  /** The time of the next evaluation; infinite without alerts. */
  nextDueMs(): number {
    return Math.min(...Array.from(this.#groups.values(), (group) => group.dueMs));
  }

  stateOf(id: string): { state: RuleCondition; error: string | null; details: AlertState } | undefined {
    const subject = this.#subjects.get(id);
    return subject && { state: worstState(subject.state), error: subject.error, details: subject.state };
  }

  evaluations(id: string): Evaluation[] {
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

  async #adopt(subject: Subject, alert: Alert, before: AlertState | undefined): Promise<void> {
    const nowMs = this.#options.now();
    const edit = adopt(alert, before, nowMs);
    if (edit.state !== before) {
      await this.#store(alert.metadata.id, subject.alert, { ...edit, opened: [], transitions: [] }, false);
    }
    this.#leaveGroup(subject);
    subject.alert = alert;
    subject.state = edit.state;
    if (this.#subjects.get(alert.metadata.id) === subject) this.#joinGroup(subject, nowMs);
  }

  async #delete(id: string, state: AlertState): Promise<void> {
    const closed = closeAll(state, this.#options.now(), "deleted");
    await this.#store(id, undefined, { state: undefined, closed, opened: [], transitions: [] }, false);
  }

  #joinGroup(subject: Subject, nowMs: number): void {
    const { query, bucketSeconds } = queryOf(subject.alert);
    const { readsAs = "" } = subject.alert;
    const key = groupKey(subject);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const shape = this.#shapeOf(subject, query);
      if (shape === undefined) return;
      const grid = gridOf(bucketSeconds, this.#options.delayMs, shape.selector);
      const { unlabelled } = shape;
      group = {
        ...{ query, bucketSeconds, readsAs, grid, unlabelled },
        subjects: new Set(),
        dueMs: nowMs,
        isRunning: false,
      };
      this.#groups.set(key, group);
    }
    group.subjects.add(subject);
    group.dueMs = Math.min(group.dueMs, nowMs);
  }

  #shapeOf(subject: Subject, query: string): QueryShape | undefined {
    try {
      return this.#options.shapeOf(query);
    } catch (error) {
      subject.error = (error as Error).message;
      return undefined;
    }
  }

  #leaveGroup(subject: Subject): void {
    const key = groupKey(subject);
    const group = this.#groups.get(key);
    group?.subjects.delete(subject);
    if (group?.subjects.size === 0) this.#groups.delete(key);
  }

  async #evaluateGroup(group: Group, nowMs: number): Promise<void> {
    group.isRunning = true;
    try {
      const head = headMs(group.grid, nowMs);
      const ranges = new Map<string, { range: BucketRange; subjects: Subject[] }>();
      for (const subject of group.subjects) {
        if (subject.isAhead(head)) subject.state = rewound(subject.state, nowMs);
        const range = subject.nextRange(head);
        if (range === undefined) continue;
        const key = `${range.fromMs} ${range.toMs}`;
        const same = ranges.get(key);
        if (same === undefined) ranges.set(key, { range, subjects: [subject] });
        else same.subjects.push(subject);
      }
      await Promise.all(
        Array.from(ranges.values(), ({ range, subjects }) =>
          this.#evaluateRange(group, range, subjects, head, nowMs),
        ),
      );
      group.dueMs = nextDue(group, head, nowMs);
    } finally {
      group.isRunning = false;
    }
  }

  async #evaluateRange(
    group: Group,
    range: BucketRange,
    subjects: readonly Subject[],
    head: number,
    nowMs: number,
  ): Promise<void> {
    const { bucketMs } = group.grid;
    const { fromMs, toMs } = range;
    const isLost = (startMs: number) => this.#downtime.overlaps(startMs, startMs + bucketMs);
    const begunMs = performance.now();
    try {
      const { series, queryMs } = await this.#read(group, readRange(group, range, isLost, subjects));
      const reading: Reading = { fromMs, toMs, series, unlabelled: group.unlabelled, isLost };
      const turns = subjects.map((subject) =>
        this.#turnstile.pass(() =>
          subject.inTurn(() => this.#advance(subject, reading, queryMs, toMs >= head, nowMs)),
        ),
      );
      await Promise.all(turns);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      for (const subject of subjects) this.#failed(subject, message, performance.now() - begunMs, nowMs);
    }
  }

  async #read({ query, bucketSeconds, readsAs }: Group, { fromMs, toMs }: BucketRange): Promise<Answer> {
    if (fromMs >= toMs) return { series: [], queryMs: 0 };
    const begunMs = performance.now();
    this.#metrics.queries.add();
    const asked = { query, startMs: fromMs, endMs: toMs - 1, bucketSeconds, readsAs };
    const series = await within(evaluationTimeoutMs, (signal) => this.#options.query(asked, signal));
    const queryMs = performance.now() - begunMs;
    this.#metrics.querySeconds.observe(queryMs / 1000);
    return { series, queryMs };
  }

  async #advance(
    subject: Subject,
    reading: Reading,
    queryMs: number,
    isHead: boolean,
    nowMs: number,
  ): Promise<void> {
    const before = subject.state;
    const isStale =
      this.#subjects.get(subject.alert.metadata.id) !== subject || !this.#fits(subject, reading);
    if (isStale) return;
    try {
      this.#metrics.missed.add(missedBuckets(subject, reading));
      this.#metrics.lateBuckets.add(lateBuckets(subject, reading));
      const result = advance(subject.alert, before, reading);
      await this.#store(subject.alert.metadata.id, subject.alert, result, isHead);
      subject.state = result.state;
      subject.error = null;
      subject.log.evaluated(nowMs, queryMs, reading, result.state);
      this.#metrics.evaluations.add(1, { outcome: "judged" });
      for (const { to } of result.transitions) this.#metrics.transitions.add(1, { to });
    } catch (error) {
      this.#failed(subject, (error as Error).message, queryMs, nowMs);
    }
  }

  /** An edit that came while the query ran may have made its answer useless. */
  #fits(subject: Subject, { fromMs, toMs }: Reading): boolean {
    const group = this.#groups.get(groupKey(subject));
    const range = group?.subjects.has(subject) === true ? subject.nextRange(toMs) : undefined;
    return range !== undefined && range.fromMs === fromMs && range.toMs === toMs;
  }

  /** All that follows from one step, in one commit. */
  async #store(
    id: string,
    alert: Alert | undefined,
    step: Pick<ReturnType<typeof advance>, "opened" | "closed" | "transitions"> & {
      state: AlertState | undefined;
    },
    isHead: boolean,
  ): Promise<void> {
    const { delayMs, outbox, silencedBy, state } = this.#options;
    const nowMs = this.#options.now();
    const { fires, messages, noticed } = tell(alert, step.state, step, {
      nowMs,
      delayMs,
      isHead,
      knownFire: (fireId) => this.#records.fire(fireId),
      silencedBy: (fire) => silencedBy(fire, nowMs),
    });
    const prepared = outbox.prepare(messages);
    const investigated = alert?.investigateOnFire === true ? noticed : [];
    await state.write([
      ...this.#records.stateChanges(id, step.state, step.transitions),
      ...this.#records.fireChanges(fires),
      ...this.#records.investigationChanges(investigated, nowMs),
      ...prepared.changes,
    ]);
    prepared.stored();
  }

  #failed(subject: Subject, message: string, queryMs: number, nowMs: number): void {
    if (subject.error !== message) {
      this.#options.log("warn", `alert ${JSON.stringify(subject.alert.metadata.name)}: ${message}`);
    }
    subject.error = message;
    subject.log.failed(nowMs, queryMs, message, subject.state);
    this.#metrics.evaluations.add(1, { outcome: "failed" });
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
      sum(({ error }) => (error === null ? 0 : 1)),
    );
    gauge("svc_alert_lag_seconds", "How long the evaluation that waits the longest is overdue.", () => {
      return this.#groups.size === 0 ? 0 : Math.max(0, this.#options.now() - this.nextDueMs()) / 1000;
    });
  }
}

/** Times on the grid are met this exactly. */
const tickMs = 250;

/**
 * What should have happened in the week, found out the slow way from what was done in it: interface specification 2.1, design of
 * alerts and notifications. Shares no code with what it judges; every window is cut out of all buckets anew.
 */

import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Action, EvaluationRule } from "../../../../server/model/alert.ts";
import { type Cell, naiveOpenState, windowOf } from "../naive.ts";
import { hour, minute, second } from "./plan.ts";

/** The buckets of a query as all alerts that ask it have observed them. */
interface ObservedWindow {
  readonly buckets: readonly number[];
  cell(labels: string, bucketMs: number): Cell;
  isLost(bucketMs: number): boolean;
  lastDataMs(labels: string): number;
  labels(): string[];
}

export interface ModelFire {
  alertId: string;
  rule: string;
  labels: string;
  firedAtMs: number;
  resolvedAtMs: number | null;
  reason: string | null;
  told: "no" | "yes" | "unseen";
  noticed: boolean;
  actions: readonly Action[];
  /** As the rule had it when the fire began. */
  repeatSeconds: number | undefined;
  /** The number of the last message about its going on, by destination. */
  repeats: Map<string, number>;
  /** Up to then it was kept back, or not known yet; null: not seen since the start. */
  heldMs: number | null;
  /** When it was found that it had begun, and that it had ended. */
  begunMs: number;
  endedMs: number | null;
}

export interface ModelTransition {
  rule: string;
  labels: string;
  from: string | null;
  to: string;
  atMs: number;
  decided: [bucketMs: number, value: Cell];
}

/** A fire that is told, or its end. */
export interface ModelEvent {
  fire: ModelFire;
  type: "alertFired" | "alertResolved" | "alertUnhealthy" | "alertHealthy";
  actions: readonly Action[];
  late: boolean;
  resolvedAtMs: number | null;
  reason: string | null;
  /** Of a message that it goes on. */
  repeat?: number;
}

/** What a query sees of the world at one time. */
export interface Surroundings {
  nowMs: number;
  /** From the end of a bucket until it is judged. */
  behindMs: number;
  series: readonly { labels: string; valueAt(bucketMs: number): Cell }[];
  /** Without labels: one instance, with or without data. */
  isPlain: boolean;
  isLost(bucketMs: number, widthMs: number): boolean;
  isHeld(alert: ModelAlert, fire: ModelFire): boolean;
  receivers(fire: ModelFire, own: readonly Action[]): readonly Action[];
  queryFails: boolean;
  diskIsFull: boolean;
}

interface ModelInstance {
  rules: Map<string, { state: string; fire: ModelFire | null }>;
}

const lateAfterMs = 5 * minute;
const delayMs = 30 * second;

export class ModelAlert {
  alert: AlertDefinition;
  hasError = false;
  readonly fires: ModelFire[] = [];
  readonly events: ModelEvent[] = [];
  readonly investigated: ModelFire[] = [];
  transitions: ModelTransition[] = [];
  /** It has judged nothing yet. */
  isFresh = true;
  #wasJudged = false;
  #instances = new Map<string, ModelInstance>();
  #closed: ModelFire[] = [];
  #nowMs = 0;

  constructor(alert: AlertDefinition) {
    this.alert = alert;
  }

  get query(): string {
    return this.alert.timeseries.expression.svcQLTimeseries.query;
  }

  get bucketSize(): number {
    return this.alert.timeseries.expression.svcQLTimeseries.bucketSize;
  }

  /** Every instance has a rule that found no data in what it has judged, and none fires. */
  get hasNoData(): boolean {
    const instances = [...this.#instances.values()].map(({ rules }) =>
      [...rules.values()].map(({ state }) => state),
    );
    const lackData = instances.every((states) => states.includes("noData"));
    return this.#wasJudged && this.state() === "noData" && lackData;
  }

  state(): string {
    const states = [...this.#instances.values()].flatMap(({ rules }) =>
      [...rules.values()].map(({ state }) => state),
    );
    if (!this.#wasJudged || (states.includes("noData") && !states.includes("firing"))) return "noData";
    return states.includes("firing") ? "firing" : "ok";
  }

  save(alert: AlertDefinition, nowMs: number): void {
    this.#nowMs = nowMs;
    const { query, bucketSize } = this;
    const before = new Map(this.#rules().map((rule) => [rule.name, meaningOf(rule)]));
    this.alert = alert;
    if (query !== this.query || bucketSize !== this.bucketSize) {
      this.end("changed", nowMs);
      this.isFresh = true;
      this.#wasJudged = false;
      this.#instances.clear();
      return;
    }
    const kept = new Set(
      this.#rules().flatMap((rule) => (before.get(rule.name) === meaningOf(rule) ? [rule.name] : [])),
    );
    for (const { rules } of this.#instances.values()) {
      for (const [name, { fire }] of rules) {
        if (kept.has(name)) continue;
        if (fire !== null) this.#endFire(fire, nowMs, "changed");
        rules.delete(name);
      }
    }
    this.#tellEnds(nowMs);
  }

  /** All open fires end. */
  end(reason: string, nowMs: number): void {
    this.#nowMs = nowMs;
    for (const { rules } of this.#instances.values())
      for (const { fire } of rules.values()) if (fire !== null) this.#endFire(fire, nowMs, reason);
    this.#tellEnds(nowMs);
  }

  #rules(): readonly EvaluationRule[] {
    return this.alert.timeseries.evaluationRules;
  }

  /** Of its instances. */
  labels(): string[] {
    return [...this.#instances.keys()];
  }

  /** Buckets that its rules look at. */
  windowSize(): number {
    return Math.max(...this.#rules().map((rule) => windowOf(rule).n)) + 2;
  }

  isUnsettled(window: ObservedWindow): boolean {
    return this.lacksRules(window) || this.openFires().some(({ told }) => told === "no");
  }

  /** Rules were not judged yet that could be. */
  lacksRules({ buckets }: ObservedWindow): boolean {
    const lackOne = [...this.#instances.values()].some(({ rules }) =>
      this.#rules().some(({ name }) => !rules.has(name)),
    );
    return this.isFresh || (buckets.length > 0 && lackOne);
  }

  /** A fire waits to be told since an earlier evaluation, or is held back now. */
  isPending(around: Surroundings): boolean {
    return this.openFires().some(
      (fire) => fire.told === "no" && (fire.begunMs < around.nowMs || around.isHeld(this, fire)),
    );
  }

  /** The bucket is in the window. */
  judge(window: ObservedWindow, bucketMs: number, { isPlain, nowMs }: Surroundings): void {
    this.#nowMs = nowMs;
    const endMs = bucketMs + this.bucketSize * second;
    const upTo = window.buckets.filter((ms) => ms <= bucketMs);
    const seen = this.isFresh && !this.#wasJudged ? upTo.slice(-this.windowSize()) : [bucketMs];
    for (const labels of isPlain ? ["{}"] : window.labels()) {
      const hasData = seen.some((ms) => window.cell(labels, ms) !== null);
      if (!this.#instances.has(labels) && (hasData || isPlain))
        this.#instances.set(labels, { rules: new Map() });
    }
    this.#wasJudged = true;
    for (const [labels, instance] of this.#instances) {
      for (const rule of this.#rules()) this.#judge(rule, labels, instance, window, bucketMs);
      if (window.isLost(bucketMs)) continue;
      if (!isPlain && endMs - window.lastDataMs(labels) >= 24 * hour) this.#leave(labels, instance, bucketMs);
    }
  }

  /** All buckets up to now were judged. */
  evaluated(window: ObservedWindow, around: Surroundings): void {
    this.#nowMs = around.nowMs;
    this.isFresh = false;
    this.#wasJudged = true;
    const newestMs = window.buckets.at(-1);
    for (const [labels, instance] of this.#instances) {
      for (const rule of this.#rules()) {
        if (newestMs === undefined || instance.rules.has(rule.name)) continue;
        this.#judge(rule, labels, instance, window, newestMs);
      }
    }
    this.hasError = false;
  }

  /** Behind the evaluation of all that is due in the same moment. */
  tell(around: Surroundings): void {
    this.#tellEnds(around.nowMs, around);
    this.#tellOpen(around);
  }

  #judge(
    rule: EvaluationRule,
    labels: string,
    instance: ModelInstance,
    shared: ObservedWindow,
    bucketMs: number,
  ): void {
    const window = windowOf(rule);
    const seen = shared.buckets
      .filter((ms) => ms <= bucketMs)
      .slice(-(window.n + 2))
      .map((ms) => [ms, shared.cell(labels, ms)] as const);
    const before = instance.rules.get(rule.name);
    const state = naiveOpenState(
      seen.map(([ms, value]) => (shared.isLost(ms) ? { value, moves: "moves" } : value)),
      window,
      before?.state ?? "noData",
    );
    if (state === before?.state) return;
    const atMs = bucketMs + this.bucketSize * second;
    const speaking = seen.findLast(
      ([, value]) => state !== "noData" && value !== null && window.isBreach(value) === (state === "firing"),
    );
    if (before !== undefined || state === "firing") {
      const [ms, value] = speaking ?? [bucketMs, null];
      const from = before?.state ?? null;
      this.transitions.push({ rule: rule.name, labels, from, to: state, atMs, decided: [ms, value] });
    }
    let fire = before?.fire ?? null;
    if (state === "firing") fire ??= this.#open(rule, labels, atMs);
    if (state === "ok" && fire !== null) {
      this.#endFire(fire, atMs, "recovered");
      fire = null;
    }
    instance.rules.set(rule.name, { state, fire });
  }

  #leave(labels: string, instance: ModelInstance, bucketMs: number): void {
    const atMs = bucketMs + this.bucketSize * second;
    for (const [rule, { state, fire }] of instance.rules) {
      if (fire === null) continue;
      this.#endFire(fire, atMs, "gone");
      this.transitions.push({ rule, labels, from: state, to: "ok", atMs, decided: [bucketMs, null] });
    }
    this.#instances.delete(labels);
  }

  #open({ name, repeatSeconds }: EvaluationRule, labels: string, firedAtMs: number): ModelFire {
    const fire: ModelFire = {
      ...{ alertId: this.alert.metadata.id, rule: name, labels, firedAtMs, repeatSeconds },
      ...{ repeats: new Map(), heldMs: null, begunMs: this.#nowMs, endedMs: null },
      ...{ resolvedAtMs: null, reason: null, told: "no", noticed: false, actions: [] },
    };
    this.fires.push(fire);
    return fire;
  }

  #endFire(fire: ModelFire, resolvedAtMs: number, reason: string): void {
    Object.assign(fire, { resolvedAtMs, reason, endedMs: this.#nowMs });
    this.#closed.push(fire);
  }

  /** Who was told of a fire is told of its end. One that began and ended since the last look is told, unless that is long ago. */
  #tellEnds(nowMs: number, around?: Surroundings): void {
    for (const fire of this.#closed.splice(0)) {
      if (fire.told === "yes") this.#tell("alertResolved", fire, isLate(fire.resolvedAtMs!, nowMs));
      else if (fire.noticed) continue;
      else if (isLate(fire.firedAtMs, nowMs)) fire.told = "unseen";
      else {
        this.#notice(fire);
        if (around?.isHeld(this, fire) === true) continue;
        fire.told = "yes";
        fire.actions = this.#actionsOf(fire, around);
        this.#tell("alertFired", fire, false);
        this.#tell("alertResolved", fire, false);
      }
    }
  }

  #tellOpen(around: Surroundings): void {
    for (const { rules } of this.#instances.values()) {
      for (const { fire } of rules.values()) {
        if (fire === null || fire.told === "yes") continue;
        if (!fire.noticed) this.#notice(fire);
        if (around.isHeld(this, fire)) continue;
        fire.told = "yes";
        fire.actions = this.#actionsOf(fire, around);
        this.#tell("alertFired", fire, isLate(fire.firedAtMs, around.nowMs));
      }
    }
  }

  /** Fires that are open, or ended at this moment. */
  recentFires(nowMs: number): ModelFire[] {
    return this.fires.filter(({ endedMs }) => endedMs === null || endedMs === nowMs);
  }

  openFires(): ModelFire[] {
    return [...this.#instances.values()].flatMap(({ rules }) =>
      [...rules.values()].flatMap(({ fire }) => fire ?? []),
    );
  }

  #notice(fire: ModelFire): void {
    fire.noticed = true;
    if (this.alert.investigateOnFire === true) this.investigated.push(fire);
  }

  #actionsOf(fire: ModelFire, around: Surroundings | undefined): readonly Action[] {
    const own = this.#rules().find(({ name }) => name === fire.rule)?.actions ?? [];
    return around === undefined ? own : around.receivers(fire, own);
  }

  #tell(type: ModelEvent["type"], fire: ModelFire, late: boolean): void {
    const isEnd = type === "alertResolved";
    const { actions } = fire;
    const [resolvedAtMs, reason] = isEnd ? [fire.resolvedAtMs, fire.reason] : [null, null];
    this.events.push({ fire, type, actions, late, resolvedAtMs, reason });
  }
}

function isLate(atMs: number, nowMs: number): boolean {
  return nowMs - delayMs - atMs > lateAfterMs;
}

/** Two rules of one meaning are one rule: its fires go on. */
function meaningOf({ static: rule }: EvaluationRule): string {
  const {
    datapointsToAlarm,
    datapointsInEvaluationWindow,
    missingDatapointBehavior = "notBreaching",
  } = rule.persistenceSettings;
  return JSON.stringify([
    rule.operators.map(({ operator, threshold }) => [operator, threshold]),
    ...[datapointsToAlarm, datapointsInEvaluationWindow, missingDatapointBehavior],
  ]);
}

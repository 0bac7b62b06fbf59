/**
 * What should have happened in the week, found out the slow way from what was done in it: interface specification 2.1, design of
 * alerts and notifications. Shares no code with what it judges; every window is cut out of all buckets anew.
 */
import type { Action } from "../../../../server/alert-event.ts";
import type { Alert, EvaluationRule } from "../../../../server/alerts/alert.ts";
import { type Cell, naiveState, windowOf } from "../naive.ts";
import { hour, minute, second } from "./plan.ts";

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
  type: "alertFired" | "alertResolved";
  actions: readonly Action[];
  late: boolean;
  resolvedAtMs: number | null;
  reason: string | null;
}

/** What an alert sees of the world at one time. */
export interface Surroundings {
  nowMs: number;
  /** From the end of a bucket until it is judged. */
  behindMs: number;
  series: readonly { labels: string; valueAt(bucketMs: number): Cell }[];
  /** Without labels: one instance, with or without data. */
  isPlain: boolean;
  isLost(bucketMs: number, widthMs: number): boolean;
  isSilenced(labels: string): boolean;
  queryFails: boolean;
  diskIsFull: boolean;
}

interface ModelInstance {
  cells: Map<number, Cell>;
  lastDataMs: number;
  rules: Map<string, { state: string; fire: ModelFire | null }>;
}

const lateAfterMs = 5 * minute;
const delayMs = 30 * second;

export class ModelAlert {
  alert: Alert;
  hasError = false;
  readonly fires: ModelFire[] = [];
  readonly events: ModelEvent[] = [];
  readonly investigated: ModelFire[] = [];
  transitions: ModelTransition[] = [];
  #throughMs: number | null = null;
  #windowRead = 0;
  #buckets: number[] = [];
  #instances = new Map<string, ModelInstance>();
  #closed: ModelFire[] = [];

  constructor(alert: Alert) {
    this.alert = alert;
  }

  get query(): string {
    return this.alert.timeseries.expression.svcQLTimeseries.query;
  }

  get bucketSize(): number {
    return this.alert.timeseries.expression.svcQLTimeseries.bucketSize;
  }

  state(): string {
    const states = [...this.#instances.values()].flatMap(({ rules }) =>
      [...rules.values()].map(({ state }) => state),
    );
    if (this.#throughMs === null || (states.includes("noData") && !states.includes("firing")))
      return "noData";
    return states.includes("firing") ? "firing" : "ok";
  }

  save(alert: Alert, nowMs: number): void {
    const { query, bucketSize } = this;
    const before = new Map(this.#rules().map((rule) => [rule.name, meaningOf(rule)]));
    this.alert = alert;
    if (query !== this.query || bucketSize !== this.bucketSize) {
      this.end("changed", nowMs);
      this.#forget();
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
    for (const { rules } of this.#instances.values())
      for (const { fire } of rules.values()) if (fire !== null) this.#endFire(fire, nowMs, reason);
    this.#tellEnds(nowMs);
  }

  #rules(): readonly EvaluationRule[] {
    return this.alert.timeseries.evaluationRules;
  }

  #forget(): void {
    this.#throughMs = null;
    this.#buckets = [];
    for (const instance of this.#instances.values()) instance.cells.clear();
  }

  /** One time at which the alert is looked at. */
  evaluate(around: Surroundings): void {
    const widthMs = this.bucketSize * second;
    const gridMs = Math.floor((around.nowMs - around.behindMs) / minute) * minute;
    const headMs = Math.floor(gridMs / widthMs) * widthMs;
    const isBehind = this.#throughMs !== null && this.#throughMs - headMs > 5 * minute + widthMs;
    const window = Math.max(...this.#rules().map((rule) => windowOf(rule).n)) + 2;
    const isFresh = this.#throughMs === null || isBehind;
    const refills = isFresh || window > this.#windowRead;
    const isNew = headMs > (this.#throughMs ?? 0) || refills;
    if (!isNew && !this.#isUnsettled()) return;
    if (around.queryFails && isNew) this.hasError = true;
    if ((around.queryFails && isNew) || around.diskIsFull) return;
    const judgedMs = isFresh ? headMs - widthMs : this.#throughMs!;
    const fromMs = refills ? (isFresh ? headMs : this.#throughMs!) - window * widthMs : this.#throughMs!;
    if (refills) this.#forget();
    this.#windowRead = refills ? window : Math.min(window, this.#windowRead);
    const toMs = isFresh ? headMs : Math.max(judgedMs, headMs);
    for (let bucketMs = fromMs; bucketMs < toMs; bucketMs += widthMs) {
      if (!around.isLost(bucketMs, widthMs)) this.#observe(bucketMs, bucketMs >= judgedMs, window, around);
    }
    this.#throughMs = toMs;
    this.#judgeNewRules();
    this.hasError = false;
    this.#tellEnds(around.nowMs, around);
    this.#tellOpen(around);
  }

  #isUnsettled(): boolean {
    return [...this.#instances.values()].some(
      ({ rules }) =>
        (this.#buckets.length > 0 && this.#rules().some(({ name }) => !rules.has(name))) ||
        [...rules.values()].some(({ fire }) => fire !== null && fire.told === "no"),
    );
  }

  #observe(bucketMs: number, isJudged: boolean, window: number, { series, isPlain }: Surroundings): void {
    const endMs = bucketMs + this.bucketSize * second;
    const values = new Map(series.map(({ labels, valueAt }) => [labels, valueAt(bucketMs)]));
    for (const [labels, value] of values) {
      if (value === null && !isPlain) continue;
      const instance = this.#instances.get(labels) ?? {
        cells: new Map(),
        lastDataMs: endMs,
        rules: new Map(),
      };
      if (value !== null) instance.lastDataMs = endMs;
      this.#instances.set(labels, instance);
    }
    this.#buckets = [...this.#buckets, bucketMs].slice(-window);
    for (const [labels, instance] of this.#instances) {
      instance.cells.set(bucketMs, values.get(labels) ?? null);
      if (!isJudged) continue;
      for (const rule of this.#rules()) this.#judge(rule, labels, instance, bucketMs);
      if (!isPlain && endMs - instance.lastDataMs >= 24 * hour) this.#leave(labels, instance, bucketMs);
    }
  }

  #judgeNewRules(): void {
    const newestMs = this.#buckets.at(-1);
    if (newestMs === undefined) return;
    for (const [labels, instance] of this.#instances) {
      for (const rule of this.#rules()) {
        if (!instance.rules.has(rule.name)) this.#judge(rule, labels, instance, newestMs);
      }
    }
  }

  #judge(rule: EvaluationRule, labels: string, instance: ModelInstance, bucketMs: number): void {
    const window = windowOf(rule);
    const seen = this.#buckets
      .slice(-(window.n + 2))
      .map((ms) => [ms, instance.cells.get(ms) ?? null] as const);
    const before = instance.rules.get(rule.name);
    const state = naiveState(
      seen.map(([, value]) => value),
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
    if (state === "firing") fire ??= this.#open(rule.name, labels, atMs);
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

  #open(rule: string, labels: string, firedAtMs: number): ModelFire {
    const fire: ModelFire = {
      ...{ alertId: this.alert.metadata.id, rule, labels, firedAtMs },
      ...{ resolvedAtMs: null, reason: null, told: "no", noticed: false, actions: [] },
    };
    this.fires.push(fire);
    return fire;
  }

  #endFire(fire: ModelFire, resolvedAtMs: number, reason: string): void {
    Object.assign(fire, { resolvedAtMs, reason });
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
        if (around?.isSilenced(fire.labels) === true) continue;
        fire.told = "yes";
        fire.actions = this.#actionsOf(fire.rule);
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
        if (around.isSilenced(fire.labels)) continue;
        fire.told = "yes";
        fire.actions = this.#actionsOf(fire.rule);
        this.#tell("alertFired", fire, isLate(fire.firedAtMs, around.nowMs));
      }
    }
  }

  #notice(fire: ModelFire): void {
    fire.noticed = true;
    if (this.alert.investigateOnFire === true) this.investigated.push(fire);
  }

  #actionsOf(rule: string): readonly Action[] {
    return this.#rules().find(({ name }) => name === rule)?.actions ?? [];
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

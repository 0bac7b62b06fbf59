/** The step of evaluation: new buckets are judged one after the other. A pure function. */
import type { Datapoint, ResolveReason } from "../alert-event.ts";
import { type Alert, breaches, bucketMsOf, type EvaluationRule, windowBuckets } from "./alert.ts";
import {
  type AlertState,
  type Instance,
  instanceKey,
  type RuleCondition,
  type RuleState,
} from "./alert-state.ts";
import { type ClosedFire, type Fire, openedFire } from "./fire.ts";
import { instanceIdleMsMax, instancesMax } from "./limits.ts";
import { verdictOf } from "./verdict.ts";

export interface ReadSeries {
  labels: Record<string, string>;
  /** Start of the bucket in milliseconds, value. */
  points: readonly (readonly [ms: number, value: number])[];
}

/** What a query answered for whole buckets. */
export interface Reading {
  /** Start of the first bucket. */
  fromMs: number;
  /** End of the last. */
  toMs: number;
  series: readonly ReadSeries[];
  /** Whether the query gives one series without labels and no other: then there is one instance, with or without data. */
  unlabelled: boolean;
  /** Buckets that cannot be judged, for the server was down: they leave no trace. */
  isLost: (bucketMs: number) => boolean;
}

export interface Transition {
  rule: string;
  labels: Record<string, string>;
  from: RuleCondition | null;
  to: RuleCondition;
  /** End of the bucket that decided. */
  atMs: number;
  decided: Datapoint;
  why: string;
  fireId: string | null;
}

export interface Advance {
  state: AlertState;
  transitions: Transition[];
  opened: Fire[];
  closed: ClosedFire[];
}

/** Throws an Error, one sentence for people, where the query gives too many series. */
export function advance(alert: Alert, before: AlertState, reading: Reading): Advance {
  const step = new Step(alert, before, reading);
  const widthMs = bucketMsOf(alert);
  const judgedMs = before.throughMs ?? reading.toMs - widthMs;
  for (let bucketMs = reading.fromMs; bucketMs < reading.toMs; bucketMs += widthMs) {
    if (!reading.isLost(bucketMs)) step.observe(bucketMs, bucketMs >= judgedMs);
  }
  return step.end();
}

class Step {
  readonly #alert: Alert;
  readonly #widthMs: number;
  readonly #window: number;
  readonly #toMs: number;
  readonly #unlabelled: boolean;
  readonly #rules: AlertState["rules"];
  readonly #definition: string;
  readonly #instances: Map<string, Instance>;
  readonly #read: Map<string, { labels: Record<string, string>; values: Map<number, number> }>;
  #windowBuckets: number;
  #buckets: number[];
  readonly #transitions: Transition[] = [];
  readonly #opened: Fire[] = [];
  readonly #closed: ClosedFire[] = [];

  constructor(alert: Alert, before: AlertState, reading: Reading) {
    this.#alert = alert;
    this.#widthMs = bucketMsOf(alert);
    this.#window = windowBuckets(alert);
    this.#toMs = reading.toMs;
    this.#unlabelled = reading.unlabelled;
    this.#rules = before.rules;
    this.#definition = before.definition;
    // A reading that goes back behind what was judged fills the window anew.
    const refills = before.throughMs === null || reading.fromMs < before.throughMs;
    this.#windowBuckets = refills ? this.#window : Math.min(this.#window, before.windowBuckets);
    this.#buckets = refills ? [] : [...before.buckets];
    this.#instances = new Map(
      Object.entries(before.instances).map(([key, instance]) => {
        return [
          key,
          { ...instance, values: refills ? [] : [...instance.values], rules: { ...instance.rules } },
        ];
      }),
    );
    this.#read = new Map(
      reading.series.map(({ labels, points }) => [instanceKey(labels), { labels, values: new Map(points) }]),
    );
    this.#limitInstances();
  }

  #limitInstances(): void {
    let instances = this.#instances.size;
    for (const key of this.#read.keys()) if (!this.#instances.has(key)) instances++;
    if (instances > instancesMax)
      throw new Error(
        `the query gives ${instances} series, and an alert has ${instancesMax} instances at most`,
      );
  }

  /** Takes one bucket into the window and, unless it was judged before, judges it. */
  observe(bucketMs: number, judged: boolean): void {
    if (this.#unlabelled) this.#instanceOf("[]", {}, bucketMs);
    for (const [key, { labels, values }] of this.#read) {
      if (values.has(bucketMs)) this.#instanceOf(key, labels, bucketMs).lastDataMs = bucketMs + this.#widthMs;
    }
    this.#buckets.push(bucketMs);
    if (this.#buckets.length > this.#window) this.#buckets.shift();
    for (const [key, instance] of this.#instances) {
      instance.values.push(this.#read.get(key)?.values.get(bucketMs) ?? null);
      if (instance.values.length > this.#window) instance.values.shift();
      if (judged) this.#judge(key, instance, bucketMs);
    }
  }

  /** Rules that came or changed since the last bucket are judged by it at once. */
  end(): Advance {
    const newestMs = this.#buckets.at(-1);
    for (const [key, instance] of this.#instances) {
      for (const rule of this.#alert.timeseries.evaluationRules) {
        const isNew = instance.rules[rule.name] === undefined;
        if (isNew && newestMs !== undefined) this.#apply(rule, key, instance, newestMs);
      }
    }
    const state: AlertState = {
      definition: this.#definition,
      rules: this.#rules,
      throughMs: this.#toMs,
      windowBuckets: this.#windowBuckets,
      buckets: this.#buckets,
      instances: Object.fromEntries(this.#instances),
    };
    return { state, transitions: this.#transitions, opened: this.#opened, closed: this.#closed };
  }

  #instanceOf(key: string, labels: Record<string, string>, bucketMs: number): Instance {
    let instance = this.#instances.get(key);
    if (instance === undefined) {
      const values = this.#buckets.map(() => null);
      instance = { labels, values, lastDataMs: bucketMs + this.#widthMs, rules: {} };
      this.#instances.set(key, instance);
    }
    return instance;
  }

  #judge(key: string, instance: Instance, bucketMs: number): void {
    for (const rule of this.#alert.timeseries.evaluationRules) this.#apply(rule, key, instance, bucketMs);
    const endMs = bucketMs + this.#widthMs;
    const idleMs = Math.max(instanceIdleMsMax, this.#window * this.#widthMs);
    if (this.#unlabelled || endMs - instance.lastDataMs < idleMs) return;
    this.#instances.delete(key);
    for (const [rule, { state, fire }] of Object.entries(instance.rules)) {
      if (fire === null) continue;
      this.#close(fire, endMs, "gone");
      const why = "the instance had no data for a day";
      this.#transitions.push({
        ...{ rule, labels: instance.labels, from: state, to: "ok", atMs: endMs, why, fireId: fire.id },
        decided: { bucketMs, value: null },
      });
    }
  }

  #apply(rule: EvaluationRule, key: string, instance: Instance, bucketMs: number): void {
    const { state: verdict, why } = verdictOf(instance.values, rule.static);
    const before: RuleState | undefined = instance.rules[rule.name];
    const to = verdict === "keep" ? (before?.state ?? "noData") : verdict;
    if (before?.state === to) return;
    const atMs = bucketMs + this.#widthMs;
    const decided = this.#decided(rule, instance, to, bucketMs);
    let fire = before?.fire ?? null;
    const fireBefore = fire;
    if (to === "firing" && fire === null) {
      const adoptedMs = this.#rules[rule.name]!.adoptedMs;
      const opened = openedFire(
        this.#alert,
        rule,
        adoptedMs,
        { key, labels: instance.labels },
        {
          endMs: atMs,
          breached: decided,
        },
      );
      this.#opened.push(opened);
      fire = { id: opened.id, noticed: false, told: false };
    }
    if (to === "ok" && fire !== null) {
      this.#close(fire, atMs, "recovered");
      fire = null;
    }
    instance.rules[rule.name] = { state: to, sinceMs: atMs, fire };
    const { labels } = instance;
    // That a new instance is well is no news.
    if (before === undefined && to !== "firing") return;
    const fireId = (fire ?? fireBefore)?.id ?? null;
    this.#transitions.push({
      rule: rule.name,
      labels,
      from: before?.state ?? null,
      to,
      atMs,
      decided,
      why,
      fireId,
    });
  }

  /** The newest point that speaks for the new state, or the bucket that lacks one. */
  #decided(rule: EvaluationRule, instance: Instance, to: RuleCondition, bucketMs: number): Datapoint {
    const range = rule.static.persistenceSettings.datapointsInEvaluationWindow + 2;
    const { values } = instance;
    for (let back = 1; to !== "noData" && back <= Math.min(range, values.length); back++) {
      const value = values.at(-back)!;
      if (value === null || breaches(value, rule.static) !== (to === "firing")) continue;
      return { bucketMs: this.#buckets.at(-back)!, value };
    }
    return { bucketMs, value: null };
  }

  #close(fire: ClosedFire["fire"], resolvedAtMs: number, reason: ResolveReason): void {
    this.#closed.push({ fire, resolvedAtMs, reason });
  }
}

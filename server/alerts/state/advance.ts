/** One step of evaluation, a pure function: all alerts over one query judge its new buckets, one after another. */

import type { EvaluationRule } from "../../model/alert.ts";
import type { Datapoint, ResolveReason } from "../../model/event.ts";
import { type AlertDefinition, bucketMsOf, isBreaching, windowBuckets } from "./alert-definition.ts";
import type { AlertState, Instance, RuleCondition, RuleState } from "./alert-state.ts";
import { type ClosedFire, type Fire, openFire } from "./fire.ts";
import { makeFireOpening } from "./fire-opening.ts";
import type { QueryReading } from "./read-series.ts";
import { type Verdict, verdictOf, verdictState } from "./verdict.ts";
import { idleMsOf, SlidingWindow, type Window, type WindowSeries } from "./window.ts";

export interface Transition {
  rule: string;
  labels: Record<string, string>;
  from: RuleCondition | null;
  to: RuleCondition;
  /** End of the bucket that caused the transition. */
  atMs: number;
  /** The datapoint that speaks for the new state; its value is null where the bucket has none. */
  decided: Datapoint;
  why: string;
  fireId: string | null;
}

/** What a rule says of one bucket of an instance. */
export interface BucketVerdict {
  rule: string;
  /** Key of the instance. */
  key: string;
  /** Start of the bucket. */
  bucketMs: number;
  /** Null where the bucket has no point. */
  value: number | null;
  /** Of the newest points up to this bucket. */
  verdict: Verdict["state"];
  /** The state of the rule after this bucket. */
  state: RuleCondition;
}

/** An alert that judges the buckets of a window, which it shares with other alerts. */
export interface WindowFollower {
  alert: AlertDefinition;
  state: AlertState;
  /** Start of the first bucket that the alert judges. */
  fromMs: number;
  /** Receives every verdict, in the order of the buckets. */
  visit?: ((verdict: BucketVerdict) => void) | undefined;
}

export interface Advance {
  state: AlertState;
  transitions: Transition[];
  opened: Fire[];
  closed: ClosedFire[];
}

export interface Advanced {
  window: Window;
  /** One for each alert, in the order of the followers; null where the alert's state does not change. */
  advances: (Advance | null)[];
}

/**
 * Advances the window over a reading, and with it all alerts that follow the window. They have the same query and
 * bucket size. Throws Failure "limit", one sentence for people, if the query gives too many series.
 */
export function advance(
  followers: readonly WindowFollower[],
  before: Window | undefined,
  reading: QueryReading,
): Advanced {
  const bucketMs = bucketMsOf(followers[0]!.alert);
  const size = Math.max(...followers.map(({ alert }) => windowBuckets(alert)));
  const window = new SlidingWindow(before, reading, size, bucketMs);
  const judges = followers.map((follower) => new Judge(follower, window, bucketMs));
  const throughMs = before?.throughMs ?? reading.fromMs;
  for (const judge of judges) judge.judgeObserved(throughMs);
  for (let startMs = Math.max(reading.fromMs, throughMs); startMs < reading.toMs; startMs += bucketMs) {
    if (reading.isLost(startMs)) continue;
    window.observe(startMs);
    for (const judge of judges) judge.judgeNewest(startMs);
    window.forgetIdle(startMs + bucketMs);
  }
  return { advances: judges.map((judge) => judge.finish()), window: window.toWindow() };
}

/** Judges buckets by the rules of one alert, and collects what changes. */
class Judge {
  readonly #alert: AlertDefinition;
  readonly #rules: readonly EvaluationRule[];
  readonly #before: AlertState;
  readonly #fromMs: number;
  readonly #window: SlidingWindow;
  readonly #bucketMs: number;
  readonly #visit: WindowFollower["visit"];
  /**
   * True until the alert has judged a bucket. Its first bucket makes an instance of each series with data anywhere in
   * the window; later buckets only of series with data in the bucket itself.
   */
  #isFirst: boolean;
  /** The object of the old state until an instance changes, from then on a copy. */
  #instances: Record<string, Instance>;
  readonly #transitions: Transition[] = [];
  readonly #opened: Fire[] = [];
  readonly #closed: ClosedFire[] = [];

  constructor({ alert, state, fromMs, visit }: WindowFollower, window: SlidingWindow, bucketMs: number) {
    this.#alert = alert;
    this.#rules = alert.timeseries.evaluationRules;
    this.#before = state;
    this.#fromMs = fromMs;
    this.#window = window;
    this.#bucketMs = bucketMs;
    this.#visit = visit;
    this.#isFirst = state.throughMs === null;
    this.#instances = state.instances;
    for (const key in state.instances) window.ensureSeries(key, state.instances[key]!.labels);
  }

  /** Judges the buckets that are in the window already, because other alerts have judged them before. */
  judgeObserved(throughMs: number): void {
    if (this.#fromMs >= throughMs) return;
    for (const [index, startMs] of this.#window.buckets.entries()) {
      if (startMs >= this.#fromMs) this.#judge(index);
    }
  }

  /** Judges the newest bucket of the window, which starts at `startMs`. */
  judgeNewest(startMs: number): void {
    if (startMs >= this.#fromMs) this.#judge(this.#window.buckets.length - 1);
  }

  /**
   * Lets rules that are new or changed, and so have no state, judge the newest bucket. Then returns what changed, null
   * for no change.
   */
  finish(): Advance | null {
    const newest = this.#window.buckets.length - 1;
    for (const key in this.#instances) {
      const { rules } = this.#instances[key]!;
      for (const rule of this.#rules) {
        if (rules[rule.name] !== undefined || newest < 0) continue;
        this.#apply(rule, key, this.#window.series.get(key)!, newest);
      }
    }
    if (this.#instances === this.#before.instances) return null;
    const state = { ...this.#before, instances: this.#instances };
    return { state, transitions: this.#transitions, opened: this.#opened, closed: this.#closed };
  }

  #judge(index: number): void {
    for (const [key, series] of this.#window.series) {
      if (this.#instances[key] === undefined) {
        if (!this.#window.unlabelled && !this.#hasData(series, index)) continue;
        this.#set(key, { labels: series.labels, rules: {} });
      }
      for (const rule of this.#rules) this.#apply(rule, key, series, index);
      if (!this.#window.unlabelled) this.#removeIdle(key, series, index);
    }
    this.#isFirst = false;
  }

  #hasData({ values }: WindowSeries, index: number): boolean {
    if (!this.#isFirst) return values[index] !== null;
    return values
      .slice(0, index + 1)
      .slice(-windowBuckets(this.#alert))
      .some((value) => value !== null);
  }

  /** Removes an instance that has had no data for the idle time, and closes its fires. */
  #removeIdle(key: string, series: WindowSeries, index: number): void {
    const startMs = this.#window.buckets[index]!;
    const endMs = startMs + this.#bucketMs;
    if (endMs - series.lastDataMs < idleMsOf(windowBuckets(this.#alert), this.#bucketMs)) return;
    const { [key]: removed, ...others } = this.#instances;
    this.#instances = others;
    for (const [rule, { state, fire }] of Object.entries(removed!.rules)) {
      if (fire === null) continue;
      this.#close(fire, endMs, "gone");
      const why = "the instance had no data for a day";
      this.#transitions.push({
        ...{ rule, labels: series.labels, from: state, to: "ok", atMs: endMs, why, fireId: fire.id },
        decided: { bucketMs: startMs, value: null },
      });
    }
  }

  /** Judges the bucket at `index` in the window by one rule. */
  #apply(rule: EvaluationRule, key: string, series: WindowSeries, index: number): void {
    const instance = this.#instances[key]!;
    const before: RuleState | undefined = instance.rules[rule.name];
    const verdict = verdictState(series.values, rule.static, index + 1);
    const to = verdict === "keep" ? (before?.state ?? "noData") : verdict;
    const bucketMs = this.#window.buckets[index]!;
    this.#visit?.({ rule: rule.name, key, bucketMs, value: series.values[index]!, verdict, state: to });
    if (before?.state === to) return;
    const atMs = bucketMs + this.#bucketMs;
    const decided = this.#findDecidingPoint(rule, series, to, index);
    const { labels } = instance;
    let fire = before?.fire ?? null;
    const fireBefore = fire;
    if (to === "firing" && fire === null) {
      const { adoptedMs } = this.#before.rules[rule.name]!;
      const opening = makeFireOpening(rule.static, this.#window.buckets, series.values, index + 1);
      const bucket = { endMs: atMs, breached: decided, opening };
      const opened = openFire(this.#alert, rule, adoptedMs, { key, labels }, bucket);
      this.#opened.push(opened);
      fire = { id: opened.id, noticed: false, told: false };
    }
    if (to === "ok" && fire !== null) {
      this.#close(fire, atMs, "recovered");
      fire = null;
    }
    const rules = { ...instance.rules, [rule.name]: { state: to, sinceMs: atMs, fire } };
    this.#set(key, { labels, rules });
    // The first state of an instance is recorded as a transition only where it is firing.
    if (before === undefined && to !== "firing") return;
    const { why } = verdictOf(series.values, rule.static, index + 1);
    const fireId = (fire ?? fireBefore)?.id ?? null;
    const from = before?.state ?? null;
    this.#transitions.push({ rule: rule.name, labels, from, to, atMs, decided, why, fireId });
  }

  #set(key: string, instance: Instance): void {
    if (this.#instances === this.#before.instances) this.#instances = { ...this.#instances };
    this.#instances[key] = instance;
  }

  /** Returns the newest point that speaks for the new state; without one, the judged bucket with the value null. */
  #findDecidingPoint(
    rule: EvaluationRule,
    { values }: WindowSeries,
    to: RuleCondition,
    index: number,
  ): Datapoint {
    const { buckets } = this.#window;
    const oldest = index - rule.static.persistenceSettings.datapointsInEvaluationWindow - 1;
    for (let i = index; to !== "noData" && i >= Math.max(0, oldest); i--) {
      const value = values[i]!;
      if (value === null || isBreaching(value, rule.static) !== (to === "firing")) continue;
      return { bucketMs: buckets[i]!, value };
    }
    return { bucketMs: buckets[index]!, value: null };
  }

  #close(fire: ClosedFire["fire"], resolvedAtMs: number, reason: ResolveReason): void {
    this.#closed.push({ fire, resolvedAtMs, reason });
  }
}

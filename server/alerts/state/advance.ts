/** The step of evaluation: new buckets are judged one after the other, by all alerts over a query. A pure function. */

import type { EvaluationRule } from "../../model/alert.ts";
import type { Datapoint, ResolveReason } from "../../model/event.ts";
import { type AlertDefinition, bucketMsOf, isBreaching, windowBuckets } from "./alert-definition.ts";
import type { AlertState, Instance, RuleCondition, RuleState } from "./alert-state.ts";
import { type ClosedFire, type Fire, openFire } from "./fire.ts";
import type { QueryReading } from "./reading.ts";
import { verdictOf, verdictState } from "./verdict.ts";
import { idleMsOf, SlidingWindow, type Window, type WindowSeries } from "./window.ts";

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

/** An alert that looks at the window. */
export interface WindowFollower {
  alert: AlertDefinition;
  state: AlertState;
  /** Start of the first bucket that it judges. */
  fromMs: number;
}

export interface Advance {
  state: AlertState;
  transitions: Transition[];
  opened: Fire[];
  closed: ClosedFire[];
}

export interface Advanced {
  window: Window;
  /** Of each alert; null where it stays as it was. */
  advances: (Advance | null)[];
}

/**
 * All alerts have the query and the bucket size. Throws an Error, one sentence for people, where the query gives too many series.
 */
export function advance(
  watchers: readonly WindowFollower[],
  before: Window | undefined,
  reading: QueryReading,
): Advanced {
  const bucketMs = bucketMsOf(watchers[0]!.alert);
  const size = Math.max(...watchers.map(({ alert }) => windowBuckets(alert)));
  const window = new SlidingWindow(before, reading, size, bucketMs);
  const judges = watchers.map((watcher) => new Judge(watcher, window, bucketMs));
  const throughMs = before?.throughMs ?? reading.fromMs;
  for (const judge of judges) judge.judgeObserved(throughMs);
  for (let startMs = Math.max(reading.fromMs, throughMs); startMs < reading.toMs; startMs += bucketMs) {
    if (reading.isLost(startMs)) continue;
    window.observe(startMs);
    for (const judge of judges) judge.judgeNewest(startMs);
    window.forgetIdle(startMs + bucketMs);
  }
  return { advances: judges.map((judge) => judge.end()), window: window.end() };
}

class Judge {
  readonly #alert: AlertDefinition;
  readonly #rules: readonly EvaluationRule[];
  readonly #before: AlertState;
  readonly #fromMs: number;
  readonly #window: SlidingWindow;
  readonly #bucketMs: number;
  /** It takes up all that the window knows, not only what has data now. */
  #isFirst: boolean;
  /** Those of before, until one changes. */
  #instances: Record<string, Instance>;
  readonly #transitions: Transition[] = [];
  readonly #opened: Fire[] = [];
  readonly #closed: ClosedFire[] = [];

  constructor({ alert, state, fromMs }: WindowFollower, window: SlidingWindow, bucketMs: number) {
    this.#alert = alert;
    this.#rules = alert.timeseries.evaluationRules;
    this.#before = state;
    this.#fromMs = fromMs;
    this.#window = window;
    this.#bucketMs = bucketMs;
    this.#isFirst = state.throughMs === null;
    this.#instances = state.instances;
    for (const key in state.instances) window.keep(key, state.instances[key]!.labels);
  }

  /** Buckets of the window that others have judged before. */
  judgeObserved(throughMs: number): void {
    if (this.#fromMs >= throughMs) return;
    for (const [place, startMs] of this.#window.buckets.entries()) {
      if (startMs >= this.#fromMs) this.#judge(place);
    }
  }

  judgeNewest(startMs: number): void {
    if (startMs >= this.#fromMs) this.#judge(this.#window.buckets.length - 1);
  }

  /** Rules that came or changed since the last bucket are judged by it at once. */
  end(): Advance | null {
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

  #judge(place: number): void {
    for (const [key, series] of this.#window.series) {
      if (this.#instances[key] === undefined) {
        if (!this.#window.unlabelled && !this.#hasData(series, place)) continue;
        this.#set(key, { labels: series.labels, rules: {} });
      }
      for (const rule of this.#rules) this.#apply(rule, key, series, place);
      if (!this.#window.unlabelled) this.#leaveIdle(key, series, place);
    }
    this.#isFirst = false;
  }

  #hasData({ values }: WindowSeries, place: number): boolean {
    if (!this.#isFirst) return values[place] !== null;
    return values
      .slice(0, place + 1)
      .slice(-windowBuckets(this.#alert))
      .some((value) => value !== null);
  }

  #leaveIdle(key: string, series: WindowSeries, place: number): void {
    const startMs = this.#window.buckets[place]!;
    const endMs = startMs + this.#bucketMs;
    if (endMs - series.lastDataMs < idleMsOf(windowBuckets(this.#alert), this.#bucketMs)) return;
    const { [key]: gone, ...others } = this.#instances;
    this.#instances = others;
    for (const [rule, { state, fire }] of Object.entries(gone!.rules)) {
      if (fire === null) continue;
      this.#close(fire, endMs, "gone");
      const why = "the instance had no data for a day";
      this.#transitions.push({
        ...{ rule, labels: series.labels, from: state, to: "ok", atMs: endMs, why, fireId: fire.id },
        decided: { bucketMs: startMs, value: null },
      });
    }
  }

  /** Judges the bucket at `place` of the window by one rule. */
  #apply(rule: EvaluationRule, key: string, series: WindowSeries, place: number): void {
    const instance = this.#instances[key]!;
    const before: RuleState | undefined = instance.rules[rule.name];
    const verdict = verdictState(series.values, rule.static, place + 1);
    const to = verdict === "keep" ? (before?.state ?? "noData") : verdict;
    if (before?.state === to) return;
    const atMs = this.#window.buckets[place]! + this.#bucketMs;
    const decided = this.#decided(rule, series, to, place);
    const { labels } = instance;
    let fire = before?.fire ?? null;
    const fireBefore = fire;
    if (to === "firing" && fire === null) {
      const { adoptedMs } = this.#before.rules[rule.name]!;
      const bucket = { endMs: atMs, breached: decided };
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
    // That a new instance is well is no news.
    if (before === undefined && to !== "firing") return;
    const { why } = verdictOf(series.values, rule.static, place + 1);
    const fireId = (fire ?? fireBefore)?.id ?? null;
    const from = before?.state ?? null;
    this.#transitions.push({ rule: rule.name, labels, from, to, atMs, decided, why, fireId });
  }

  #set(key: string, instance: Instance): void {
    if (this.#instances === this.#before.instances) this.#instances = { ...this.#instances };
    this.#instances[key] = instance;
  }

  /** The newest point that speaks for the new state, or the bucket that lacks one. */
  #decided(rule: EvaluationRule, { values }: WindowSeries, to: RuleCondition, place: number): Datapoint {
    const { buckets } = this.#window;
    const oldest = place - rule.static.persistenceSettings.datapointsInEvaluationWindow - 1;
    for (let at = place; to !== "noData" && at >= Math.max(0, oldest); at--) {
      const value = values[at]!;
      if (value === null || isBreaching(value, rule.static) !== (to === "firing")) continue;
      return { bucketMs: buckets[at]!, value };
    }
    return { bucketMs: buckets[place]!, value: null };
  }

  #close(fire: ClosedFire["fire"], resolvedAtMs: number, reason: ResolveReason): void {
    this.#closed.push({ fire, resolvedAtMs, reason });
  }
}

/** Judges buckets of a window by the rules of one alert, and collects what changes. */

import type { EvaluationRule } from "../../model/alert.ts";
import type { Datapoint, ResolveReason } from "../../model/event.ts";
import { type AlertDefinition, isBreaching, windowBuckets } from "./alert-definition.ts";
import {
  type AdoptedRule,
  type AlertState,
  type EarlierState,
  type Instance,
  type OpenFire,
  type RuleCondition,
  type RuleState,
  valueOfRule,
} from "./alert-state.ts";
import { knownFires, stateBefore } from "./correction.ts";
import { type ClosedFire, type Fire, openFire } from "./fire.ts";
import { makeFireOpening } from "./fire-opening.ts";
import type { Advance, Transition, WindowFollower } from "./judgement.ts";
import { type Rejudged, type RejudgedParts, RejudgedRule } from "./rejudged-rule.ts";
import { verdictOf, verdictState } from "./verdict.ts";
import { idleMsOf, type SlidingWindow, type WindowSeries } from "./window.ts";

export class Judge {
  readonly #alert: AlertDefinition;
  readonly #rules: readonly EvaluationRule[];
  readonly #before: AlertState;
  readonly #window: SlidingWindow;
  readonly #bucketMs: number;
  readonly #visit: WindowFollower["visit"];
  /** Start of the first bucket that is judged for the first time. */
  readonly #newFromMs: number;
  /** End of the buckets that are judged again. */
  #againBeforeMs = Number.NEGATIVE_INFINITY;
  /** Start of the first bucket to judge: an older one where buckets are judged again. */
  #fromMs: number;
  /**
   * True until the alert has judged a bucket. Its first bucket makes an instance of each series with data anywhere in
   * the window; later buckets only of series with data in the bucket itself.
   */
  #isFirst: boolean;
  /** The object of the old state until an instance changes, from then on a copy. */
  #instances: Record<string, Instance>;
  /** The object of the old state until a rule has judged its first bucket, from then on a copy. */
  #adopted: Record<string, AdoptedRule>;
  /** The rules of instances that judge buckets again, by `rejudgedKey`. Most alerts have none in most rounds. */
  #rejudged: Map<string, RejudgedRule> | undefined;
  #transitions: Transition[] = [];
  #opened: Fire[] = [];
  #closed: ClosedFire[] = [];

  constructor({ alert, state, fromMs, visit }: WindowFollower, window: SlidingWindow, bucketMs: number) {
    this.#alert = alert;
    this.#rules = alert.timeseries.evaluationRules;
    this.#before = state;
    this.#newFromMs = fromMs;
    this.#fromMs = fromMs;
    this.#window = window;
    this.#bucketMs = bucketMs;
    this.#visit = visit;
    this.#isFirst = state.throughMs === null;
    this.#instances = state.instances;
    this.#adopted = state.rules;
    for (const key in state.instances) window.ensureSeries(key, state.instances[key]!.labels);
  }

  /**
   * Goes back to the states before the bucket that starts at `revisedMs`, so that it and later ones are judged again. A
   * rule goes back to the first bucket that it has judged at most, and an instance that did not exist before is made
   * anew. `throughMs`: end of the buckets that were judged.
   */
  rewind(revisedMs: number, throughMs: number): void {
    if (revisedMs >= this.#newFromMs) return;
    const first = Math.min(...Object.values(this.#adopted).map((rule) => this.#firstOf(rule, throughMs)));
    if (first >= throughMs) return;
    this.#againBeforeMs = throughMs;
    this.#fromMs = Math.min(this.#newFromMs, Math.max(revisedMs, first));
    this.#isFirst ||= first >= revisedMs;
    const instances: Record<string, Instance> = {};
    for (const [key, { labels, rules }] of Object.entries(this.#instances)) {
      const kept: [name: string, state: RuleState][] = [];
      for (const [name, state] of Object.entries(rules)) {
        const fromMs = Math.max(revisedMs, this.#firstOf(this.#adopted[name]!, throughMs));
        const then = stateBefore(state, fromMs, throughMs);
        if (then !== undefined) kept.push([name, then]);
        const known = knownFires(state);
        this.#rejudge({ key, labels, name, state, known, start: then, fromMs, throughMs });
      }
      if (kept.length === 0 && !this.#window.unlabelled) continue;
      instances[key] = { labels, rules: Object.fromEntries(kept) };
    }
    this.#instances = instances;
  }

  #rejudge(parts: RejudgedParts): void {
    this.#rejudged ??= new Map();
    this.#rejudged.set(rejudgedKey(parts.key, parts.name), new RejudgedRule(parts));
  }

  /** Judges the buckets that are in the window already: again, or because other alerts have judged them before. */
  judgeObserved(throughMs: number): void {
    if (this.#fromMs >= throughMs) return;
    for (const [index, startMs] of this.#window.buckets.entries()) {
      if (startMs >= this.#fromMs) this.#judge(index);
    }
  }

  /** Judges the newest bucket of the window, which starts at `startMs`. */
  judgeNewest(startMs: number): void {
    if (startMs >= this.#newFromMs) this.#judge(this.#window.buckets.length - 1);
  }

  /**
   * Lets rules that are new or changed, and so have no state, judge the newest bucket. Then returns what changed, null
   * for no change.
   */
  finish(): Advance | null {
    const newest = this.#window.buckets.length - 1;
    for (const key in this.#instances) {
      for (const rule of this.#rules) {
        if (newest < 0 || valueOfRule(this.#instances[key]!.rules, rule.name) !== undefined) continue;
        this.#apply(rule, key, this.#window.series.get(key)!, newest);
      }
    }
    const retracted = this.#correct(newest);
    const { instances, rules } = this.#before;
    if (this.#instances === instances && this.#adopted === rules) return null;
    const state = { ...this.#before, instances: this.#instances, rules: this.#adopted };
    return { state, transitions: this.#transitions, opened: this.#opened, closed: this.#closed, retracted };
  }

  /** Start of the first bucket that a rule judges again. A rule of an older version begins now. */
  #firstOf({ judgedFromMs }: AdoptedRule, throughMs: number): number {
    return judgedFromMs ?? throughMs;
  }

  #judge(index: number): void {
    const bucketMs = this.#window.buckets[index]!;
    const isIncomplete = this.#window.isIncomplete(bucketMs);
    const isAgain = bucketMs < Math.min(this.#newFromMs, this.#againBeforeMs);
    if (!isAgain) for (const { name } of this.#rules) this.#noteFirst(name, bucketMs);
    for (const [key, series] of this.#window.series) {
      if (this.#instances[key] === undefined) {
        if (!this.#window.unlabelled && !this.#hasData(series, index)) continue;
        this.#addInstance(key, series.labels, isAgain);
      }
      for (const rule of this.#rules) {
        if (isAgain && !this.#judgesAgain(rule, bucketMs)) continue;
        this.#apply(rule, key, series, index);
      }
      // An instance may have had data in a bucket that lacks rows.
      if (!this.#window.unlabelled && !isIncomplete) this.#removeIdle(key, series, index);
    }
    this.#isFirst = false;
  }

  /** An instance that late rows make has its rules compared with none. */
  #addInstance(key: string, labels: Record<string, string>, isAgain: boolean): void {
    this.#set(key, { labels, rules: {} });
    for (const { name } of isAgain ? this.#rules : []) {
      if (this.#rejudged?.has(rejudgedKey(key, name))) continue;
      const throughMs = this.#againBeforeMs;
      this.#rejudge({
        key,
        labels,
        name,
        state: undefined,
        known: [],
        start: undefined,
        fromMs: throughMs,
        throughMs,
      });
    }
  }

  #judgesAgain({ name }: EvaluationRule, bucketMs: number): boolean {
    const { judgedFromMs } = this.#adopted[name]!;
    return judgedFromMs !== undefined && bucketMs >= judgedFromMs;
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
      this.#close(key, rule, fire, endMs, "gone");
      const why = "the instance had no data for a day";
      this.#record(key, {
        ...{ rule, labels: series.labels, from: state, to: "ok", atMs: endMs, why, fireId: fire.id },
        decided: { bucketMs: startMs, value: null },
      });
    }
  }

  /** Judges the bucket at `index` in the window by one rule. */
  #apply(rule: EvaluationRule, key: string, series: WindowSeries, index: number): void {
    const { effects, buckets } = this.#window;
    const instance = this.#instances[key]!;
    const before = valueOfRule(instance.rules, rule.name);
    const verdict = verdictState(series.values, rule.static, index + 1, effects);
    const to = verdict === "keep" ? (before?.state ?? "noData") : verdict;
    const bucketMs = buckets[index]!;
    this.#visit?.({ rule: rule.name, key, bucketMs, value: series.values[index]!, verdict, state: to });
    if (before?.state === to) return;
    this.#noteFirst(rule.name, bucketMs);
    const atMs = bucketMs + this.#bucketMs;
    const decided = this.#findDecidingPoint(rule, series, to, index);
    const { labels } = instance;
    let fire = before?.fire ?? null;
    const fireBefore = fire;
    if (to === "firing" && fire === null) fire = this.#open(rule, key, series, index, atMs);
    if (to === "ok" && fire !== null) {
      this.#close(key, rule.name, fire, atMs, "recovered");
      fire = null;
    }
    const takenBack = before?.takenBack === undefined ? {} : { takenBack: before.takenBack };
    const recent = this.#recentOf(before, fire, atMs);
    const state: RuleState = { state: to, sinceMs: atMs, fire, ...recent, ...takenBack };
    this.#set(key, { labels, rules: { ...instance.rules, [rule.name]: state } });
    // The first state of an instance is recorded as a transition only where it is firing.
    if (before === undefined && to !== "firing") return;
    const { why } = verdictOf(series.values, rule.static, index + 1, effects);
    const fireId = (fire ?? fireBefore)?.id ?? null;
    const from = before?.state ?? null;
    this.#record(key, { rule: rule.name, labels, from, to, atMs, decided, why, fireId });
  }

  /** The states before the next one, and the fires, that buckets which may be judged again can find. */
  #recentOf(
    before: RuleState | undefined,
    fire: OpenFire | null,
    atMs: number,
  ): Pick<RuleState, "earlier" | "fires"> {
    const oldestMs = this.#window.oldestMs ?? 0;
    const all = before === undefined ? [] : [...(before.earlier ?? []), toEarlier(before)];
    const earlier = all.slice(
      Math.max(
        0,
        all.findLastIndex(({ sinceMs }) => sinceMs <= oldestMs),
      ),
    );
    const known = before === undefined ? [] : knownFires(before);
    const fires = known
      .map(({ id, fromMs, toMs }) => ({ id, fromMs, toMs: toMs ?? (id === fire?.id ? null : atMs) }))
      .filter(({ toMs }) => toMs === null || toMs > oldestMs);
    if (fire !== null && !fires.some(({ id }) => id === fire.id)) {
      fires.push({ id: fire.id, fromMs: atMs, toMs: null });
    }
    return { ...(earlier.length === 0 ? {} : { earlier }), ...(fires.length === 0 ? {} : { fires }) };
  }

  /** Remembers the first bucket that a rule judges. */
  #noteFirst(rule: string, bucketMs: number): void {
    const known = this.#adopted[rule]!;
    if (known.judgedFromMs !== undefined) return;
    this.#adopted = { ...this.#adopted, [rule]: { ...known, judgedFromMs: bucketMs } };
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

  #open(rule: EvaluationRule, key: string, series: WindowSeries, index: number, atMs: number): OpenFire {
    const opened = this.#makeFire(rule, key, series, index, atMs);
    const rejudged = this.#rejudged?.get(rejudgedKey(key, rule.name));
    if (rejudged === undefined) this.#opened.push(opened);
    return { id: rejudged?.begin(opened) ?? opened.id, noticed: false, told: false };
  }

  #makeFire(rule: EvaluationRule, key: string, series: WindowSeries, index: number, atMs: number): Fire {
    const { buckets } = this.#window;
    const { adoptedMs } = this.#before.rules[rule.name]!;
    const breached = this.#findDecidingPoint(rule, series, "firing", index);
    const opening = makeFireOpening(rule.static, buckets, series.values, index + 1);
    const instance = { key, labels: series.labels };
    return openFire(this.#alert, rule, adoptedMs, instance, { endMs: atMs, breached, opening });
  }

  #close(key: string, rule: string, fire: OpenFire, resolvedAtMs: number, reason: ResolveReason): void {
    const rejudged = this.#rejudged?.get(rejudgedKey(key, rule));
    if (rejudged === undefined) this.#closed.push({ fire, resolvedAtMs, reason });
    else rejudged.end(resolvedAtMs, reason);
  }

  #record(key: string, transition: Transition): void {
    const rejudged = this.#rejudged?.get(rejudgedKey(key, transition.rule));
    if (rejudged === undefined) this.#transitions.push(transition);
    else rejudged.transitions.push(transition);
  }

  /** Compares what the buckets that were judged again lead to with what was before. Returns fires that are retracted. */
  #correct(newest: number): string[] {
    const retracted: string[] = [];
    if (this.#rejudged === undefined) return retracted;
    let isChanged = false;
    for (const rejudged of this.#rejudged.values()) {
      const corrected = this.#correctRule(rejudged, newest);
      this.#opened.push(...corrected.opened);
      this.#closed.push(...corrected.closed);
      this.#transitions.push(...corrected.transitions);
      retracted.push(...corrected.retracted);
      isChanged ||= corrected.isChanged;
    }
    const { instances } = this.#before;
    const hasSameKeys = Object.keys(instances).join() === Object.keys(this.#instances).join();
    if (!isChanged && hasSameKeys && this.#isUnchanged()) this.#instances = instances;
    return retracted;
  }

  #isUnchanged(): boolean {
    return JSON.stringify(this.#instances) === JSON.stringify(this.#before.instances);
  }

  #correctRule(rejudged: RejudgedRule, newest: number): Rejudged {
    const { key, name, labels } = rejudged;
    const rule = this.#rules.find((each) => each.name === name)!;
    const series = this.#window.series.get(key);
    const endMs = this.#window.buckets[newest]! + this.#bucketMs;
    const instance = this.#instances[key];
    const after = instance && valueOfRule(instance.rules, name);
    const corrected = rejudged.finish(after, endMs, (fromMs) =>
      this.#makeFire(rule, key, series!, newest, fromMs),
    );
    if (instance !== undefined && corrected.state !== undefined) {
      this.#set(key, { labels, rules: { ...instance.rules, [name]: corrected.state } });
    }
    return corrected;
  }
}

function toEarlier({ state, sinceMs, fire }: RuleState): EarlierState {
  return { state, sinceMs, fireId: fire?.id ?? null };
}

function rejudgedKey(key: string, rule: string): string {
  return JSON.stringify([key, rule]);
}

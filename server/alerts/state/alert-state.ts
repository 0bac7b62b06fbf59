/** The state of an alert between two evaluations: its instances and their open fires. Plain data, stored as it is. */

import type { EvaluationRule } from "../../model/alert.ts";
import { type AlertDefinition, ruleDefinition, seriesDefinition } from "./alert-definition.ts";

export type RuleCondition = "ok" | "firing" | "noData";

/** It is stored only when it changes: an alert without transitions writes nothing. */
export interface AlertState {
  version: typeof alertStateVersion;
  /** Digest of query and bucket size. */
  definition: string;
  /** By the name of the rule. */
  rules: Record<string, AdoptedRule>;
  /** Id of the window that the alert follows, having judged all of its buckets. Null until it has caught up. */
  window: string | null;
  /**
   * End of the newest bucket that was judged or skipped; null before the first. For an alert that follows a window
   * this is as of the last time the state was stored.
   */
  throughMs: number | null;
  /** By `instanceKey` of their labels. */
  instances: Record<string, Instance>;
}

/** What the state keeps of a rule as it is configured. */
export interface AdoptedRule {
  definition: string;
  adoptedMs: number;
  /**
   * Start of the first bucket that it has judged: older ones are not judged again. Absent until then, and in states that
   * an earlier version stored.
   */
  judgedFromMs?: number;
}

const alertStateVersion = 2;

/** One label set of the query's result. */
export interface Instance {
  labels: Record<string, string>;
  /** By the name of the rule; absent until the rule has been judged once. */
  rules: Record<string, RuleState>;
}

export interface RuleState {
  state: RuleCondition;
  /** End of the bucket that caused the state. */
  sinceMs: number;
  /** The open fire: from `firing` until `ok`, also while there is no data. */
  fire: OpenFire | null;
  /**
   * The states before, the oldest first, back to the one in which the oldest bucket that may be judged again found the
   * rule. Absent where there are none.
   */
  earlier?: EarlierState[];
  /** The fires of that time, with the times that people may have heard of. Absent where there are none. */
  fires?: RecentFire[];
  /** How many of its fires were taken back because rows came late. Absent where none was. */
  takenBack?: number;
}

/** The time of a fire as it is stored. */
export interface RecentFire {
  id: string;
  /** End of the bucket with which it began. */
  fromMs: number;
  /** Null while it is open. */
  toMs: number | null;
}

/** A state that has ended. */
export interface EarlierState {
  state: RuleCondition;
  /** End of the bucket that caused it. */
  sinceMs: number;
  /** The fire that was open in it. */
  fireId: string | null;
}

export interface OpenFire {
  id: string;
  /** True once an evaluation that had judged all complete buckets found the fire open. */
  noticed: boolean;
  /** True once people were notified. */
  told: boolean;
}

/** The state of an alert that has not been evaluated. */
export function makeFreshState(alert: AlertDefinition, nowMs: number): AlertState {
  return {
    version: alertStateVersion,
    definition: seriesDefinition(alert),
    rules: Object.fromEntries(
      alert.timeseries.evaluationRules.map((rule) => [rule.name, adoptRule(rule, nowMs)]),
    ),
    window: null,
    throughMs: null,
    instances: {},
  };
}

/** What the state keeps of a rule that is new or changed as of `nowMs`. */
export function adoptRule(rule: EvaluationRule, nowMs: number): AdoptedRule {
  return { definition: ruleDefinition(rule), adoptedMs: nowMs };
}

/** What a record has for the name of a rule, which people choose: it may be `constructor` or `__proto__`. */
export function valueOfRule<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The key of an instance: the same for the same labels in any order. */
export function instanceKey(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The worst state of all instances and rules, of which `firing` is worse than `noData`. `ok` for an alert without
 * instances, `noData` before its first evaluation.
 */
export function worstState(state: AlertState | undefined): RuleCondition {
  if (state === undefined || state.throughMs === null) return "noData";
  let worst: RuleCondition = "ok";
  for (const { rules } of Object.values(state.instances)) {
    for (const { state: one } of Object.values(rules)) {
      if (one === "firing") return "firing";
      if (one === "noData") worst = "noData";
    }
  }
  return worst;
}

export function hasUnnotifiedFire(state: AlertState): boolean {
  return Object.values(state.instances).some(({ rules }) =>
    Object.values(rules).some(({ fire }) => fire !== null && !fire.told),
  );
}

/**
 * Converts a stored state to the current version. A state of version 1 held a window of its own; evaluation goes on
 * at the time where that one ended. Throws an Error for a version that this build does not know.
 */
export function readStoredState(alertId: string, value: StoredState): AlertState {
  const { version = 1 } = value;
  if (version === alertStateVersion) return value as AlertState;
  if (version > alertStateVersion) {
    const known = `${alertStateVersion}, the newest that this svc knows`;
    throw new Error(`the state of alert ${JSON.stringify(alertId)} has version ${version}, not ${known}`);
  }
  const { definition, rules, throughMs } = value;
  const instances = Object.fromEntries(
    Object.entries(value.instances).map(([key, one]) => [key, { labels: one.labels, rules: one.rules }]),
  );
  return { version: alertStateVersion, definition, rules, window: null, throughMs, instances };
}

type StoredState = Omit<AlertState, "version" | "window"> & { version?: number };

/** What is remembered of an alert from one evaluation to the next. Plain data: it is stored as it is. */

import type { EvaluationRule } from "../../model/alert.ts";
import { type AlertDefinition, ruleDefinition, seriesDefinition } from "./alert-definition.ts";

export type RuleCondition = "ok" | "firing" | "noData";

/** It is stored when it changes: an alert to which nothing happens writes nothing. */
export interface AlertState {
  version: typeof alertStateVersion;
  /** Of query and bucket size. */
  definition: string;
  /** By the name of the rule. */
  rules: Record<string, { definition: string; adoptedMs: number }>;
  /** The window that it follows: the alert is where that is. Null until it has come there. */
  window: string | null;
  /** End of the newest bucket that was judged or passed over, of one that follows a window when it last changed; null before the first. */
  throughMs: number | null;
  /** By the key of their labels. */
  instances: Record<string, Instance>;
}

const alertStateVersion = 2;

/** One label set of the query's answer. */
export interface Instance {
  labels: Record<string, string>;
  /** By the name of the rule; absent until the rule has been judged once. */
  rules: Record<string, RuleState>;
}

export interface RuleState {
  state: RuleCondition;
  /** End of the bucket that decided it. */
  sinceMs: number;
  /** Open from `firing` until `ok`, also while there is no data. */
  fire: OpenFire | null;
}

export interface OpenFire {
  id: string;
  /** An evaluation that was not behind has seen it. */
  noticed: boolean;
  /** People were told. */
  told: boolean;
}

export function freshState(alert: AlertDefinition, nowMs: number): AlertState {
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

export function adoptRule(rule: EvaluationRule, nowMs: number): AlertState["rules"][string] {
  return { definition: ruleDefinition(rule), adoptedMs: nowMs };
}

/** The same labels have the same key, in whatever order they come. */
export function instanceKey(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The worst state of all instances and rules; "ok" for an alert without instances, "noData" before its first evaluation. */
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

/** A state as it was stored: one of version 1, which held a window of its own, is taken up where it was. Throws an Error for a later one. */
export function storedState(alertId: string, value: StoredState): AlertState {
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

/** What is remembered of an alert from one evaluation to the next. Plain data: it is stored as it is. */
import { type Alert, type EvaluationRule, ruleDefinition, seriesDefinition, windowBuckets } from "./alert.ts";

export type RuleCondition = "ok" | "firing" | "noData";

export interface AlertState {
  /** Of query and bucket size. */
  definition: string;
  /** By the name of the rule. */
  rules: Record<string, { definition: string; adoptedMs: number }>;
  /** End of the newest bucket that was judged or passed over; null before the first. */
  throughMs: number | null;
  /** How many buckets the window was read or cut to last: a rule that looks further back has it filled anew. */
  windowBuckets: number;
  /** Starts of the newest buckets that were observed, ascending. */
  buckets: number[];
  /** By the key of their labels. */
  instances: Record<string, Instance>;
}

/** One label set of the query's answer. */
export interface Instance {
  labels: Record<string, string>;
  /** Values of the alert's `buckets`, as they were when they were judged; null where there was none. */
  values: (number | null)[];
  /** End of the newest bucket that had a value, or of the one in which the instance came. */
  lastDataMs: number;
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

export function freshState(alert: Alert, nowMs: number): AlertState {
  return {
    definition: seriesDefinition(alert),
    rules: Object.fromEntries(
      alert.timeseries.evaluationRules.map((rule) => [rule.name, adoptedRule(rule, nowMs)]),
    ),
    throughMs: null,
    windowBuckets: windowBuckets(alert),
    buckets: [],
    instances: {},
  };
}

export function adoptedRule(rule: EvaluationRule, nowMs: number): AlertState["rules"][string] {
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

export function hasUntold(state: AlertState): boolean {
  return Object.values(state.instances).some(({ rules }) =>
    Object.values(rules).some(({ fire }) => fire !== null && !fire.told),
  );
}

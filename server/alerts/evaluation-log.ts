/** The last evaluations of an alert, kept in memory to be explained. */

import { evaluationInstancesMax, evaluationsKept } from "./limits.ts";
import { type AlertDefinition, windowBuckets } from "./state/alert-definition.ts";
import type { AlertState, RuleCondition } from "./state/alert-state.ts";
import { verdictOf } from "./state/verdict.ts";
import type { Window } from "./state/window.ts";

interface LoggedEvaluation {
  number: number;
  atMs: number;
  queryMs: number;
  /** Buckets that were new: from the start of the first to the end of the last; null where the query failed. */
  range: { fromMs: number; toMs: number } | null;
  error: string | null;
  window: Window | undefined;
}

export interface ExplainedEvaluation {
  atMs: number;
  queryMs: number;
  /** Buckets that were new: from the start of the first to the end of the last. */
  fromMs: number | null;
  toMs: number | null;
  error: string | null;
  instances: {
    labels: Record<string, string>;
    /** The window: start of the bucket, value or null. */
    points: [ms: number, value: number | null][];
    rules: { rule: string; state: RuleCondition; verdict: string; why: string }[];
  }[];
  /** Instances that are not listed. */
  more: number;
}

/** What the evaluations of a query saw, the newest first: the same for all alerts that ask it. */
export class QueryLog {
  readonly entries: LoggedEvaluation[] = [];
  /** Of the next. */
  number = 0;

  add(entry: Omit<LoggedEvaluation, "number">): void {
    this.entries.unshift({ number: this.number++, ...entry });
    this.entries.length = Math.min(this.entries.length, evaluationsKept);
  }
}

/** What one alert made of them. */
export class EvaluationLog {
  #query: QueryLog | undefined;
  /** From which entry on the alert had which state, the newest first. */
  #states: { from: number; state: AlertState }[] = [];
  /** Of queries that it asked before, the newest first. */
  #past: { entry: LoggedEvaluation; state: AlertState }[] = [];

  /** The alert asks another query from now on. */
  follow(query: QueryLog | undefined, state: AlertState): void {
    this.#past = this.#all();
    this.#query = query;
    this.#states = query === undefined ? [] : [{ from: query.number, state }];
  }

  /** The next entry finds the alert so. */
  changed(state: AlertState): void {
    const { number, entries } = this.#query!;
    const oldest = entries.at(-1)?.number ?? number;
    this.#states.unshift({ from: number, state });
    const needed = this.#states.findIndex(({ from }) => from <= oldest);
    if (needed >= 0) this.#states.length = needed + 1;
  }

  /** The newest first, explained by the rules as they are now. */
  list(alert: AlertDefinition): ExplainedEvaluation[] {
    return this.#all().map(({ entry, state }) => explained(alert, entry, state));
  }

  #all(): { entry: LoggedEvaluation; state: AlertState }[] {
    const own = (this.#query?.entries ?? []).flatMap((entry) => {
      const known = this.#states.find(({ from }) => from <= entry.number);
      return known === undefined ? [] : [{ entry, state: known.state }];
    });
    return [...own, ...this.#past].slice(0, evaluationsKept);
  }
}

function explained(alert: AlertDefinition, entry: LoggedEvaluation, state: AlertState): ExplainedEvaluation {
  const { atMs, queryMs, range, error, window } = entry;
  const seen = window === undefined ? [] : Object.entries(state.instances);
  const rules = alert.timeseries.evaluationRules;
  const buckets = window?.buckets.slice(-windowBuckets(alert)) ?? [];
  const instances = seen.slice(0, evaluationInstancesMax).map(([key, { labels, rules: states }]) => {
    const values = window?.series[key]?.values.slice(-buckets.length) ?? buckets.map(() => null);
    return {
      labels,
      points: values.map((value, i): [number, number | null] => [buckets[i]!, value]),
      rules: rules.map((rule) => {
        const { state: verdict, why } = verdictOf(values, rule.static);
        return { rule: rule.name, state: states[rule.name]?.state ?? "noData", verdict, why };
      }),
    };
  });
  const { fromMs, toMs } = range ?? { fromMs: null, toMs: null };
  return { atMs, queryMs, fromMs, toMs, error, instances, more: seen.length - instances.length };
}

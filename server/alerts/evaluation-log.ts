/** The last evaluations of an alert, kept in memory so that people can ask why they ended as they did. */

import { evaluationInstancesMax, evaluationsKept } from "./limits.ts";
import { type AlertDefinition, windowBuckets } from "./state/alert-definition.ts";
import type { AlertState, RuleCondition } from "./state/alert-state.ts";
import { verdictOf } from "./state/verdict.ts";
import type { Window } from "./state/window.ts";

interface LoggedEvaluation {
  number: number;
  atMs: number;
  queryMs: number;
  /** The new buckets, from the start of the first to the end of the last; null where the query failed. */
  range: { fromMs: number; toMs: number } | null;
  error: string | null;
  window: Window | undefined;
}

export interface ExplainedEvaluation {
  atMs: number;
  queryMs: number;
  /** The new buckets, from the start of the first (`fromMs`) to the end of the last; null where the query failed. */
  fromMs: number | null;
  toMs: number | null;
  error: string | null;
  instances: {
    labels: Record<string, string>;
    /** The buckets of the window: start of the bucket, value or null. */
    points: [ms: number, value: number | null][];
    rules: { rule: string; state: RuleCondition; verdict: string; why: string }[];
  }[];
  /** Instances that are not listed. */
  more: number;
}

/** The last evaluations of a query group, the newest first. All alerts of the group share them. */
export class QueryLog {
  readonly entries: LoggedEvaluation[] = [];
  /** Number of the next entry. */
  nextNumber = 0;

  add(entry: Omit<LoggedEvaluation, "number">): void {
    this.entries.unshift({ number: this.nextNumber++, ...entry });
    this.entries.length = Math.min(this.entries.length, evaluationsKept);
  }
}

/** The states of one alert at the entries of its query's log. */
export class EvaluationLog {
  #query: QueryLog | undefined;
  /** States of the alert, each with the number of the first entry for which it holds; the newest first. */
  #states: { from: number; state: AlertState }[] = [];
  /** Evaluations of queries that the alert had before, the newest first. */
  #past: { entry: LoggedEvaluation; state: AlertState }[] = [];

  /** Switches to the log of another query, as the alert changes its group. */
  follow(query: QueryLog | undefined, state: AlertState): void {
    this.#past = this.#all();
    this.#query = query;
    this.#states = query === undefined ? [] : [{ from: query.nextNumber, state }];
  }

  /** Records that the alert has this state from the next entry on. */
  recordState(state: AlertState): void {
    const { nextNumber, entries } = this.#query!;
    const oldest = entries.at(-1)?.number ?? nextNumber;
    this.#states.unshift({ from: nextNumber, state });
    const needed = this.#states.findIndex(({ from }) => from <= oldest);
    if (needed >= 0) this.#states.length = needed + 1;
  }

  /** The last evaluations, the newest first, explained by the rules as they are now. */
  list(alert: AlertDefinition): ExplainedEvaluation[] {
    return this.#all().map(({ entry, state }) => explain(alert, entry, state));
  }

  #all(): { entry: LoggedEvaluation; state: AlertState }[] {
    const own = (this.#query?.entries ?? []).flatMap((entry) => {
      const known = this.#states.find(({ from }) => from <= entry.number);
      return known === undefined ? [] : [{ entry, state: known.state }];
    });
    return [...own, ...this.#past].slice(0, evaluationsKept);
  }
}

function explain(alert: AlertDefinition, entry: LoggedEvaluation, state: AlertState): ExplainedEvaluation {
  const { atMs, queryMs, range, error, window } = entry;
  const known = window === undefined ? [] : Object.entries(state.instances);
  const rules = alert.timeseries.evaluationRules;
  const buckets = window?.buckets.slice(-windowBuckets(alert)) ?? [];
  const instances = known.slice(0, evaluationInstancesMax).map(([key, { labels, rules: states }]) => {
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
  return { atMs, queryMs, fromMs, toMs, error, instances, more: known.length - instances.length };
}

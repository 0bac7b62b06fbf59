/** The last evaluations of an alert, kept in memory to be explained. */
import type { Reading } from "./advance.ts";
import type { Alert, EvaluationRule } from "./alert.ts";
import type { AlertState, RuleCondition } from "./alert-state.ts";
import { evaluationInstancesMax, evaluationsKept } from "./limits.ts";
import { verdictOf } from "./verdict.ts";

interface Kept {
  atMs: number;
  queryMs: number;
  range: { fromMs: number; toMs: number } | null;
  error: string | null;
  state: AlertState | undefined;
}

export interface Evaluation {
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

export class EvaluationLog {
  #kept: Kept[] = [];

  evaluated(atMs: number, queryMs: number, { fromMs, toMs }: Reading, state: AlertState): void {
    this.#keep({ atMs, queryMs, range: { fromMs, toMs }, error: null, state });
  }

  failed(atMs: number, queryMs: number, error: string, state: AlertState): void {
    this.#keep({ atMs, queryMs, range: null, error, state });
  }

  /** The newest first, explained by the rules as they are now. */
  list(alert: Alert): Evaluation[] {
    return this.#kept.map((kept) => explained(kept, alert.timeseries.evaluationRules));
  }

  #keep(kept: Kept): void {
    this.#kept.unshift(kept);
    this.#kept.length = Math.min(this.#kept.length, evaluationsKept);
  }
}

function explained(kept: Kept, rules: readonly EvaluationRule[]): Evaluation {
  const { atMs, queryMs, range, error, state } = kept;
  const all = Object.values(state?.instances ?? {});
  const instances = all.slice(0, evaluationInstancesMax).map(({ labels, values, rules: states }) => ({
    labels,
    points: values.map((value, i): [number, number | null] => [state!.buckets[i]!, value]),
    rules: rules.map((rule) => {
      const { state: verdict, why } = verdictOf(values, rule.static);
      return { rule: rule.name, state: states[rule.name]?.state ?? "noData", verdict, why };
    }),
  }));
  const { fromMs, toMs } = range ?? { fromMs: null, toMs: null };
  return { atMs, queryMs, fromMs, toMs, error, instances, more: all.length - instances.length };
}

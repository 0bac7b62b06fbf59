/** Plans of alert queries, and what evaluation learns from a plan before the query runs. */
import type { Signal } from "../../../engine/index.ts";
import { isUnlabelled, planTimeseries, type TimeseriesPlan } from "../../../query/index.ts";
import { plansKept } from "../limits.ts";
import { type PlanEffect, planEffect } from "./missing-effect.ts";

/** What is known of a query before it runs. */
export interface QueryShape {
  /** True where the query gives exactly one series, without labels. */
  unlabelled: boolean;
  /** Equal for queries that read the same rows, or rows that differ in the texts of labels alone. */
  selector: string;
  /** Signals that the query reads. */
  signals: readonly Signal[];
  /** What rows that are missing do to its values. */
  missing: PlanEffect;
}

/** Plans a query once, without keeping the plan. Throws a QueryError. */
export function shapeOf(query: string): QueryShape {
  return shapeOfPlan(planTimeseries(query));
}

/** A cache of the plans of queries that are evaluated again and again. */
export class QueryPlans {
  readonly #plans = new Map<string, TimeseriesPlan>();

  /** Returns the plan of a query, cached or new. Throws a QueryError. */
  planOf(query: string): TimeseriesPlan {
    let plan = this.#plans.get(query);
    if (plan === undefined) {
      plan = planTimeseries(query);
      // The oldest plan is dropped. In this way plans of deleted alerts leave the cache, too.
      if (this.#plans.size >= plansKept) this.#plans.delete(this.#plans.keys().next().value!);
      this.#plans.set(query, plan);
    }
    return plan;
  }

  /** Returns the shape of a query, whose plan it caches. Throws a QueryError. */
  shapeOf(query: string): QueryShape {
    return shapeOfPlan(this.planOf(query));
  }
}

function shapeOfPlan(plan: TimeseriesPlan): QueryShape {
  const { series, scans } = plan;
  const selectors = scans.map((scan) =>
    scan.kind === "rows" ? [scan.signal, scan.steps] : [scan.metric, scan.steps],
  );
  // Queries that differ in the texts of labels alone have the same selector. They are evaluated at the same time, so
  // that one scan serves all.
  const withoutTexts = (key: string, value: unknown) => (key === "value" ? undefined : value);
  const signals = [...new Set(scans.map((scan) => (scan.kind === "rows" ? scan.signal : "metrics")))];
  return {
    unlabelled: isUnlabelled(series, scans),
    selector: JSON.stringify(selectors, withoutTexts),
    signals,
    missing: planEffect(plan),
  };
}

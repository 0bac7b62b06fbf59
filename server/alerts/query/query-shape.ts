import type { Signal } from "../../../engine/index.ts";
import { isUnlabelled, planTimeseries, type TimeseriesPlan } from "../../../query/index.ts";
import { plansKept } from "../limits.ts";

/** What is known of a query before it runs. Throws an Error for people where it is none. */
export interface QueryShape {
  /** It gives one series without labels and no other. */
  unlabelled: boolean;
  /** The same for queries that read the same rows. */
  selector: string;
  /** Signals that it reads. */
  signals: readonly Signal[];
}

/** What a query's plan says before it runs. Throws a QueryError. */
export function shapeOf(query: string): QueryShape {
  return shapeOfPlan(planTimeseries(query));
}

/** Plans of the queries that are evaluated again and again. */
export class QueryPlans {
  readonly #plans = new Map<string, TimeseriesPlan>();

  /** Throws a QueryError. */
  planOf(query: string): TimeseriesPlan {
    let plan = this.#plans.get(query);
    if (plan === undefined) {
      plan = planTimeseries(query);
      // Those of alerts that have gone make room some time.
      if (this.#plans.size >= plansKept) this.#plans.delete(this.#plans.keys().next().value!);
      this.#plans.set(query, plan);
    }
    return plan;
  }

  /** Throws a QueryError. */
  shapeOf(query: string): QueryShape {
    return shapeOfPlan(this.planOf(query));
  }
}

function shapeOfPlan({ series, scans }: TimeseriesPlan): QueryShape {
  const selectors = scans.map((scan) =>
    scan.kind === "rows" ? [scan.signal, scan.steps] : [scan.metric, scan.steps],
  );
  // Queries that differ in the texts of labels alone are evaluated at the same time: one scan reads for all of them.
  const withoutTexts = (key: string, value: unknown) => (key === "value" ? undefined : value);
  const signals = [...new Set(scans.map((scan) => (scan.kind === "rows" ? scan.signal : "metrics")))];
  return {
    unlabelled: isUnlabelled(series, scans),
    selector: JSON.stringify(selectors, withoutTexts),
    signals,
  };
}

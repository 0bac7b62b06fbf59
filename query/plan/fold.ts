import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/expression.ts";
import { refuseField, resolveQuantile } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import type { Fold, NumberFold } from "./series-plan.ts";
import { resolveLabel } from "./variables.ts";

/** The fold of an aggregation over series. Throws a QueryError. */
export function planFold(tree: Aggregate, context: TimeseriesContext): Fold {
  const { op, field } = tree;
  if (op === "count_distinct") {
    if (field !== null) return { op: "distinct", label: resolveLabel(field, context) };
    const problem = "count_distinct takes a label first: count_distinct(service.name, …)";
    return refuse(context.source, tree, problem);
  }
  refuseField(tree, " over series, which have one value each", context);
  return planNumberFold(tree, "series", context);
}

/** The fold of an aggregation over numbers. `what` says in errors what the numbers belong to. Throws a QueryError. */
export function planNumberFold(
  tree: Aggregate,
  what: "series" | "a metric",
  context: TimeseriesContext,
): NumberFold {
  const { op } = tree;
  switch (op) {
    case "quantile":
      return { op, q: resolveQuantile(tree, context) };
    case "trace_duration_quantile": {
      const problem = `${op} takes spans, e.g. ${op}(0.95, traces{…}), not ${what}`;
      return refuse(context.source, tree, problem);
    }
    case "count":
    case "sum":
    case "avg":
    case "min":
    case "max":
    case "stddev":
      return { op };
    default:
      throw new Error(`fold: ${op} has a plan of its own`);
  }
}

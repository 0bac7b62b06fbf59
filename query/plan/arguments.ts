import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/expression.ts";
import type { Grouping, Matching } from "../tree/grouping.ts";
import { parseNumber } from "../tree/number-literal.ts";
import type { PlanContext } from "./context.ts";
import type { KeptLabels } from "./series-plan.ts";
import { resolveLabel, resolveVariable } from "./variables.ts";

/** The names of the labels of a grouping or matching, each once. */
export function resolveLabels({ labels }: Grouping | Matching, context: PlanContext): string[] {
  return [...new Set(labels.map((label) => resolveLabel(label, context)))];
}

/** The labels that a grouping keeps; none without a grouping. */
export function resolveGrouping(grouping: Grouping | null, context: PlanContext): KeptLabels {
  if (grouping === null) return { kind: "by", labels: [] };
  return { kind: grouping.kind, labels: resolveLabels(grouping, context) };
}

/** The text of the number before the series of an aggregation. */
function resolveParameter({ parameter }: Aggregate, context: PlanContext): string {
  return parameter!.kind === "number" ? parameter!.text : resolveVariable(parameter!, context, parameter!);
}

/** The number of `topk(5, …)`. Throws a QueryError where it is not a whole number of 1 or more. */
export function resolveSeriesCount(tree: Aggregate, context: PlanContext): number {
  const text = resolveParameter(tree, context);
  const count = parseNumber(text);
  if (count !== undefined && Number.isSafeInteger(count) && count >= 1) return count;
  const problem = `${tree.op} takes a whole number of series, 1 or more, not ${JSON.stringify(text)}`;
  return refuse(context.source, tree.parameter!, problem);
}

/** The number of `quantile(0.99, …)`. Throws a QueryError where it is not between 0 and 1. */
export function resolveQuantile(tree: Aggregate, context: PlanContext): number {
  const text = resolveParameter(tree, context);
  const q = parseNumber(text);
  if (q !== undefined && q >= 0 && q <= 1) return q;
  const suggestion = q !== undefined && q >= 2 && q < 100 ? `; did you mean ${q / 100}?` : "";
  const problem = `${tree.op} takes a number between 0 and 1, such as 0.99, not ${text}${suggestion}`;
  return refuse(context.source, tree.parameter!, problem);
}

/** Throws a QueryError where an aggregation has a field but takes none. `why` is the end of the error's sentence. */
export function refuseField({ op, field }: Aggregate, why: string, context: PlanContext): void {
  if (field !== null) refuse(context.source, field, `${op} takes no field${why}`);
}

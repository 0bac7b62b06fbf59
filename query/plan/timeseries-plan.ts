import { parseExpression } from "../parse/parser.ts";
import { readSource, refuse } from "../text/source.ts";
import type { Expression } from "../tree/expression.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { selectorOf } from "../tree/range-function.ts";
import { planAggregate } from "./aggregate.ts";
import { createPlanContext, type TimeseriesContext } from "./context.ts";
import { planEachSeries } from "./metric-series.ts";
import { planBinaryOperation } from "./operation.ts";
import { ScanList } from "./scan.ts";
import type { PlanOptions } from "./search-plan.ts";
import { planSeriesFunction } from "./series-function.ts";
import type { Constant, SeriesPlan, TimeseriesPlan } from "./series-plan.ts";
import { resolveVariable } from "./variables.ts";

/** Plans a timeseries query. Throws a QueryError. */
export function planTimeseries(text: string, options: PlanOptions = {}): TimeseriesPlan {
  const source = readSource(text);
  const planning = createPlanContext(source, options.variables);
  const context: TimeseriesContext = { ...planning, scans: new ScanList(), expectedNames: [] };
  const tree = parseExpression(source);
  const series = planOperand(tree, false, context);
  if (series.kind === "number") return refuseMissingAggregation(tree, "count(logs{…})", context);
  const { scans, expectedNames } = context;
  const names = [...new Map(expectedNames.map((each) => [JSON.stringify(each), each])).values()];
  return { scans: scans.scans, series, names, warnings: [] };
}

/**
 * Plans an expression, which gives series or a number. `isAggregated`: it stands within an aggregation, where a metric
 * is all its series.
 */
function planOperand(
  tree: Expression,
  isAggregated: boolean,
  context: TimeseriesContext,
): SeriesPlan | Constant {
  switch (tree.kind) {
    case "aggregate":
      return planAggregate(tree, (inner) => planOperand(inner, true, context), context);
    case "operation":
      return planBinaryOperation(tree, (side) => planOperand(side, isAggregated, context), context);
    case "negation": {
      const of = planOperand(tree.of, isAggregated, context);
      return of.kind === "number" ? { kind: "number", value: -of.value } : { kind: "negation", of };
    }
    case "function":
      return planSeriesFunction(
        tree,
        isAggregated,
        (arg, isWhole) => planOperand(arg, isWhole, context),
        context,
      );
    case "number":
      return { kind: "number", value: Number(tree.text) };
    case "variable": {
      const text = resolveVariable(tree, context, tree);
      const value = parseNumber(text);
      if (value !== undefined) return { kind: "number", value };
      return refuse(context.source, tree, `$${tree.name} must be a number here, not ${JSON.stringify(text)}`);
    }
    case "selector":
    case "rangeFunction": {
      if (isAggregated && selectorOf(tree).of.kind === "metric") {
        return planEachSeries(tree, (inner) => planOperand(inner, true, context), context);
      }
      return refuseMissingAggregation(tree, exampleOf(tree), context);
    }
    case "jsonPath":
      return refuseMissingAggregation(tree, exampleOf(tree), context);
  }
}

/** An aggregation over the expression, written as an example for an error message. */
function exampleOf(tree: Extract<Expression, { kind: "selector" | "rangeFunction" | "jsonPath" }>): string {
  if (tree.kind === "jsonPath") return "sum(json_path(…))";
  const selector = selectorOf(tree);
  if (selector.of.kind === "metric") return tree.kind === "rangeFunction" ? `sum(${tree.op}(…))` : "avg(…)";
  const rows = `${selector.of.name}{…}`;
  if (tree.kind === "selector") return `count(${rows})`;
  return tree.op === "count_over_time" ? `sum(count_over_time(${rows}))` : `sum(rate(${rows}))`;
}

function refuseMissingAggregation(tree: Expression, example: string, context: TimeseriesContext): never {
  return refuse(context.source, tree, `a timeseries query needs an aggregation, e.g. ${example}`);
}

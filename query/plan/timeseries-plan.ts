import { parseExpression } from "../parse/parser.ts";
import { readSource, refuse } from "../text/source.ts";
import type { Expression } from "../tree/expression.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { planAggregate } from "./aggregate.ts";
import { planContext, type SeriesContext } from "./context.ts";
import { planCalculation } from "./operation.ts";
import { ScanList } from "./scan.ts";
import type { PlanOptions } from "./search-plan.ts";
import type { Constant, SeriesPlan, TimeseriesPlan } from "./series-plan.ts";
import { variableValue } from "./variables.ts";

/** Plans a timeseries query. Throws a QueryError. */
export function planTimeseries(text: string, options: PlanOptions = {}): TimeseriesPlan {
  const source = readSource(text);
  const context: SeriesContext = Object.assign(
    planContext(source, new Map(Object.entries(options.variables ?? {}))),
    { scans: new ScanList(), named: [] },
  );
  const tree = parseExpression(source);
  const series = planSide(tree, context);
  if (series.kind === "number") return lacksAggregation(tree, "count(logs{…})", context);
  const { scans, named, warnings } = context;
  const names = [...new Map(named.map((each) => [JSON.stringify(each), each])).values()];
  return { scans: scans.scans, series, names, warnings };
}

/** One side of a calculation: series, or a number. */
function planSide(tree: Expression, context: SeriesContext): SeriesPlan | Constant {
  switch (tree.kind) {
    case "aggregate":
      return planAggregate(tree, context);
    case "operation":
      return planCalculation(tree, (side) => planSide(side, context), context);
    case "negation": {
      const of = planSide(tree.of, context);
      return of.kind === "number" ? { kind: "number", value: -of.value } : { kind: "negation", of };
    }
    case "number":
      return { kind: "number", value: Number(tree.text) };
    case "variable": {
      const text = variableValue(tree, context, tree);
      const value = parseNumber(text);
      if (value !== undefined) return { kind: "number", value };
      return refuse(context.source, tree, `$${tree.name} must be a number here, not ${JSON.stringify(text)}`);
    }
    case "selector":
    case "rate":
    case "jsonPath":
      return lacksAggregation(tree, exampleFor(tree), context);
  }
}

function exampleFor(tree: Extract<Expression, { kind: "selector" | "rate" | "jsonPath" }>): string {
  if (tree.kind === "jsonPath") return "sum(json_path(…))";
  const selector = tree.kind === "rate" ? tree.of : tree;
  if (selector.of.kind === "metric") return tree.kind === "rate" ? `sum(${tree.op}(…))` : "avg(…)";
  return tree.kind === "rate" ? `sum(rate(${selector.of.name}{…}))` : `count(${selector.of.name}{…})`;
}

function lacksAggregation(tree: Expression, example: string, context: SeriesContext): never {
  return refuse(context.source, tree, `a timeseries query needs an aggregation, e.g. ${example}`);
}

import { refuse } from "../text/source.ts";
import { type Expression, makeAggregate, type SeriesFunction } from "../tree/expression.ts";
import { isSelectorRead } from "../tree/range-function.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import type { StringLiteral } from "../tree/string-literal.ts";
import type { TimeseriesContext } from "./context.ts";
import { parseReplacement, resolveRegexp } from "./regexp.ts";
import type {
  AbsentSeries,
  Constant,
  MappedSeries,
  PointFunction,
  RelabelledSeries,
  SeriesPlan,
} from "./series-plan.ts";
import { resolveLabel, resolveString } from "./variables.ts";

type Operand = SeriesPlan | Constant;
type Argument = Expression | StringLiteral;

/** Plans an expression within a function. `isAggregated`: a metric there is all its series. */
type PlanArgument = (tree: Expression, isAggregated: boolean) => Operand;

/** What follows the series of each function, in words; those in [ ] may be left out. */
const argumentNames = {
  abs: [],
  ceil: [],
  floor: [],
  round: ["[to]"],
  clamp: ["min", "max"],
  clamp_min: ["min"],
  clamp_max: ["max"],
  label_replace: ['"label"', '"replacement"', '"source label"', '"regular expression"'],
  sort: [],
  sort_desc: [],
  absent: [],
} as const satisfies Record<SeriesFunction["op"], readonly string[]>;

/** Plans a function of series. Throws a QueryError. */
export function planSeriesFunction(
  tree: SeriesFunction,
  isAggregated: boolean,
  planArgument: PlanArgument,
  context: TimeseriesContext,
): SeriesPlan {
  checkArgumentCount(tree, context);
  const { op, args } = tree;
  const [first, ...rest] = args as [Argument, ...Argument[]];
  const of = expectExpression(tree, first, context);
  const planSeries = (isWhole: boolean) => {
    const series = planArgument(of, isWhole);
    return series.kind === "number" ? refuse(context.source, of, `${op} takes series, not a number`) : series;
  };
  const numberAt = (index: number) => resolveNumber(tree, rest[index]!, planArgument, context);
  switch (op) {
    case "abs":
    case "ceil":
    case "floor":
      return mapPoints({ op }, planSeries(isAggregated));
    case "round":
      return mapPoints({ op, to: rest.length === 0 ? 1 : numberAt(0) }, planSeries(isAggregated));
    case "clamp_min":
      return mapPoints({ op: "clamp", min: numberAt(0) }, planSeries(isAggregated));
    case "clamp_max":
      return mapPoints({ op: "clamp", max: numberAt(0) }, planSeries(isAggregated));
    case "clamp": {
      const [min, max] = [numberAt(0), numberAt(1)];
      if (min > max)
        refuse(context.source, rest[0]!, `clamp takes the least value first, and ${min} > ${max}`);
      return mapPoints({ op, min, max }, planSeries(isAggregated));
    }
    case "label_replace":
      return planLabelReplace(tree, planSeries(isAggregated), context);
    case "sort":
    case "sort_desc":
      return { kind: "sort", isDescending: op === "sort_desc", of: planSeries(isAggregated) };
    case "absent":
      return planAbsent(of, planSeries, planArgument, context);
  }
}

function mapPoints(fn: PointFunction, of: SeriesPlan): MappedSeries {
  return { kind: "map", fn, of };
}

function checkArgumentCount(tree: SeriesFunction, context: TimeseriesContext): void {
  const { op, args } = tree;
  const names: readonly string[] = argumentNames[op];
  const required = names.filter((name) => !name.startsWith("["));
  const given = args.length - 1;
  if (given >= required.length && given <= names.length) return;
  const shape = `${op}(${["series", ...names].join(", ")})`;
  const extra = args[names.length + 1];
  refuse(context.source, extra ?? tree, `${op} is written ${shape}`);
}

function expectExpression(tree: SeriesFunction, arg: Argument, context: TimeseriesContext): Expression {
  if (arg.kind !== "string") return arg;
  return refuse(context.source, arg, `${tree.op} takes series first, not a text`);
}

/** The value of an argument that is a number, a variable or a calculation of such. Throws a QueryError. */
function resolveNumber(
  tree: SeriesFunction,
  arg: Argument,
  planArgument: PlanArgument,
  context: TimeseriesContext,
): number {
  const problem = `${tree.op} takes a number here, such as ${tree.op}(…, 5)`;
  if (arg.kind === "string") return refuse(context.source, arg, problem);
  const operand = planArgument(arg, true);
  return operand.kind === "number" ? operand.value : refuse(context.source, arg, problem);
}

function planLabelReplace(
  tree: SeriesFunction,
  of: SeriesPlan,
  context: TimeseriesContext,
): RelabelledSeries {
  const texts = tree.args.slice(1).map((arg) => {
    if (arg.kind === "string") return arg;
    return refuse(context.source, arg, "label_replace takes texts in quotes after the series");
  });
  const [label, replacement, source, regexp] = texts as [
    StringLiteral,
    StringLiteral,
    StringLiteral,
    StringLiteral,
  ];
  const name = resolveString(label, context);
  if (name === "") refuse(context.source, label, "the label that is set has a name");
  const pattern = resolveRegexp(regexp, context);
  const span = context.source.spans.get(tree) ?? { start: 0, end: context.source.text.length };
  return {
    kind: "relabel",
    label: name,
    replacement: parseReplacement(replacement, pattern, context),
    source: resolveString(source, context),
    pattern,
    of,
    at: { start: span.start, end: span.end },
  };
}

/** Plans `absent` over a selector, whose rows or series are counted, or over an expression. */
function planAbsent(
  of: Expression,
  planSeries: (isWhole: boolean) => SeriesPlan,
  planArgument: PlanArgument,
  context: TimeseriesContext,
): AbsentSeries {
  if (!isSelectorRead(of) || of.kind !== "selector")
    return { kind: "absent", labels: [], of: planSeries(true) };
  const count = makeAggregate({ op: "count", parameter: null, field: null, of, grouping: null });
  const counted = planArgument(count, true) as SeriesPlan;
  return { kind: "absent", labels: comparedLabels(of, context), of: counted };
}

/** The labels that a selector compares for equality, once each, as `absent` of PromQL gives them to its series. */
function comparedLabels({ matchers }: TelemetrySelector, context: TimeseriesContext): [string, string][] {
  const byLabel = Map.groupBy(matchers, ({ label }) => resolveLabel(label, context));
  return [...byLabel].flatMap(([name, [matcher, ...more]]): [string, string][] => {
    if (matcher!.operator !== "=" || more.length > 0) return [];
    const { value } = matcher!;
    const text = value.kind === "number" ? value.text : resolveString(value, context);
    return text === "" || text === "*" ? [] : [[name, text]];
  });
}

import type { Aggregation, Field, Step } from "../engine/index.ts";
import type { Aggregate, Series } from "./aggregate.ts";
import { type PlanContext, planContext } from "./context.ts";
import type { Expression } from "./expression.ts";
import { referTo } from "./field.ts";
import type { Grouping } from "./grouping.ts";
import { labelName } from "./label.ts";
import { parseNumber } from "./number.ts";
import { parseExpression, readSource } from "./parse.ts";
import type { PlanOptions } from "./plan.ts";
import { type Selector, selectorSteps } from "./selector.ts";
import { dropIdleExtraction, simplifySteps } from "./simplify.ts";
import { refuse } from "./source.ts";
import { variableValue } from "./variable.ts";

/** What a timeseries query does, as plain data. */
export interface TimeseriesPlan {
  series: SeriesPlan;
  /** Attributes that the query reads and no stage of it extracts. */
  names: string[];
  /** Sentences for people about what the query may not mean. */
  warnings: string[];
}

/** How series come about. */
export type SeriesPlan = RowSeries | TopSeries;

/** One series for each different list of labels that rows have. */
export interface RowSeries {
  kind: "rows";
  signal: "logs";
  steps: Step[];
  groupBy: { label: string; field: Field }[];
  aggregate: Aggregation;
  /** Values are divided by the seconds of their bucket. */
  perSecond: boolean;
}

/** The series with the greatest or the least sum of their points. */
export interface TopSeries {
  kind: "top";
  op: "topk" | "bottomk";
  count: number;
  /** So many of each set of series that agree in these labels, or in all but these. */
  among: { kind: "by" | "without"; labels: string[] };
  of: SeriesPlan;
}

const exampleOfCount = "count(logs{…})";
const exampleOfRate = "sum(rate(logs{…}))";

/** Plans a timeseries query. Throws a QueryError. */
export function planTimeseries(text: string, options: PlanOptions = {}): TimeseriesPlan {
  const source = readSource(text);
  const context = planContext(source, new Map(Object.entries(options.variables ?? {})));
  const series = planSeries(parseExpression(source), context);
  return { series, names: [...context.names], warnings: context.warnings };
}

function planSeries(tree: Expression, context: PlanContext): SeriesPlan {
  switch (tree.kind) {
    case "aggregate":
      return planAggregate(tree, context);
    case "selector":
      checkLogs(tree, context);
      return lacksAggregation(tree, exampleOfCount, context);
    case "rate":
      checkLogs(tree.of, context);
      return lacksAggregation(tree, exampleOfRate, context);
    case "number":
    case "variable":
      return lacksAggregation(tree, exampleOfCount, context);
    case "operation":
    case "negation":
      return refuse(context.source, tree, "calculating with series is not supported yet");
    case "jsonPath":
      return refuse(context.source, tree, "json_path is not supported yet");
  }
}

function lacksAggregation(tree: Expression, example: string, context: PlanContext): never {
  return refuse(context.source, tree, `a timeseries query needs an aggregation, e.g. ${example}`);
}

function planAggregate(tree: Aggregate, context: PlanContext): SeriesPlan {
  switch (tree.op) {
    case "count":
      return planCount(tree, context);
    case "sum":
      return planSum(tree, context);
    case "topk":
    case "bottomk":
      return planTop(tree, tree.op, context);
    default: {
      const known = "count, sum(rate(…)), topk and bottomk";
      return refuse(
        context.source,
        tree,
        `${tree.op} is not supported yet; of all aggregations ${known} are`,
      );
    }
  }
}

function planCount(tree: Aggregate, context: PlanContext): SeriesPlan {
  if (tree.of.kind === "rate") {
    const problem = `rows a second are ${exampleOfRate}; counting series is not supported yet`;
    return refuse(context.source, tree.of, problem);
  }
  return planRows(tree, tree.of, context);
}

function planSum(tree: Aggregate, context: PlanContext): SeriesPlan {
  if (tree.of.kind === "selector") {
    checkLogs(tree.of, context);
    const problem = `rows are counted with ${exampleOfCount}; the sum of a field is not supported yet`;
    return refuse(context.source, tree, problem);
  }
  if (tree.of.kind !== "rate") return planRows(tree, tree.of, context);
  if (tree.of.op === "increase") {
    checkLogs(tree.of.of, context);
    const problem = `increase is of counters, which metrics have; rows are counted with ${exampleOfCount}`;
    return refuse(context.source, tree.of, problem);
  }
  return { ...planRows(tree, tree.of.of, context), perSecond: true };
}

function planRows(tree: Aggregate, of: Series, context: PlanContext): RowSeries {
  if (of.kind !== "selector") {
    const supported = tree.op === "sum" ? "rate(logs{…})" : "logs{…}";
    return refuse(context.source, of, `${tree.op} of series is not supported yet, only of ${supported}`);
  }
  checkLogs(of, context);
  checkNoField(tree, context);
  const steps = simplifySteps(selectorSteps(of, context));
  const groupBy = rowLabels(tree.grouping, context);
  return {
    kind: "rows",
    signal: "logs",
    steps: dropIdleExtraction(
      steps,
      groupBy.map(({ field }) => field),
    ),
    groupBy,
    aggregate: { op: "count" },
    perSecond: false,
  };
}

function planTop(tree: Aggregate, op: TopSeries["op"], context: PlanContext): TopSeries {
  const { of, grouping } = tree;
  checkNoField(tree, context);
  const count = seriesCount(tree, context);
  if (of.kind !== "aggregate") {
    const example = `${op}(${count}, count(logs{…}) by (service.name))`;
    return refuse(context.source, of, `${op} ranks series, which an aggregation makes, e.g. ${example}`);
  }
  const series = planAggregate(of, context);
  const labels = (grouping?.labels ?? []).map((label) => labelName(label, context));
  return { kind: "top", op, count, among: { kind: grouping?.kind ?? "by", labels }, of: series };
}

/** The number of `topk(5, …)`. */
function seriesCount({ op, parameter }: Aggregate, context: PlanContext): number {
  const text =
    parameter!.kind === "number" ? parameter!.text : variableValue(parameter!, context, parameter!);
  const count = parseNumber(text);
  if (count !== undefined && Number.isSafeInteger(count) && count >= 1) return count;
  const problem = `${op} takes a whole number of series, 1 or more, not ${JSON.stringify(text)}`;
  return refuse(context.source, parameter!, problem);
}

/** The labels that the series keep, each once. */
function rowLabels(grouping: Grouping | null, context: PlanContext): RowSeries["groupBy"] {
  if (grouping === null) return [];
  if (grouping.kind === "without") {
    const problem = "`without` is not supported over rows, which have any number of labels";
    return refuse(context.source, grouping, `${problem}; name the labels to keep: by (…)`);
  }
  const names = new Set(grouping.labels.map((label) => labelName(label, context)));
  return Array.from(names, (label) => ({ label, field: referTo(label, context) }));
}

function checkNoField({ op, field }: Aggregate, context: PlanContext): void {
  if (field === null) return;
  const meant = op === "count" ? '; rows that have a label are counted with | label != ""' : "";
  refuse(context.source, field, `${op} takes no field${meant}`);
}

function checkLogs(node: Selector, context: PlanContext): void {
  const { of } = node;
  if (of.kind === "signal" && of.name === "logs") return;
  const what = of.kind === "signal" ? `of \`${of.name}\`` : "of metrics";
  refuse(context.source, node, `timeseries ${what} are not supported yet, only of logs{…}`);
}

import type { SampleQuery, SampleStatistic } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate, Expression, RangeFunction } from "../tree/expression.ts";
import { type SelectorRead, selectorOf } from "../tree/range-function.ts";
import { isRowSignal, type MetricSource } from "../tree/selector.ts";
import { refuseField, resolveGrouping } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { resolveField } from "./field.ts";
import { planFold, planNumberFold } from "./fold.ts";
import { toRowSteps } from "./ordered/ordered-step.ts";
import type { ScanSeries } from "./scan.ts";
import { planSelector } from "./selector.ts";
import type { Constant, KeptLabels, SeriesPlan, WindowFunction } from "./series-plan.ts";
import { simplifySteps } from "./simplification.ts";
import { resolveTimes } from "./times.ts";
import { resolveLabel, resolveString } from "./variables.ts";

/** Plans an expression, which gives series or a number. */
type PlanExpression = (tree: Expression) => SeriesPlan | Constant;

/** Functions of samples as they were sent, whatever the type of the metric: all but those of increases. */
const windowFunctions = {
  count_over_time: "count",
  avg_over_time: "avg",
  min_over_time: "min",
  max_over_time: "max",
  sum_over_time: "sum",
  stddev_over_time: "stddev",
  last_over_time: "last",
  quantile_over_time: "quantile",
  changes: "changes",
  delta: "delta",
  deriv: "deriv",
  predict_linear: "predict",
} as const;

type SampleFunction = RangeFunction & { op: keyof typeof windowFunctions };

/** The statistics of samples that each function is calculated from. */
const statisticsOf = {
  count: ["count"],
  sum: ["count", "sum"],
  avg: ["count", "sum"],
  min: ["count", "min"],
  max: ["count", "max"],
  stddev: ["count", "mean", "squares"],
  last: ["count", "last"],
  changes: ["count", "first", "last", "changes"],
  delta: ["count", "first", "firstTime", "last", "lastTime"],
  deriv: ["count", "mean", "meanTime", "timeSquares", "products"],
  predict: ["count", "mean", "meanTime", "timeSquares", "products"],
} as const satisfies Record<WindowFunction["op"], readonly SampleStatistic[]>;

/** Plans `op(metric{…})`, also with a function over time. Throws a QueryError. */
export function planMetricSeries(
  tree: Aggregate,
  of: SelectorRead,
  planInner: PlanExpression,
  context: TimeseriesContext,
): SeriesPlan {
  const keep = resolveGrouping(tree.grouping, context);
  if (!isSampleFunction(of)) return planSampleScan(of, planSampleAggregate(tree, context), keep, context);
  // The greatest of the greatest is the greatest of all samples. Others are computed for each series first.
  const isSame = of.op === `${tree.op}_over_time` && (tree.op === "min" || tree.op === "max");
  if (isSame) return planSampleScan(of, planSampleAggregate(tree, context), keep, context);
  return { kind: "fold", fold: planFold(tree, context), keep, of: planEachSeries(of, planInner, context) };
}

/** Plans the sums of a metric's increases, or of its increases a second. */
export function planIncreases(of: RangeFunction, keep: KeptLabels, context: TimeseriesContext): ScanSeries {
  return { ...planSampleScan(of, { op: "sum" }, keep, context), perSecond: false };
}

/** Plans a metric whose series are not aggregated, as in `topk(5, metric{…})`: each is a group of its own. */
export function planEachSeries(
  of: SelectorRead,
  planInner: PlanExpression,
  context: TimeseriesContext,
): SeriesPlan {
  const eachSeries: KeptLabels = { kind: "without", labels: [] };
  if (!isSampleFunction(of)) return planSampleScan(of, { op: "avg" }, eachSeries, context);
  const fn = planWindowFunction(of, planInner, context);
  if (fn.op === "quantile") return planSampleScan(of, fn, eachSeries, context);
  const statistics = [...statisticsOf[fn.op]];
  const { scan } = planSampleScan(of, { op: "statistics", of: statistics }, eachSeries, context);
  return { kind: "window", scan, fn };
}

function planSampleScan(
  of: SelectorRead,
  aggregate: SampleQuery["aggregate"],
  keep: KeptLabels,
  context: TimeseriesContext,
): ScanSeries {
  const selector = selectorOf(of);
  const metric = resolveString((selector.of as MetricSource).name, context);
  context.names = new Set();
  const steps = toRowSteps(simplifySteps(planSelector(selector, context)));
  const groupBy =
    keep.kind === "without"
      ? { without: keep.labels.toSorted() }
      : keep.labels.map((label) => ({ label, field: resolveField(label, context) }));
  context.expectedNames.push({ signal: "metrics", metric });
  for (const label of context.names) context.expectedNames.push({ signal: "metrics", metric, label });
  const readAs = of.kind === "selector" ? "declared" : isSampleFunction(of) ? "value" : "increase";
  const times = resolveTimes(selector, context);
  const scan = {
    metric,
    steps,
    groupBy,
    of: readAs,
    aggregate,
    ...times,
  } as const;
  const series = context.scans.addSampleScan(scan);
  // A count of series or of label values does not depend on the width of the bucket, so it is not divided by seconds.
  const isCount = aggregate.op === "count" || aggregate.op === "distinct";
  return { ...series, perSecond: of.kind === "rangeFunction" && of.op === "rate" && !isCount };
}

function planSampleAggregate(tree: Aggregate, context: TimeseriesContext): SampleQuery["aggregate"] {
  const { op, field } = tree;
  if (op === "count_distinct") {
    if (field !== null) return { op: "distinct", label: resolveLabel(field, context) };
    const problem = "count_distinct takes a label first: count_distinct(k8s.pod.name, …)";
    return refuse(context.source, tree, problem);
  }
  checkNoField(tree, context);
  return planNumberFold(tree, "a metric", context);
}

/**
 * Throws a QueryError for a field, as only rows have fields. A query such as `avg(traces, duration_ms)` gets a hint
 * about the right order.
 */
function checkNoField(tree: Aggregate, context: TimeseriesContext): void {
  const { op, field, of, parameter } = tree;
  if (field === null) return;
  const name = resolveLabel(field, context);
  const metric = of.kind === "selector" && of.of.kind === "metric" ? resolveString(of.of.name, context) : "";
  if (isRowSignal(name) && metric !== "") {
    const number = parameter?.kind === "number" ? `${parameter.text}, ` : "";
    const problem = `the field stands before \`${name}\`: ${op}(${number}${metric}, ${name})`;
    refuse(context.source, field, problem);
  }
  refuseField(tree, " over a metric, whose samples have one value each; fields are of rows", context);
}

/** Returns whether an expression is a function of samples, not of the increases of a counter. */
function isSampleFunction(of: SelectorRead): of is SampleFunction {
  return of.kind === "rangeFunction" && Object.hasOwn(windowFunctions, of.op);
}

/** What a function over time calculates of each series. Throws a QueryError where its number does not fit. */
function planWindowFunction(
  tree: SampleFunction,
  planInner: PlanExpression,
  context: TimeseriesContext,
): WindowFunction | { op: "quantile"; q: number } {
  const op = windowFunctions[tree.op];
  if (op !== "quantile" && op !== "predict") return { op };
  const at = tree.parameter!;
  const parameter = planInner(at);
  if (parameter.kind !== "number")
    return refuse(context.source, at, `${tree.op} takes a number here, not series`);
  const { value } = parameter;
  // As in PromQL, the prediction is for a time after the bucket, from samples that are as much older as the offset says.
  if (op === "predict") return { op, seconds: value + (resolveTimes(tree.of, context).offsetSeconds ?? 0) };
  if (value >= 0 && value <= 1) return { op, q: value };
  const problem = `${tree.op} takes a number between 0 and 1, such as 0.99, not ${value}`;
  return refuse(context.source, at, problem);
}

import type { SampleQuery } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/expression.ts";
import { type RangeFunction, type SelectorRead, selectorOf } from "../tree/range-function.ts";
import { isRowSignal, type MetricSource } from "../tree/selector.ts";
import { refuseField, resolveGrouping } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { resolveField } from "./field.ts";
import { planFold, planNumberFold } from "./fold.ts";
import type { ScanSeries } from "./scan.ts";
import { planSelector } from "./selector.ts";
import type { KeptLabels, SeriesPlan } from "./series-plan.ts";
import { simplifySteps } from "./simplification.ts";
import { resolveTimes } from "./times.ts";
import { resolveLabel, resolveString } from "./variables.ts";

/** What `…_over_time` computes of the samples that a series has in a window. */
const sampleFolds = { avg_over_time: "avg", min_over_time: "min", max_over_time: "max" } as const;

/** Plans `op(metric{…})`, also with a function over time. Throws a QueryError. */
export function planMetricSeries(tree: Aggregate, of: SelectorRead, context: TimeseriesContext): SeriesPlan {
  const keep = resolveGrouping(tree.grouping, context);
  const sampleFold = sampleFoldOf(of);
  // The greatest of the greatest is the greatest of all samples. Others are computed for each series first.
  if (sampleFold === undefined || sampleFold === tree.op) {
    return planSampleScan(of, planSampleAggregate(tree, context), keep, context);
  }
  return { kind: "fold", fold: planFold(tree, context), keep, of: planEachSeries(of, context) };
}

/** Plans the sums of a metric's increases, or of its increases a second. */
export function planIncreases(of: RangeFunction, keep: KeptLabels, context: TimeseriesContext): ScanSeries {
  return { ...planSampleScan(of, { op: "sum" }, keep, context), perSecond: false };
}

/** Plans a metric whose series are not aggregated, as in `topk(5, metric{…})`: each is a group of its own. */
export function planEachSeries(of: SelectorRead, context: TimeseriesContext): ScanSeries {
  return planSampleScan(of, { op: sampleFoldOf(of) ?? "avg" }, { kind: "without", labels: [] }, context);
}

function sampleFoldOf(of: SelectorRead): "avg" | "min" | "max" | undefined {
  if (of.kind !== "rangeFunction" || !Object.hasOwn(sampleFolds, of.op)) return undefined;
  return sampleFolds[of.op as keyof typeof sampleFolds];
}

function planSampleScan(
  of: SelectorRead,
  aggregate: SampleQuery["aggregate"],
  keep: KeptLabels,
  context: TimeseriesContext,
): ScanSeries {
  const selector = selectorOf(of);
  if (of.kind === "rangeFunction" && of.op === "count_over_time") {
    refuse(context.source, of, "count_over_time counts rows: sum(count_over_time(logs{…}[5m]))");
  }
  const metric = resolveString((selector.of as MetricSource).name, context);
  context.names = new Set();
  const steps = simplifySteps(planSelector(selector, context));
  const groupBy =
    keep.kind === "without"
      ? { without: keep.labels.toSorted() }
      : keep.labels.map((label) => ({ label, field: resolveField(label, context) }));
  context.expectedNames.push({ signal: "metrics", metric });
  for (const label of context.names) context.expectedNames.push({ signal: "metrics", metric, label });
  const isIncrease = of.kind === "rangeFunction" && sampleFoldOf(of) === undefined;
  const times = resolveTimes(selector, context);
  const scan = {
    metric,
    steps,
    groupBy,
    of: isIncrease ? "increase" : "declared",
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

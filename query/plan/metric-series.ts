import type { SampleQuery } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/aggregate.ts";
import type { Rate } from "../tree/rate.ts";
import { isRowSignal, type MetricSource, type TelemetrySelector } from "../tree/selector.ts";
import { refuseField, resolveGrouping } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { resolveField } from "./field.ts";
import { planNumberFold } from "./fold.ts";
import type { ScanSeries } from "./scan.ts";
import { planSelector } from "./selector.ts";
import type { KeptLabels } from "./series-plan.ts";
import { simplifySteps } from "./simplification.ts";
import { resolveLabel, resolveString } from "./variables.ts";

/**
 * Plans `op(metric{…})`, also with `rate` or `increase`. `keep` replaces the grouping of `tree`. Throws a QueryError.
 */
export function planMetricSeries(
  tree: Aggregate,
  of: TelemetrySelector | Rate,
  context: TimeseriesContext,
  keep: KeptLabels = resolveGrouping(tree.grouping, context),
): ScanSeries {
  return planSampleScan(of, planSampleAggregate(tree, context), keep, context);
}

/** Plans the metric of `topk(5, metric{…})`. Its series are not aggregated: each is a group of its own. */
export function planRankedMetric(of: TelemetrySelector | Rate, context: TimeseriesContext): ScanSeries {
  return planSampleScan(of, { op: "avg" }, { kind: "without", labels: [] }, context);
}

function planSampleScan(
  of: TelemetrySelector | Rate,
  aggregate: SampleQuery["aggregate"],
  keep: KeptLabels,
  context: TimeseriesContext,
): ScanSeries {
  const selector = of.kind === "rate" ? of.of : of;
  const metric = resolveString((selector.of as MetricSource).name, context);
  context.names = new Set();
  const steps = simplifySteps(planSelector(selector, context));
  const groupBy =
    keep.kind === "without"
      ? { without: keep.labels.toSorted() }
      : keep.labels.map((label) => ({ label, field: resolveField(label, context) }));
  context.expectedNames.push({ signal: "metrics", metric });
  for (const label of context.names) context.expectedNames.push({ signal: "metrics", metric, label });
  const sampleKind = of.kind === "rate" ? "increase" : "declared";
  const series = context.scans.addSampleScan({ metric, steps, groupBy, of: sampleKind, aggregate });
  // A count of series or of label values does not depend on the width of the bucket, so it is not divided by seconds.
  const isCount = aggregate.op === "count" || aggregate.op === "distinct";
  return { ...series, perSecond: of.kind === "rate" && of.op === "rate" && !isCount };
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

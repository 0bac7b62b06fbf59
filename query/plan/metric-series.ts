import type { SampleQuery } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/aggregate.ts";
import type { Rate } from "../tree/rate.ts";
import { isSignal, type Metric, type Selector } from "../tree/selector.ts";
import { keptLabels, refuseField } from "./arguments.ts";
import type { SeriesContext } from "./context.ts";
import { referTo } from "./field.ts";
import { numberFold } from "./fold.ts";
import type { ScanSeries } from "./scan.ts";
import { selectorSteps } from "./selector.ts";
import type { KeptLabels } from "./series-plan.ts";
import { simplifySteps } from "./simplification.ts";
import { labelName, resolveText } from "./variables.ts";

/** `op(metric{…})`, `op(rate(metric{…}))`, `op(increase(metric{…}))`. `keep` takes the place of the grouping. */
export function planMetricSeries(
  tree: Aggregate,
  of: Selector | Rate,
  context: SeriesContext,
  keep: KeptLabels = keptLabels(tree.grouping, context),
): ScanSeries {
  return planSamples(of, sampleAggregate(tree, context), keep, context);
}

/** `topk(5, metric{…})`: each series stands for itself. */
export function planMetricTop(of: Selector | Rate, context: SeriesContext): ScanSeries {
  return planSamples(of, { op: "avg" }, { kind: "without", labels: [] }, context);
}

function planSamples(
  of: Selector | Rate,
  aggregate: SampleQuery["aggregate"],
  keep: KeptLabels,
  context: SeriesContext,
): ScanSeries {
  const selector = of.kind === "rate" ? of.of : of;
  const metric = resolveText((selector.of as Metric).name, context);
  context.names = new Set();
  const steps = simplifySteps(selectorSteps(selector, context));
  const groupBy =
    keep.kind === "without"
      ? { without: keep.labels.toSorted() }
      : keep.labels.map((label) => ({ label, field: referTo(label, context) }));
  context.named.push({ signal: "metrics", metric });
  for (const label of context.names) context.named.push({ signal: "metrics", metric, label });
  const reading = of.kind === "rate" ? "increase" : "declared";
  const series = context.scans.samples({ metric, steps, groupBy, of: reading, aggregate });
  const counts = aggregate.op === "count" || aggregate.op === "distinct";
  return { ...series, perSecond: of.kind === "rate" && of.op === "rate" && !counts };
}

function sampleAggregate(tree: Aggregate, context: SeriesContext): SampleQuery["aggregate"] {
  const { op, field } = tree;
  if (op === "count_distinct") {
    if (field !== null) return { op: "distinct", label: labelName(field, context) };
    return refuse(
      context.source,
      tree,
      "count_distinct takes a label first: count_distinct(k8s.pod.name, …)",
    );
  }
  checkNoField(tree, context);
  return numberFold(tree, "a metric", context);
}

/** The field is of rows; a signal in its place says that the two stand the wrong way round. */
function checkNoField(tree: Aggregate, context: SeriesContext): void {
  const { op, field, of, parameter } = tree;
  if (field === null) return;
  const name = labelName(field, context);
  const metric = of.kind === "selector" && of.of.kind === "metric" ? resolveText(of.of.name, context) : "";
  if (isSignal(name) && metric !== "") {
    const number = parameter?.kind === "number" ? `${parameter.text}, ` : "";
    const problem = `the field stands before \`${name}\`: ${op}(${number}${metric}, ${name})`;
    refuse(context.source, field, problem);
  }
  refuseField(tree, " over a metric, whose samples have one value each; fields are of rows", context);
}

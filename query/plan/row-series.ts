import type { Aggregation, RowSignal, Value } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate, Series } from "../tree/aggregate.ts";
import type { Grouping } from "../tree/grouping.ts";
import type { JsonPath } from "../tree/json-path.ts";
import type { Selector, SignalName } from "../tree/selector.ts";
import { keptLabels, labelNames, quantileOf, refuseField } from "./arguments.ts";
import type { SeriesContext } from "./context.ts";
import { referTo } from "./field.ts";
import { foldOf } from "./fold.ts";
import { readPath } from "./json-path.ts";
import type { ScanLabel, ScanSeries } from "./scan.ts";
import { selectorSteps } from "./selector.ts";
import type { SeriesPlan } from "./series-plan.ts";
import { dropIdleExtraction, simplifySteps } from "./simplification.ts";
import { labelName } from "./variables.ts";

/** The label that says how long a span took, in milliseconds. */
const durationLabel = "duration_ms";
/** What tells one Kubernetes resource from another. */
const resourceLabels = [
  "k8s.cluster.name",
  "k8s.namespace.name",
  "k8s.resource.kind",
  "k8s.resource.name",
] as const;

/** `op(field, logs{…})`, `op(rate(logs{…}))`. */
export function planRowSeries(
  tree: Aggregate,
  of: Exclude<Series, Aggregate | JsonPath>,
  signal: SignalName,
  context: SeriesContext,
): SeriesPlan {
  if (of.kind === "selector")
    return planRows(tree, of, () => rowAggregation(tree, of, signal, context), context);
  if (of.op === "increase") {
    const problem = `increase is of counters, which metrics have; rows are counted with count(${signal}{…})`;
    return refuse(context.source, of, problem);
  }
  // Each group has one rate, so that all of these give it.
  if (tree.op === "sum" || tree.op === "avg" || tree.op === "min" || tree.op === "max") {
    refuseField(tree, " over a rate", context);
    return { ...planRows(tree, of.of, () => ({ op: "count" }), context), perSecond: true };
  }
  const problem = `rows a second are sum(rate(${signal}{…})); ${tree.op} of them has no meaning`;
  return refuse(context.source, of, problem);
}

function planRows(
  tree: Aggregate,
  of: Selector,
  aggregationOf: () => Aggregation,
  context: SeriesContext,
  more: readonly string[] = [],
): ScanSeries {
  context.names = new Set();
  const steps = simplifySteps(selectorSteps(of, context));
  const asked = rowLabels(tree.grouping, context);
  const aggregation = aggregationOf();
  const signal = context.signal as RowSignal;
  for (const label of context.names) context.named.push({ signal, label });
  const groupBy = [...asked, ...scanLabels(more, context)];
  const read = [...groupBy.map(({ field }) => field), ...fieldsOf(aggregation)];
  return context.scans.rows({ signal, steps: dropIdleExtraction(steps, read), groupBy }, aggregation);
}

function fieldsOf(aggregation: Aggregation) {
  if (!("of" in aggregation)) return [];
  return [aggregation.op === "distinct" ? aggregation.of : aggregation.of.field];
}

/** What an aggregation makes of rows. The selector is planned already, so that what its stages extract is known. */
function rowAggregation(
  tree: Aggregate,
  of: Selector,
  signal: SignalName,
  context: SeriesContext,
): Aggregation {
  const { op, field } = tree;
  switch (op) {
    case "count":
      refuseField(
        tree,
        '; rows that have a label are counted with | label != "", its different texts with count_distinct(…)',
        context,
      );
      return { op };
    case "sum":
    case "avg":
    case "min":
    case "max":
    case "stddev":
      return { op, of: numberOf(tree, signal, context) };
    case "quantile":
      return { op, of: numberOf(tree, signal, context), q: quantileOf(tree, context) };
    case "count_distinct":
      if (field === null) return lacksField(tree, "trace_id", signal, context);
      return { op: "distinct", of: referTo(labelName(field, context), context) };
    case "trace_duration_quantile": {
      refuseField(tree, "; it is of the spans' duration", context);
      if (signal !== "traces") {
        refuse(context.source, of, `${op} takes spans, e.g. ${op}(0.95, traces{…}), not \`${signal}\``);
      }
      return { op: "quantile", of: { field: referTo(durationLabel, context) }, q: quantileOf(tree, context) };
    }
    default:
      throw new Error(`rows: ${op} has a plan of its own`);
  }
}

function numberOf(tree: Aggregate, signal: SignalName, context: SeriesContext): Value {
  if (tree.field === null) return lacksField(tree, durationLabel, signal, context);
  return { field: referTo(labelName(tree.field, context), context) };
}

function lacksField(tree: Aggregate, field: string, signal: SignalName, context: SeriesContext): never {
  const parameter = tree.parameter?.kind === "number" ? `${tree.parameter.text}, ` : "";
  const example = `${tree.op}(${parameter}${field}, ${signal}{…})`;
  const counted = tree.op === "sum" ? `; rows are counted with count(${signal}{…})` : "";
  return refuse(context.source, tree, `${tree.op} over rows takes a field, e.g. ${example}${counted}`);
}

/** The labels that the series keep, each once. */
function rowLabels(grouping: Grouping | null, context: SeriesContext): ScanLabel[] {
  if (grouping === null) return [];
  if (grouping.kind === "without") {
    const problem = "`without` is not supported over rows, which have any number of labels";
    return refuse(context.source, grouping, `${problem}; name the labels to keep: by (…)`);
  }
  return scanLabels(labelNames(grouping, context), context);
}

function scanLabels(names: readonly string[], context: SeriesContext): ScanLabel[] {
  return names.map((label) => ({ label, field: referTo(label, context) }));
}

/** `op(json_path("spec.replicas", kubernetes_resources{…}))`: each resource gives the average of its numbers, like a gauge. */
export function planJsonPath(tree: Aggregate, of: JsonPath, context: SeriesContext): SeriesPlan {
  if (of.of.of.kind !== "signal" || of.of.of.name !== "kubernetes_resources") {
    const problem =
      'json_path reads the bodies of Kubernetes resources: json_path("…", kubernetes_resources{…})';
    return refuse(context.source, of.of, problem);
  }
  if (tree.op === "count_distinct" || tree.op === "trace_duration_quantile") {
    return refuse(
      context.source,
      tree,
      `${tree.op} takes no json_path, which gives a number for each resource`,
    );
  }
  const fold = foldOf(tree, context);
  const keep = keptLabels(tree.grouping, context);
  const more = resourceLabels.filter((label) => !keep.labels.includes(label));
  const path = readPath(of, context);
  const value: Aggregation = { op: "avg", of: { field: { kind: "message" }, path } };
  const series = planRows(tree, of.of, () => value, context, more);
  return { kind: "fold", fold, keep, of: series };
}

import type { Aggregation, Field, RowSignal, Value } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/expression.ts";
import type { Grouping } from "../tree/grouping.ts";
import type { JsonPath } from "../tree/json-path.ts";
import type { SelectorRead } from "../tree/range-function.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import { refuseField, resolveGrouping, resolveLabels, resolveQuantile } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { resolveField, spanDuration } from "./field.ts";
import { planFold } from "./fold.ts";
import { parseJsonPath } from "./json-path.ts";
import type { ScanLabel, ScanSeries } from "./scan.ts";
import { planSelector } from "./selector.ts";
import type { SeriesPlan } from "./series-plan.ts";
import { dropUnreadExtraction, simplifySteps } from "./simplification.ts";
import { resolveTimes } from "./times.ts";
import { resolveLabel } from "./variables.ts";

/** The labels that identify a Kubernetes resource. */
const resourceLabels = [
  "k8s.cluster.name",
  "k8s.namespace.name",
  "k8s.resource.kind",
  "k8s.resource.name",
] as const;

/** Plans `op(field, logs{…})` and `op(rate(logs{…}))`. Throws a QueryError. */
export function planRowSeries(
  tree: Aggregate,
  of: SelectorRead,
  signal: RowSignal,
  context: TimeseriesContext,
): SeriesPlan {
  if (of.kind === "selector")
    return planRowScan(tree, of, () => planRowAggregation(tree, of, context), context);
  if (of.op === "increase") {
    const problem = `increase is of counters, which metrics have; rows are counted with count(${signal}{…})`;
    return refuse(context.source, of, problem);
  }
  if (of.op !== "rate" && of.op !== "count_over_time") {
    const [name = ""] = /^(?:sum|avg|min|max|stddev|quantile)/.exec(of.op) ?? ["max"];
    const field = `${name}(${name === "quantile" ? "0.99, " : ""}${spanDuration}, ${signal}{…}[5m])`;
    return refuse(context.source, of, `${of.op} is of metrics; a field of rows is aggregated with ${field}`);
  }
  // A group has one rate in each bucket, so sum, avg, min and max all give that rate.
  if (tree.op === "sum" || tree.op === "avg" || tree.op === "min" || tree.op === "max") {
    refuseField(tree, " over a rate", context);
    const counted = planRowScan(tree, of.of, () => ({ op: "count" }), context);
    return { ...counted, perSecond: of.op === "rate" };
  }
  const problem = `rows a second are sum(rate(${signal}{…})); ${tree.op} of them has no meaning`;
  return refuse(context.source, of, problem);
}

/**
 * Adds a scan over the rows of a selector, grouped as `tree` says and by `extraLabels`. `planAggregation` is called
 * after the selector is planned, when it is known what the stages extract.
 */
function planRowScan(
  tree: Aggregate,
  of: TelemetrySelector,
  planAggregation: () => Aggregation,
  context: TimeseriesContext,
  extraLabels: readonly string[] = [],
): ScanSeries {
  context.names = new Set();
  const steps = simplifySteps(planSelector(of, context));
  const keptLabels = planRowGrouping(tree.grouping, context);
  const aggregation = planAggregation();
  const signal = context.signal as RowSignal;
  for (const label of context.names) context.expectedNames.push({ signal, label });
  const groupBy = [...keptLabels, ...resolveScanLabels(extraLabels, context)];
  const fields = [...groupBy.map(({ field }) => field), ...fieldsOfAggregations([aggregation])];
  const read = dropUnreadExtraction(steps, fields);
  const times = resolveTimes(of, context);
  return context.scans.addRowScan({ signal, steps: read, groupBy, ...times }, aggregation);
}

/** The fields that aggregations read. */
export function fieldsOfAggregations(aggregations: readonly Aggregation[]): Field[] {
  return aggregations.flatMap((aggregation) => {
    if (!("of" in aggregation)) return [];
    return [aggregation.op === "distinct" ? aggregation.of : aggregation.of.field];
  });
}

/** Plans the aggregation of a scan over rows. Throws a QueryError where its arguments do not fit. */
function planRowAggregation(tree: Aggregate, of: TelemetrySelector, context: TimeseriesContext): Aggregation {
  const { op, field } = tree;
  const { signal } = context;
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
      return { op, of: resolveNumericField(tree, context) };
    case "quantile":
      return { op, of: resolveNumericField(tree, context), q: resolveQuantile(tree, context) };
    case "count_distinct":
      if (field === null) return refuseMissingField(tree, "trace_id", context);
      return { op: "distinct", of: resolveField(resolveLabel(field, context), context) };
    case "trace_duration_quantile": {
      refuseField(tree, "; it is of the spans' duration", context);
      if (signal !== "traces") {
        refuse(context.source, of, `${op} takes spans, e.g. ${op}(0.95, traces{…}), not \`${signal}\``);
      }
      return {
        op: "quantile",
        of: { field: resolveField(spanDuration, context) },
        q: resolveQuantile(tree, context),
      };
    }
    default:
      throw new Error(`rows: ${op} has a plan of its own`);
  }
}

function resolveNumericField(tree: Aggregate, context: TimeseriesContext): Value {
  if (tree.field === null) return refuseMissingField(tree, spanDuration, context);
  return { field: resolveField(resolveLabel(tree.field, context), context) };
}

function refuseMissingField(tree: Aggregate, field: string, context: TimeseriesContext): never {
  const { signal } = context;
  const parameter = tree.parameter?.kind === "number" ? `${tree.parameter.text}, ` : "";
  const example = `${tree.op}(${parameter}${field}, ${signal}{…})`;
  const counted = tree.op === "sum" ? `; rows are counted with count(${signal}{…})` : "";
  return refuse(context.source, tree, `${tree.op} over rows takes a field, e.g. ${example}${counted}`);
}

/** The labels that `by (…)` keeps, each once. Throws a QueryError for `without (…)`. */
function planRowGrouping(grouping: Grouping | null, context: TimeseriesContext): ScanLabel[] {
  if (grouping === null) return [];
  if (grouping.kind === "without") {
    const problem = "`without` is not supported over rows, which have any number of labels";
    return refuse(context.source, grouping, `${problem}; name the labels to keep: by (…)`);
  }
  return resolveScanLabels(resolveLabels(grouping, context), context);
}

function resolveScanLabels(names: readonly string[], context: TimeseriesContext): ScanLabel[] {
  return names.map((label) => ({ label, field: resolveField(label, context) }));
}

/**
 * Plans `op(json_path("spec.replicas", kubernetes_resources{…}))`: the average of each resource's numbers in a bucket,
 * as for a gauge, and `op` over these averages. Throws a QueryError.
 */
export function planJsonPathSeries(tree: Aggregate, of: JsonPath, context: TimeseriesContext): SeriesPlan {
  if (of.of.of.kind !== "signal" || of.of.of.name !== "kubernetes_resources") {
    const problem =
      'json_path reads the bodies of Kubernetes resources: json_path("…", kubernetes_resources{…})';
    return refuse(context.source, of.of, problem);
  }
  if (tree.op === "count_distinct" || tree.op === "trace_duration_quantile") {
    const problem = `${tree.op} takes no json_path, which gives a number for each resource`;
    return refuse(context.source, tree, problem);
  }
  const fold = planFold(tree, context);
  const keep = resolveGrouping(tree.grouping, context);
  const extraLabels = resourceLabels.filter((label) => !keep.labels.includes(label));
  const path = parseJsonPath(of, context);
  const average: Aggregation = { op: "avg", of: { field: { kind: "message" }, path } };
  const series = planRowScan(tree, of.of, () => average, context, extraLabels);
  return { kind: "fold", fold, keep, of: series };
}

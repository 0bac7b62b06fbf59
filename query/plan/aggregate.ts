import { refuse } from "../text/source.ts";
import { type Aggregate, type Expression, makeRangeFunction } from "../tree/expression.ts";
import { isSelectorRead, selectorOf } from "../tree/range-function.ts";
import { refuseField, resolveGrouping, resolveQuantile, resolveSeriesCount } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { planFold } from "./fold.ts";
import { planIncreases, planMetricSeries } from "./metric-series.ts";
import { planJsonPathSeries, planRowSeries } from "./row-series.ts";
import type { Constant, HistogramQuantile, KeptLabels, SeriesPlan, TopSeries } from "./series-plan.ts";

/** Plans the expression within an aggregation. */
type PlanInner = (tree: Expression) => SeriesPlan | Constant;

/**
 * Plans an aggregation over rows, samples of a metric, or other series. `planInner` plans an operation within it. Throws
 * a QueryError.
 */
export function planAggregate(tree: Aggregate, planInner: PlanInner, context: TimeseriesContext): SeriesPlan {
  const { op, of } = tree;
  if (op === "topk" || op === "bottomk") return planTopSeries(tree, op, planInner, context);
  if (op === "histogram_quantile") return planHistogramQuantile(tree, planInner, context);
  if (of.kind === "jsonPath") return planJsonPathSeries(tree, of, context);
  if (!isSelectorRead(of)) {
    const series = planSeries(of, planInner, context);
    const keep = resolveGrouping(tree.grouping, context);
    return { kind: "fold", fold: planFold(tree, context), keep, of: series };
  }
  const source = selectorOf(of).of;
  if (source.kind === "signal") return planRowSeries(tree, of, source.name, context);
  return planMetricSeries(tree, of, planInner, context);
}

/** Plans series within an aggregation. Throws a QueryError for a number. */
function planSeries(tree: Expression, planInner: PlanInner, context: TimeseriesContext): SeriesPlan {
  const series = planInner(tree);
  if (series.kind !== "number") return series;
  return refuse(context.source, tree, "an aggregation takes series, not a number");
}

function planTopSeries(
  tree: Aggregate,
  op: TopSeries["op"],
  planInner: PlanInner,
  context: TimeseriesContext,
): TopSeries {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const count = resolveSeriesCount(tree, context);
  const top = { kind: "top", op, count, among: resolveGrouping(grouping, context) } as const;
  const isCalculated = ["aggregate", "operation", "negation", "function"].includes(of.kind);
  if (isCalculated || (isSelectorRead(of) && selectorOf(of).of.kind === "metric")) {
    return { ...top, of: planSeries(of, planInner, context) };
  }
  const example = `${op}(${count}, count(logs{…}) by (service.name))`;
  return refuse(context.source, of, `${op} ranks series, which an aggregation makes, e.g. ${example}`);
}

function planHistogramQuantile(
  tree: Aggregate,
  planInner: PlanInner,
  context: TimeseriesContext,
): HistogramQuantile {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const q = resolveQuantile(tree, context);
  const keep = addBoundLabel(resolveGrouping(grouping, context));
  if (of.kind === "aggregate" || of.kind === "operation" || of.kind === "function") {
    const inner = planSeries(of, planInner, context);
    if (of.kind === "aggregate") checkBoundLabel(of, inner, context);
    const series: SeriesPlan =
      grouping === null ? inner : { kind: "fold", fold: { op: "sum" }, keep, of: inner };
    return { kind: "histogramQuantile", q, of: series };
  }
  const isIncrease = of.kind !== "rangeFunction" || of.op === "rate" || of.op === "increase";
  if (!isSelectorRead(of) || selectorOf(of).of.kind !== "metric" || !isIncrease) {
    const example = `${tree.op}(${q}, sum(rate(http_request_seconds_bucket{…})) by (le))`;
    const problem = `${tree.op} takes the buckets of a histogram, which is a metric, e.g. ${example}`;
    return refuse(context.source, of, problem);
  }
  const increases = of.kind === "rangeFunction" ? of : makeRangeFunction("increase", of);
  return { kind: "histogramQuantile", q, of: planIncreases(increases, keep, context) };
}

/** Adds `le` to the labels that are kept. `le` is the label with the upper bound of a histogram's bucket. */
function addBoundLabel({ kind, labels }: KeptLabels): KeptLabels {
  const others = labels.filter((label) => label !== "le");
  return { kind, labels: kind === "by" ? [...others, "le"] : others };
}

/** Throws a QueryError where an aggregation within `histogram_quantile` drops the label `le`. */
function checkBoundLabel(tree: Aggregate, plan: SeriesPlan, context: TimeseriesContext): void {
  if (plan.kind === "top") {
    if (tree.of.kind === "aggregate") checkBoundLabel(tree.of, plan.of, context);
    return;
  }
  const { labels, kind } = resolveGrouping(tree.grouping, context);
  if (labels.includes("le") === (kind === "by")) return;
  const problem = "histogram_quantile needs the label `le` of its buckets, which this drops";
  refuse(
    context.source,
    tree,
    `${problem}; write ${tree.op}(…) by (le${labels.map((l) => `, ${l}`).join("")})`,
  );
}

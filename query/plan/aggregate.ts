import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/aggregate.ts";
import { refuseField, resolveGrouping, resolveQuantile, resolveSeriesCount } from "./arguments.ts";
import type { TimeseriesContext } from "./context.ts";
import { planFold } from "./fold.ts";
import { planMetricSeries, planRankedMetric } from "./metric-series.ts";
import { planJsonPathSeries, planRowSeries } from "./row-series.ts";
import type { FoldedSeries, HistogramQuantile, KeptLabels, SeriesPlan, TopSeries } from "./series-plan.ts";

/** Plans an aggregation over rows, samples of a metric, or other series. Throws a QueryError. */
export function planAggregate(tree: Aggregate, context: TimeseriesContext): SeriesPlan {
  const { op, of } = tree;
  if (op === "topk" || op === "bottomk") return planTopSeries(tree, op, context);
  if (op === "histogram_quantile") return planHistogramQuantile(tree, context);
  if (of.kind === "jsonPath") return planJsonPathSeries(tree, of, context);
  if (of.kind === "aggregate") return planFoldedSeries(tree, of, context);
  const selector = of.kind === "rate" ? of.of : of;
  if (selector.of.kind === "signal") return planRowSeries(tree, of, selector.of.name, context);
  return planMetricSeries(tree, of, context);
}

function planFoldedSeries(tree: Aggregate, of: Aggregate, context: TimeseriesContext): FoldedSeries {
  const keep = resolveGrouping(tree.grouping, context);
  return { kind: "fold", fold: planFold(tree, context), keep, of: planAggregate(of, context) };
}

function planTopSeries(tree: Aggregate, op: TopSeries["op"], context: TimeseriesContext): TopSeries {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const count = resolveSeriesCount(tree, context);
  const top = { kind: "top", op, count, among: resolveGrouping(grouping, context) } as const;
  if (of.kind === "aggregate") return { ...top, of: planAggregate(of, context) };
  const selector = of.kind === "selector" ? of : of.kind === "rate" ? of.of : undefined;
  if (selector?.of.kind === "metric" && of.kind !== "jsonPath") {
    return { ...top, of: planRankedMetric(of, context) };
  }
  const example = `${op}(${count}, count(logs{…}) by (service.name))`;
  return refuse(context.source, of, `${op} ranks series, which an aggregation makes, e.g. ${example}`);
}

function planHistogramQuantile(tree: Aggregate, context: TimeseriesContext): HistogramQuantile {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const q = resolveQuantile(tree, context);
  const keep = addBoundLabel(resolveGrouping(grouping, context));
  if (of.kind === "aggregate") {
    const inner = planAggregate(of, context);
    checkBoundLabel(of, inner, context);
    const series: SeriesPlan =
      grouping === null ? inner : { kind: "fold", fold: { op: "sum" }, keep, of: inner };
    return { kind: "histogramQuantile", q, of: series };
  }
  const selector = of.kind === "rate" ? of.of : of.kind === "selector" ? of : undefined;
  if (selector?.of.kind !== "metric" || of.kind === "jsonPath") {
    const example = `${tree.op}(${q}, sum(rate(http_request_seconds_bucket{…})) by (le))`;
    const problem = `${tree.op} takes the buckets of a histogram, which is a metric, e.g. ${example}`;
    return refuse(context.source, of, problem);
  }
  const series = planMetricSeries(
    { ...tree, op: "sum", parameter: null, grouping: null },
    of.kind === "rate" ? of : { kind: "rate", op: "increase", of },
    context,
    keep,
  );
  return { kind: "histogramQuantile", q, of: { ...series, perSecond: false } };
}

/** Adds `le` to the labels that are kept. `le` is the label with the upper bound of a histogram's bucket. */
function addBoundLabel({ kind, labels }: KeptLabels): KeptLabels {
  const others = labels.filter((label) => label !== "le");
  return { kind, labels: kind === "by" ? [...others, "le"] : others };
}

/** Throws a QueryError where an aggregation within `histogram_quantile` drops the label `le`. */
function checkBoundLabel(tree: Aggregate, plan: SeriesPlan, context: TimeseriesContext): void {
  if (plan.kind === "top") {
    checkBoundLabel(tree.of as Aggregate, plan.of, context);
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

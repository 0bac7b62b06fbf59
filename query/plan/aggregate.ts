import { refuse } from "../text/source.ts";
import type { Aggregate } from "../tree/aggregate.ts";
import { keptLabels, quantileOf, refuseField, seriesCount } from "./arguments.ts";
import type { SeriesContext } from "./context.ts";
import { foldOf } from "./fold.ts";
import { planMetricSeries, planMetricTop } from "./metric-series.ts";
import { planJsonPath, planRowSeries } from "./row-series.ts";
import type { FoldedSeries, HistogramQuantile, KeptLabels, SeriesPlan, TopSeries } from "./series-plan.ts";

/** Plans an aggregation over rows, samples, or series. Throws a QueryError. */
export function planAggregate(tree: Aggregate, context: SeriesContext): SeriesPlan {
  const { op, of } = tree;
  if (op === "topk" || op === "bottomk") return planTop(tree, op, context);
  if (op === "histogram_quantile") return planHistogram(tree, context);
  if (of.kind === "jsonPath") return planJsonPath(tree, of, context);
  if (of.kind === "aggregate") return planFold(tree, of, context);
  const selector = of.kind === "rate" ? of.of : of;
  if (selector.of.kind === "signal") return planRowSeries(tree, of, selector.of.name, context);
  return planMetricSeries(tree, of, context);
}

function planFold(tree: Aggregate, of: Aggregate, context: SeriesContext): FoldedSeries {
  const keep = keptLabels(tree.grouping, context);
  return { kind: "fold", fold: foldOf(tree, context), keep, of: planAggregate(of, context) };
}

function planTop(tree: Aggregate, op: TopSeries["op"], context: SeriesContext): TopSeries {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const count = seriesCount(tree, context);
  const top = { kind: "top", op, count, among: keptLabels(grouping, context) } as const;
  if (of.kind === "aggregate") return { ...top, of: planAggregate(of, context) };
  const selector = of.kind === "selector" ? of : of.kind === "rate" ? of.of : undefined;
  if (selector?.of.kind === "metric" && of.kind !== "jsonPath") {
    return { ...top, of: planMetricTop(of, context) };
  }
  const example = `${op}(${count}, count(logs{…}) by (service.name))`;
  return refuse(context.source, of, `${op} ranks series, which an aggregation makes, e.g. ${example}`);
}

function planHistogram(tree: Aggregate, context: SeriesContext): HistogramQuantile {
  const { of, grouping } = tree;
  refuseField(tree, "", context);
  const q = quantileOf(tree, context);
  const keep = withBounds(keptLabels(grouping, context));
  if (of.kind === "aggregate") {
    const inner = planAggregate(of, context);
    checkBounds(of, inner, context);
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

/** The same labels and `le`, the upper bound of a histogram's bucket. */
function withBounds({ kind, labels }: KeptLabels): KeptLabels {
  const others = labels.filter((label) => label !== "le");
  return { kind, labels: kind === "by" ? [...others, "le"] : others };
}

function checkBounds(tree: Aggregate, plan: SeriesPlan, context: SeriesContext): void {
  if (plan.kind === "top") {
    checkBounds(tree.of as Aggregate, plan.of, context);
    return;
  }
  const { labels, kind } = keptLabels(tree.grouping, context);
  if (labels.includes("le") === (kind === "by")) return;
  const problem = "histogram_quantile needs the label `le` of its buckets, which this drops";
  refuse(
    context.source,
    tree,
    `${problem}; write ${tree.op}(…) by (le${labels.map((l) => `, ${l}`).join("")})`,
  );
}

/** The query that a choice of metric, labels and calculation means. */

import { quoteText } from "../query/quoted-text.ts";

/** A metric as the store knows it. */
export interface Metric {
  name: string;
  /** Number of its series in the range. */
  series: number;
  /** `gauge`, `counter`, `delta`, or `unknown` where none was declared. */
  type?: string;
  unit?: string;
}

export interface MetricChoice {
  metric: string;
  /** One of the names of `calculations`. */
  calculation: string;
  /** Labels that make series of their own. */
  by: readonly string[];
  /** Labels that must have a value. */
  where: Readonly<Record<string, string>>;
}

interface Calculation {
  name: string;
  label: string;
  write(selector: string, grouping: string): string;
}

const aggregate = (op: string) => (selector: string, grouping: string) => `${op}(${selector})${grouping}`;
const quantile = (q: number) => (selector: string, grouping: string) =>
  `quantile(${q}, ${selector})${grouping}`;
/** Quantiles of a histogram need the bounds of its buckets in each series. */
const histogramQuantile = (q: number) => (selector: string, grouping: string) => {
  const withBounds = grouping === "" ? " by (le)" : grouping.replace("(", "(le, ");
  return `histogram_quantile(${q}, sum(rate(${selector}))${withBounds})`;
};

const gauge: readonly Calculation[] = [
  { name: "avg", label: "Average", write: aggregate("avg") },
  { name: "sum", label: "Sum", write: aggregate("sum") },
  { name: "min", label: "Least", write: aggregate("min") },
  { name: "max", label: "Greatest", write: aggregate("max") },
  { name: "p50", label: "Median", write: quantile(0.5) },
  { name: "p95", label: "95th percentile", write: quantile(0.95) },
  { name: "count", label: "Number of series", write: aggregate("count") },
];
const counter: readonly Calculation[] = [
  { name: "rate", label: "Rate a second", write: (selector, by) => `sum(rate(${selector}))${by}` },
  { name: "increase", label: "Increase", write: (selector, by) => `sum(increase(${selector}))${by}` },
  { name: "count", label: "Number of series", write: aggregate("count") },
];
const histogram: readonly Calculation[] = [
  { name: "p95", label: "95th percentile", write: histogramQuantile(0.95) },
  { name: "p50", label: "Median", write: histogramQuantile(0.5) },
  { name: "p99", label: "99th percentile", write: histogramQuantile(0.99) },
  ...counter,
];

/** What can be calculated from a metric, the usual one first. */
export function calculationsOf({ name, type }: Pick<Metric, "name" | "type">): readonly Calculation[] {
  if (name.endsWith("_bucket")) return histogram;
  const isDeclared = type !== undefined && type !== "unknown";
  const isCounter = isDeclared ? type === "counter" || type === "delta" : name.endsWith("_total");
  return isCounter ? counter : gauge;
}

/** The query of a choice, of a metric of which the type is known perhaps. */
export function writeMetricQuery(choice: MetricChoice, type?: string): string {
  const known = calculationsOf({ name: choice.metric, ...(type === undefined ? {} : { type }) });
  const { write } = known.find(({ name }) => name === choice.calculation) ?? known[0]!;
  const grouping = choice.by.length === 0 ? "" : ` by (${choice.by.map(writeLabel).join(", ")})`;
  return write(selectorOf(choice), grouping);
}

/** The query within which labels and values of a metric are asked for. */
export function selectorOf({ metric, where }: Pick<MetricChoice, "metric" | "where">): string {
  const filters = Object.entries(where).map(([label, value]) => `${writeLabel(label)}=${quoteText(value)}`);
  if (!isBareName(metric)) return `{${[quoteText(metric), ...filters].join(", ")}}`;
  return filters.length === 0 ? metric : `${metric}{${filters.join(", ")}}`;
}

/** Words of the language that look like names of metrics. */
const reserved =
  /^(?:[A-Za-z]+|count_distinct|histogram_quantile|trace_duration_quantile|json_path|kubernetes_resources)$/;

function isBareName(metric: string): boolean {
  return /^[A-Za-z_:][\w:.]*$/.test(metric) && !reserved.test(metric);
}

function writeLabel(label: string): string {
  return /^[A-Za-z_][\w.]*$/.test(label) ? label : quoteText(label);
}

import type { aggregations } from "../text/keywords.ts";

export type AggregateOperator = (typeof aggregations)[number];

/** What the number before the series means, by aggregation; null for aggregations that take no number. */
export const parameterDescriptions = {
  count: null,
  sum: null,
  avg: null,
  min: null,
  max: null,
  stddev: null,
  count_distinct: null,
  quantile: "which quantile, such as 0.99",
  histogram_quantile: "which quantile, such as 0.99",
  trace_duration_quantile: "which quantile, such as 0.99",
  topk: "how many series, such as 5",
  bottomk: "how many series, such as 5",
} as const satisfies Record<AggregateOperator, string | null>;

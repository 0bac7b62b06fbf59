import type { aggregations } from "../text/keywords.ts";
import { type Grouping, printGrouping } from "./grouping.ts";
import type { JsonPath } from "./json-path.ts";
import { type Label, printField } from "./label.ts";
import type { NumberLiteral } from "./number-literal.ts";
import type { Rate } from "./rate.ts";
import type { TelemetrySelector } from "./selector.ts";
import type { Variable } from "./variable.ts";

export type AggregateOperator = (typeof aggregations)[number];

/** What an aggregation aggregates. */
export type SeriesExpression = TelemetrySelector | Rate | JsonPath | Aggregate;

/** `sum(…) by (label)`, `quantile(0.99, field, …)` and similar. */
export interface Aggregate {
  readonly kind: "aggregate";
  readonly op: AggregateOperator;
  /** The number before the series: the quantile, or the number of series. Null for aggregations that take no number. */
  readonly parameter: NumberLiteral | Variable | null;
  /** The field of rows whose values are aggregated, or the label whose values are counted. */
  readonly field: Label | null;
  readonly of: SeriesExpression;
  readonly grouping: Grouping | null;
}

export function makeAggregate(parts: Omit<Aggregate, "kind">): Aggregate {
  return Object.freeze({ kind: "aggregate", ...parts });
}

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

/** Prints an aggregation. `printSeries` prints the series that are aggregated. */
export function printAggregate(node: Aggregate, printSeries: (of: SeriesExpression) => string): string {
  const parameter =
    node.parameter && (node.parameter.kind === "number" ? node.parameter.text : `$${node.parameter.name}`);
  const args = [parameter, node.field && printField(node.field), printSeries(node.of)];
  const call = `${node.op}(${args.filter((arg) => arg !== null).join(", ")})`;
  return node.grouping === null ? call : `${call} ${printGrouping(node.grouping)}`;
}

/** The query layer's public face: svcQL text in, plans and rows out. */

import { type Expression, printExpression } from "./expression.ts";
import { parseLogsQuery as parseLogs } from "./logs-query.ts";
import { parseExpression, readSource } from "./parse.ts";
import { printTerms, type Terms } from "./terms.ts";

export { type Explained, explainText } from "./explain.ts";
export type { Expression } from "./expression.ts";
export { fieldOf } from "./field.ts";
export { type FieldList, type FieldQuery, type FieldStore, queryFields } from "./field-list.ts";
export {
  type Pattern,
  type PatternQuery,
  type PatternStore,
  type Patterns,
  queryPatterns,
} from "./patterns.ts";
export { type PlanOptions, planLogs, planRows, type RowsPlan } from "./plan.ts";
export { QueryError } from "./query-error.ts";
export { type QueryKind, queryKind } from "./query-kind.ts";
export type { ScanRead, SeriesStore } from "./reading.ts";
export {
  type HistogramQuery,
  type HistogramStore,
  queryHistogram,
  type RowHistogram,
} from "./row-histogram.ts";
export type { RowScan, SampleScan, Scan, ScanLabel } from "./scan-plan.ts";
export {
  type LogsFound,
  planWarnings,
  type RowsSearch,
  type RowsStore,
  type SpansFound,
  searchLogs,
  searchSpans,
} from "./search.ts";
export type { Series, SeriesColumns } from "./series-columns.ts";
export {
  type ListedSeries,
  type MetricStore,
  queryLabels,
  queryLabelValues,
  type SeriesList,
  type SeriesQuery,
} from "./series-list.ts";
export type { SeriesPlan, TimeseriesPlan } from "./series-plan.ts";
export { type Span, spanOf } from "./span.ts";
export type { Terms } from "./terms.ts";
export { queryTimeseries, type Timeseries, type TimeseriesQuery } from "./timeseries.ts";
export { planTimeseries } from "./timeseries-plan.ts";
export { queryTrace, type Trace, type TraceQuery, type TraceSpan, type TraceStore } from "./trace.ts";
export { isUnlabelled } from "./unlabelled.ts";
export { queryValues, type ValueList, type ValueQuery, type ValueStore } from "./value-list.ts";

/** The tree of a structured query; an empty one is all logs. Throws a QueryError. */
export function parseQuery(text: string): Expression {
  return parseExpression(readSource(text));
}

/** The tree of a query as the search for logs reads it: structured, or search terms. Throws a QueryError. */
export function parseLogsQuery(text: string): Expression | Terms {
  return parseLogs(readSource(text)).tree;
}

/** The text of a tree, which reads back as the same tree. */
export function printQuery(tree: Expression | Terms): string {
  return tree.kind === "terms" ? printTerms(tree) : printExpression(tree);
}

/** The query layer's public face: svcQL text in, plans and rows out. */

import { parseLogsQuery as parseLogs } from "./parse/logs-query.ts";
import { parseExpression } from "./parse/parser.ts";
import { readSource } from "./text/source.ts";
import { type Expression, printExpression } from "./tree/expression.ts";
import { printTerms, type Terms } from "./tree/search-terms.ts";

export { type FieldList, type FieldQuery, type FieldStore, queryFields } from "./listing/fields.ts";
export {
  type HistogramQuery,
  type HistogramStore,
  queryHistogram,
  type RowHistogram,
} from "./listing/histogram.ts";
export {
  type ListedSeries,
  type MetricStore,
  queryLabels,
  queryLabelValues,
  type SeriesList,
  type SeriesQuery,
} from "./listing/metric-labels.ts";
export {
  type Pattern,
  type PatternQuery,
  type PatternStore,
  type Patterns,
  queryPatterns,
} from "./listing/patterns.ts";
export { queryValues, type ValueList, type ValueQuery, type ValueStore } from "./listing/values.ts";
export { type QueryKind, queryKind } from "./parse/query-kind.ts";
export { type Explained, explainText } from "./plan/explanation.ts";
export { fieldOf } from "./plan/field.ts";
export type { RowScan, SampleScan, Scan, ScanLabel, ScanRead } from "./plan/scan.ts";
export { type PlanOptions, planLogs, planRows, type RowsPlan } from "./plan/search-plan.ts";
export { isUnlabelled, type SeriesPlan, type TimeseriesPlan } from "./plan/series-plan.ts";
export { planTimeseries } from "./plan/timeseries-plan.ts";
export {
  type LogsFound,
  type RowsSearch,
  type RowsStore,
  type SpansFound,
  searchLogs,
  searchSpans,
} from "./search/search.ts";
export { type Span, spanOf } from "./search/span.ts";
export { queryTrace, type Trace, type TraceQuery, type TraceSpan, type TraceStore } from "./search/trace.ts";
export type { SeriesStore } from "./series/scan-reader.ts";
export type { Series, SeriesColumns } from "./series/series-columns.ts";
export { queryTimeseries, type Timeseries, type TimeseriesQuery } from "./series/timeseries.ts";
export { QueryError } from "./text/query-error.ts";
export type { Expression } from "./tree/expression.ts";
export type { Terms } from "./tree/search-terms.ts";
export { planWarnings } from "./warning/unknown-names.ts";

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

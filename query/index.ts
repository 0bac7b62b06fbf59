/** The public face of the query layer: svcQL text in; trees, plans and answers out. */

import { parseLogsQuery as parseLogs } from "./parse/logs-query.ts";
import { parseExpression } from "./parse/parser.ts";
import { readSource } from "./text/source.ts";
import { type Expression, printExpression } from "./tree/expression.ts";
import { printSearchTerms, type SearchTerms } from "./tree/search-terms.ts";

export {
  type ComparedField,
  type ComparedPattern,
  type Comparison,
  type ComparisonQuery,
  type ComparisonStore,
  queryComparison,
} from "./comparison/comparison.ts";
export { completeQuery, type QueryCompletion, type WantedNames } from "./editing/completion.ts";
export {
  editQuery,
  type FieldEdit,
  type FilterAction,
  filtersOf,
  type StandingFilter,
  type TextEdit,
} from "./editing/filter-edit.ts";
export { highlightQuery, type PieceKind, type QueryPiece } from "./editing/highlight.ts";
export { findMistake, type QueryMistake } from "./editing/mistake.ts";
export type { Explanation } from "./explanation/explanation.ts";
export { printExplanation } from "./explanation/explanation-text.ts";
export { readFoundTraces } from "./graph/found-traces.ts";
export {
  type MappedEdge,
  type MappedService,
  queryServiceMap,
  type ServiceKind,
  type ServiceMap,
  type ServiceMapQuery,
  type ServiceMapStore,
} from "./graph/service-map.ts";
export {
  joinSpans,
  readSpans,
  type SpanColumns,
  type SpanGraph,
  type SpanGraphStore,
  type TextColumn,
} from "./graph/span-graph.ts";
export type { HashColumn } from "./graph/span-table.ts";
export {
  type DurationHistogram,
  type DurationQuery,
  type DurationStore,
  queryDurations,
} from "./listing/durations.ts";
export { type FieldList, type FieldQuery, type FieldStore, queryFields } from "./listing/fields.ts";
export {
  type HistogramQuery,
  type HistogramStore,
  queryHistogram,
  type RowHistogram,
} from "./listing/histogram.ts";
export {
  type ListedLabel,
  type MetricLabelList,
  type MetricLabelQuery,
  type MetricStore,
  queryLabels,
  queryLabelValues,
} from "./listing/metric-labels.ts";
export {
  type Pattern,
  type PatternList,
  type PatternQuery,
  type PatternStore,
  queryPatterns,
} from "./listing/patterns.ts";
export { queryValues, type ValueList, type ValueQuery, type ValueStore } from "./listing/values.ts";
export { detectQueryKind, type QueryKind } from "./parse/query-kind.ts";
export { makeEqualsFilter } from "./plan/equality.ts";
export { fieldOf } from "./plan/field.ts";
export { isOrderedStep, type PlanStep, type RowReach, reachOf } from "./plan/ordered/ordered-step.ts";
export type { RowScan, SampleScan, Scan, ScanLabel, ScanRead } from "./plan/scan.ts";
export { type PlanOptions, planLogs, planSearch, type SearchPlan } from "./plan/search-plan.ts";
export { type Constant, isUnlabelled, type SeriesPlan, type TimeseriesPlan } from "./plan/series-plan.ts";
export { planTimeseries } from "./plan/timeseries-plan.ts";
export { type AroundQuery, queryAround, type Surroundings } from "./search/around.ts";
export { writeRowId } from "./search/cursor.ts";
export {
  type LogSearchResult,
  type SearchQuery,
  type SearchStore,
  type SpanSearchResult,
  searchBodies,
  searchLogs,
  searchSpans,
} from "./search/search.ts";
export { type Span, toSpan } from "./search/span.ts";
export { queryTrace, type Trace, type TraceQuery, type TraceSpan, type TraceStore } from "./search/trace.ts";
export type { SeriesStore } from "./series/scan-reader.ts";
export type { Series, SeriesColumns } from "./series/series-columns.ts";
export { queryTimeseries, type Timeseries, type TimeseriesQuery } from "./series/timeseries.ts";
export { type BodySignal, bodySignals } from "./text/keywords.ts";
export { QueryError } from "./text/query-error.ts";
export { WorkDeadline } from "./time/deadline.ts";
export type { Expression } from "./tree/expression.ts";
export type { SearchTerms } from "./tree/search-terms.ts";
export { type WarmUpStore, warmUp } from "./warm-up.ts";
export { collectPlanWarnings } from "./warning/unknown-names.ts";

/** The syntax tree of a structured query. An empty text selects all logs. Throws a QueryError. */
export function parseQuery(text: string): Expression {
  return parseExpression(readSource(text));
}

/** The syntax tree of a search for logs: a structured query, or search terms. Throws a QueryError. */
export function parseLogsQuery(text: string): Expression | SearchTerms {
  return parseLogs(readSource(text)).tree;
}

/** The text of a syntax tree, which parses to an equal tree. */
export function printQuery(tree: Expression | SearchTerms): string {
  return tree.kind === "terms" ? printSearchTerms(tree) : printExpression(tree);
}

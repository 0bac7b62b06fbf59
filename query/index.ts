/** The query layer's public face: svcQL text in, plans and rows out. */

import { type Expression, printExpression } from "./expression.ts";
import { parseLogsQuery as parseLogs } from "./logs-query.ts";
import { parseExpression, readSource } from "./parse.ts";
import { printTerms, type Terms } from "./terms.ts";

export { type Explained, explainText } from "./explain.ts";
export type { Expression } from "./expression.ts";
export {
  type Pattern,
  type PatternQuery,
  type PatternStore,
  type Patterns,
  queryPatterns,
} from "./patterns.ts";
export { type LogsPlan, type PlanOptions, planLogs } from "./plan.ts";
export { QueryError } from "./query-error.ts";
export { asksForSeries } from "./query-kind.ts";
export type { ScanRead, SeriesStore } from "./reading.ts";
export type { RowScan, SampleScan, Scan, ScanLabel } from "./scan-plan.ts";
export { type LogsFound, type LogsSearch, type LogsStore, searchLogs } from "./search.ts";
export type { SeriesPlan, TimeseriesPlan } from "./series-plan.ts";
export type { Terms } from "./terms.ts";
export {
  queryTimeseries,
  type Series,
  type Timeseries,
  type TimeseriesQuery,
} from "./timeseries.ts";
export { planTimeseries } from "./timeseries-plan.ts";
export { isUnlabelled } from "./unlabelled.ts";

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

import type { RowSignal } from "../../engine/index.ts";

/** Aggregations over rows or series. */
export const aggregations = [
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "stddev",
  "quantile",
  "count_distinct",
  "topk",
  "bottomk",
  "histogram_quantile",
  "trace_duration_quantile",
] as const;

/** Functions of a counter or of rows over time. */
export const rateFunctions = ["rate", "increase"] as const;

/** What may stand behind `|` besides a label filter. */
export const stageKeywords = ["json", "logfmt", "pattern", "regexp"] as const;

/** Words between and behind series. */
export const seriesKeywords = [
  "by",
  "without",
  "on",
  "ignoring",
  "bool",
  "and",
  "or",
  "unless",
  "default",
] as const;

/** Names that select rows of a signal; every other name is a metric. */
export const rowSignals = [
  "logs",
  "traces",
  "kubernetes_resources",
  "profiles",
] as const satisfies readonly RowSignal[];

/** Words that are no labels unless quoted, between series and in label filters. */
export const reservedKeywords: ReadonlySet<string> = new Set<string>([...stageKeywords, ...seriesKeywords]);

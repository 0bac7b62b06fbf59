import type { RowSignal } from "../../engine/index.ts";

/** Names of the aggregations, over rows or series. */
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

/**
 * Names of the functions over a window of time: the increase of a counter, the number of rows, or what the samples of a
 * series have in common, or how they develop.
 */
export const rangeFunctions = [
  "rate",
  "increase",
  "count_over_time",
  "avg_over_time",
  "min_over_time",
  "max_over_time",
  "sum_over_time",
  "stddev_over_time",
  "quantile_over_time",
  "last_over_time",
  "changes",
  "delta",
  "deriv",
  "predict_linear",
] as const;

/** Names of the functions of series: of each point, of labels, of the order, and of points that are not there. */
export const seriesFunctions = [
  "abs",
  "ceil",
  "floor",
  "round",
  "clamp",
  "clamp_min",
  "clamp_max",
  "label_replace",
  "sort",
  "sort_desc",
  "absent",
] as const;

/** Every name that may stand before `(`. */
export const functionNames = [...aggregations, ...rangeFunctions, ...seriesFunctions, "json_path"] as const;

/** Stages that begin with a word after `|`. Any other text after `|` is a label filter. */
export const stageKeywords = ["json", "logfmt", "pattern", "regexp", "line_format", "label_format"] as const;

/** Names of what `| label = name(…)` may assign to the rows of a group. */
export const rowFunctions = [
  "lag",
  "lead",
  "first",
  "last",
  "since_previous",
  "until_next",
  "since_first",
  "row_number",
] as const;

/** Words that begin stages over the rows of a group before `by` or `(`. Elsewhere they are labels. */
export const orderedStageWords = ["first", "last", "sequence", "join"] as const;

/** Words between series (operators) and after them (groupings). */
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

/** Names that select the rows of a signal. Every other name selects a metric. */
export const rowSignals = [
  "logs",
  "traces",
  "kubernetes_resources",
  "profiles",
] as const satisfies readonly RowSignal[];

/** Words that must be quoted to be labels, in expressions and label filters. */
export const reservedKeywords: ReadonlySet<string> = new Set<string>([...stageKeywords, ...seriesKeywords]);

/** Signals whose rows are a body and attributes. */
export const bodySignals = ["profiles", "kubernetes_resources"] as const;
/** One of them. */
export type BodySignal = (typeof bodySignals)[number];

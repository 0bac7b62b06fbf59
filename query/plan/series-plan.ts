import type { Signal } from "../../engine/index.ts";
import type { TextSpan } from "../text/query-error.ts";
import type { BinaryOperator } from "../tree/expression.ts";
import type { Scan, ScanSeries } from "./scan.ts";

/** The plan of a timeseries query, as plain data. */
export interface TimeseriesPlan {
  /** What is read from the store. */
  scans: Scan[];
  /** How the series are calculated from the scans. It refers to a scan by its index in `scans`. */
  series: SeriesPlan;
  /** The metrics of the query, and the labels that it reads and that none of its stages extracts. */
  names: ExpectedName[];
  /** Sentences for people, about parts of the query that the person may have meant differently. */
  warnings: string[];
}

/**
 * A name that a query expects the store to have: a metric, a label of a metric, or a label of rows of another signal.
 */
export interface ExpectedName {
  signal: Signal;
  metric?: string;
  label?: string;
}

/** How series are made: a node of the plan's tree, whose leaves are scans. */
export type SeriesPlan =
  | ScanSeries
  | WindowedSeries
  | TopSeries
  | FoldedSeries
  | HistogramQuantile
  | Calculation
  | NegatedSeries
  | MappedSeries
  | RelabelledSeries
  | SortedSeries
  | AbsentSeries;

/** What is calculated of all samples that one series has in a window. */
export type WindowFunction =
  | { op: "avg" | "min" | "max" | "sum" | "count" | "stddev" | "last" | "changes" | "delta" | "deriv" }
  /** The value that the straight line through the samples has so long after the end of the window. */
  | { op: "predict"; seconds: number };

/** The series of a metric, each with one number for the window of each bucket. The scan reads statistics. */
export interface WindowedSeries {
  kind: "window";
  /** Index of the scan in the plan. */
  scan: number;
  fn: WindowFunction;
}

/** The labels that series keep: with `by` only the labels of the list, with `without` all others. */
export interface KeptLabels {
  kind: "by" | "without";
  labels: string[];
}

/** `topk` and `bottomk`: the `count` series with the greatest or the least sum of their points. */
export interface TopSeries {
  kind: "top";
  op: "topk" | "bottomk";
  count: number;
  /** Series are ranked among the series with equal values of these labels. */
  among: KeptLabels;
  of: SeriesPlan;
}

/** How several numbers become one. */
export type NumberFold =
  | { op: "count" | "sum" | "avg" | "min" | "max" | "stddev" }
  | { op: "quantile"; q: number };

/** How several points become one. The points are those that the series of a group have in one bucket. */
export type Fold =
  | NumberFold
  /** The number of distinct values of a label. */
  | { op: "distinct"; label: string };

/** An aggregation over series. It makes one series of all series whose kept labels are equal. */
export interface FoldedSeries {
  kind: "fold";
  fold: Fold;
  keep: KeptLabels;
  of: SeriesPlan;
}

/** A quantile of each histogram. The buckets of a histogram are series that differ only in `le`. */
export interface HistogramQuantile {
  kind: "histogramQuantile";
  q: number;
  of: SeriesPlan;
}

/** A number as an operand. */
export interface Constant {
  kind: "number";
  value: number;
}

/** A binary operator on the points of two operands. At most one of them is a number. */
export interface Calculation {
  kind: "calculation";
  op: BinaryOperator;
  bool: boolean;
  matching: { kind: "on" | "ignoring"; labels: string[] } | null;
  left: SeriesPlan | Constant;
  right: SeriesPlan | Constant;
  /** True where the left operand gives at most one series, and that series has no labels. */
  isLeftUnlabelled: boolean;
  /** Span of the operator in the query. */
  at: TextSpan;
}

interface NegatedSeries {
  kind: "negation";
  of: SeriesPlan;
}

/** A function of one number. */
export type PointFunction =
  | { op: "abs" | "ceil" | "floor" }
  /** To the nearest multiple of `to`; of two that are as near, to the greater. */
  | { op: "round"; to: number }
  /** Absent bounds do not bound. */
  | { op: "clamp"; min?: number; max?: number };

/** A function of each point. */
export interface MappedSeries {
  kind: "map";
  fn: PointFunction;
  of: SeriesPlan;
}

/** A part of the text that `label_replace` gives to a label: characters, or what a group of the pattern matched. */
export type ReplacementPart = string | { group: number };

/** `label_replace`: sets `label` of the series whose label `source` matches the pattern from its beginning to its end. */
export interface RelabelledSeries {
  kind: "relabel";
  label: string;
  replacement: ReplacementPart[];
  source: string;
  pattern: string;
  of: SeriesPlan;
  /** Span of the function in the query. */
  at: TextSpan;
}

/** `sort` and `sort_desc`: series in the order of the sums of their points. */
export interface SortedSeries {
  kind: "sort";
  isDescending: boolean;
  of: SeriesPlan;
}

/** `absent`: one series, with the point 1 in each bucket in which no series has a point. */
export interface AbsentSeries {
  kind: "absent";
  labels: [name: string, text: string][];
  of: SeriesPlan;
}

/** Returns whether a plan gives at most one series, which has no labels. `scans` are the scans of the plan. */
export function isUnlabelled(plan: SeriesPlan | Constant, scans: readonly Scan[]): boolean {
  switch (plan.kind) {
    case "number":
      return true;
    case "scan": {
      const { groupBy } = scans[plan.scan]!;
      return Array.isArray(groupBy) && groupBy.length === 0;
    }
    case "fold":
      return plan.keep.kind === "by" && plan.keep.labels.length === 0;
    case "histogramQuantile":
      return hasOnlyBoundLabel(plan.of, scans);
    case "absent":
      return plan.labels.length === 0;
    case "window":
    case "relabel":
      return false;
    case "top":
    case "sort":
    case "map":
    case "negation":
      return isUnlabelled(plan.of, scans);
    case "calculation":
      return isUnlabelled(plan.left, scans) && isUnlabelled(plan.right, scans);
  }
}

/** Returns whether all series of a plan belong to one histogram: they have no label but `le`. */
function hasOnlyBoundLabel(plan: SeriesPlan, scans: readonly Scan[]): boolean {
  if (plan.kind === "fold")
    return plan.keep.kind === "by" && plan.keep.labels.every((label) => label === "le");
  if (plan.kind !== "scan") return false;
  const { groupBy } = scans[plan.scan]!;
  return Array.isArray(groupBy) && groupBy.every(({ label }) => label === "le");
}

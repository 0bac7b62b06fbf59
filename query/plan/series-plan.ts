import type { Signal } from "../../engine/index.ts";
import type { TextSpan } from "../text/query-error.ts";
import type { BinaryOperator } from "../tree/expression.ts";
import type { Scan, ScanSeries } from "./scan.ts";

/** What a timeseries query does, as plain data. */
export interface TimeseriesPlan {
  scans: Scan[];
  series: SeriesPlan;
  /** Labels that the query reads and no stage of it extracts, and the metrics it names. */
  names: ExpectedName[];
  /** Sentences for people about what the query may not mean. */
  warnings: string[];
}

/** A name that a query expects the store to bear: a label of a signal or a metric; without a label, the metric itself. */
export interface ExpectedName {
  signal: Signal;
  metric?: string;
  label?: string;
}

/** How series come about. */
export type SeriesPlan =
  | ScanSeries
  | TopSeries
  | FoldedSeries
  | HistogramQuantile
  | Calculation
  | NegatedSeries;

/** The labels that series keep: these, or all but these. */
export interface KeptLabels {
  kind: "by" | "without";
  labels: string[];
}

/** The series with the greatest or the least sum of their points. */
export interface TopSeries {
  kind: "top";
  op: "topk" | "bottomk";
  count: number;
  /** So many of each set of series that agree in these labels. */
  among: KeptLabels;
  of: SeriesPlan;
}

/** What becomes of several numbers. */
export type NumberFold =
  | { op: "count" | "sum" | "avg" | "min" | "max" | "stddev" }
  | { op: "quantile"; q: number };

/** What becomes of the points that series of one group have in one bucket. */
export type Fold =
  | NumberFold
  /** How many different texts a label has. */
  | { op: "distinct"; label: string };

/** One series for each different list of kept labels. */
export interface FoldedSeries {
  kind: "fold";
  fold: Fold;
  keep: KeptLabels;
  of: SeriesPlan;
}

/** A quantile of each histogram, whose buckets are series that differ in `le` alone. */
export interface HistogramQuantile {
  kind: "histogramQuantile";
  q: number;
  of: SeriesPlan;
}

/** A number in place of series. */
export interface Constant {
  kind: "number";
  value: number;
}

/** Two sides point by point; at most one of them is a number. */
export interface Calculation {
  kind: "calculation";
  op: BinaryOperator;
  bool: boolean;
  matching: { kind: "on" | "ignoring"; labels: string[] } | null;
  left: SeriesPlan | Constant;
  right: SeriesPlan | Constant;
  /** The left side has one series without labels, if it has any. */
  isLeftUnlabelled: boolean;
  /** Where the operator stands in the query. */
  at: TextSpan;
}

interface NegatedSeries {
  kind: "negation";
  of: SeriesPlan;
}

/** Whether a plan gives one series without labels, or none. */
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
      return keepsOnlyBoundLabel(plan.of, scans);
    case "top":
    case "negation":
      return isUnlabelled(plan.of, scans);
    case "calculation":
      return isUnlabelled(plan.left, scans) && isUnlabelled(plan.right, scans);
  }
}

function keepsOnlyBoundLabel(plan: SeriesPlan, scans: readonly Scan[]): boolean {
  if (plan.kind === "fold")
    return plan.keep.kind === "by" && plan.keep.labels.every((label) => label === "le");
  if (plan.kind !== "scan") return false;
  const { groupBy } = scans[plan.scan]!;
  return Array.isArray(groupBy) && groupBy.every(({ label }) => label === "le");
}

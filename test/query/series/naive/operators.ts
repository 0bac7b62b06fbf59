/** Binary operators on two lists of series. */
import type { Expression } from "../../../../query/index.ts";
import { dropEmptySeries, labelKeyOf, type NaiveTimeseries, parseLabelKey, RefusedError } from "./data.ts";
import { charactersOf } from "./rows.ts";

export type OperationNode = Extract<Expression, { kind: "operation" }>;

/** Returns whether a comparison is true; undefined for other operators. */
export function compare(op: OperationNode["op"], a: number, b: number): boolean | undefined {
  switch (op) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    default:
      return undefined;
  }
}

/** The labels of a series that must be equal to match another. */
function matchedLabelsOf({ matching }: OperationNode, { labels }: NaiveTimeseries): Record<string, string> {
  if (matching === null) return labels;
  const names = new Set(matching.labels.map(({ name }) => charactersOf(name)));
  return Object.fromEntries(
    Object.entries(labels).filter(([name]) => names.has(name) === (matching.kind === "on")),
  );
}

const isSingleUnlabelled = (side: readonly NaiveTimeseries[]) =>
  side.length === 1 && labelKeyOf(side[0]!.labels) === "[]";

/** Two series that match: the labels of the result, and the buckets in which both have a point. */
interface Pair {
  labels: NaiveTimeseries["labels"];
  left: Map<number, number>;
  right: Map<number, number> | undefined;
  points: [ms: number, left: number, right: number][];
}

function makePair(
  labels: NaiveTimeseries["labels"],
  left: NaiveTimeseries,
  right: NaiveTimeseries | undefined,
): Pair {
  const points = [...left.points].flatMap(([ms, a]): Pair["points"] => {
    const b = right?.points.get(ms);
    return b === undefined ? [] : [[ms, a, b]];
  });
  return { labels, left: left.points, right: right?.points, points };
}

/**
 * Pairs of matching series, one to one. `loose` keeps all series of the left with their labels, also those without a
 * match.
 */
export function matchSeries(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
  keep: "pairs" | "loose" = "pairs",
): Pair[] {
  if (keep === "pairs") {
    if (isSingleUnlabelled(right)) return left.map((each) => makePair(each.labels, each, right[0]!));
    if (isSingleUnlabelled(left)) return right.map((each) => makePair(each.labels, left[0]!, each));
  }
  const others = groupByMatchedLabels(node, right);
  return [...groupByMatchedLabels(node, left)].flatMap(([key, leftSeries]) => {
    const [other, ...more] = others.get(key) ?? [];
    if (keep === "loose") return leftSeries.map((each) => makePair(each.labels, each, other));
    if (other === undefined) return [];
    if (leftSeries.length > 1 || more.length > 0) throw new RefusedError("many to many");
    return [makePair(parseLabelKey(key), leftSeries[0]!, other)];
  });
}

/** Groups the series of an operand by the labels that must be equal. */
function groupByMatchedLabels(
  node: OperationNode,
  side: readonly NaiveTimeseries[],
): Map<string, NaiveTimeseries[]> {
  return Map.groupBy(side, (series) => labelKeyOf(matchedLabelsOf(node, series)));
}

/** Applies `and`, `or` or `unless` bucket by bucket, or with `whole` to series that match, whatever their buckets. */
export function applySetOperator(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
  by: "bucket" | "whole" = "bucket",
): NaiveTimeseries[] {
  const isThere = (side: readonly NaiveTimeseries[], like: NaiveTimeseries, ms: number) => {
    const key = labelKeyOf(matchedLabelsOf(node, like));
    return side.some((series) => {
      return labelKeyOf(matchedLabelsOf(node, series)) === key && (by === "whole" || series.points.has(ms));
    });
  };
  const keepPoints = (side: readonly NaiveTimeseries[], other: readonly NaiveTimeseries[], isKept: boolean) =>
    side.map((series) => ({
      labels: series.labels,
      points: new Map([...series.points].filter(([ms]) => isThere(other, series, ms) === isKept)),
    }));
  if (node.op === "or") return dropEmptySeries(mergeSeries([...left, ...keepPoints(right, left, false)]));
  return dropEmptySeries(keepPoints(left, right, node.op === "and"));
}

/** Merges series with equal labels. They never have a bucket in common here. */
function mergeSeries(all: readonly NaiveTimeseries[]): NaiveTimeseries[] {
  const groups = Map.groupBy(all, ({ labels }) => labelKeyOf(labels));
  return [...groups.values()].map((same) => ({
    labels: same[0]!.labels,
    points: new Map(same.flatMap(({ points }) => [...points])),
  }));
}

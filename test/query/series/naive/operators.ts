/** Operators between two lists of series. */
import type { Expression } from "../../../../query/index.ts";
import { labelsKey, labelsOf, type NaiveTimeseries, RefusedError, withPoints } from "./data.ts";
import { characters } from "./rows.ts";

export type OperationNode = Extract<Expression, { kind: "operation" }>;

/** Whether a comparison holds; undefined for what is no comparison. */
export function compared(op: OperationNode["op"], a: number, b: number): boolean | undefined {
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

/** The labels on which a series matches. */
function matchLabels({ matching }: OperationNode, { labels }: NaiveTimeseries): Record<string, string> {
  if (matching === null) return labels;
  const names = new Set(matching.labels.map(({ name }) => characters(name)));
  return Object.fromEntries(
    Object.entries(labels).filter(([name]) => names.has(name) === (matching.kind === "on")),
  );
}

const isWithoutLabels = (side: readonly NaiveTimeseries[]) =>
  side.length === 1 && labelsKey(side[0]!.labels) === "[]";

/** Two series that go together: their labels, and buckets where both have a point. */
interface Pair {
  labels: NaiveTimeseries["labels"];
  left: Map<number, number>;
  right: Map<number, number> | undefined;
  points: [ms: number, left: number, right: number][];
}

function pair(
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

/** One to one where both sides have series that match; `loose` keeps all series of the left, and their labels. */
export function matched(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
  keep: "pairs" | "loose" = "pairs",
): Pair[] {
  if (keep === "pairs") {
    if (isWithoutLabels(right)) return left.map((each) => pair(each.labels, each, right[0]!));
    if (isWithoutLabels(left)) return right.map((each) => pair(each.labels, left[0]!, each));
  }
  const others = byMatch(node, right);
  return [...byMatch(node, left)].flatMap(([key, own]) => {
    const [other, ...more] = others.get(key) ?? [];
    if (keep === "loose") return own.map((each) => pair(each.labels, each, other));
    if (other === undefined) return [];
    if (own.length > 1 || more.length > 0) throw new RefusedError("many to many");
    return [pair(labelsOf(key), own[0]!, other)];
  });
}

/** The series of a side by the labels on which they match. */
function byMatch(node: OperationNode, side: readonly NaiveTimeseries[]): Map<string, NaiveTimeseries[]> {
  return Map.groupBy(side, (series) => labelsKey(matchLabels(node, series)));
}

/** `and`, `or` and `unless`, bucket by bucket; `whole` asks whether series match at all, whatever buckets they have. */
export function setOperated(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
  by: "bucket" | "whole" = "bucket",
): NaiveTimeseries[] {
  const isThere = (side: readonly NaiveTimeseries[], like: NaiveTimeseries, ms: number) => {
    const key = labelsKey(matchLabels(node, like));
    return side.some((series) => {
      return labelsKey(matchLabels(node, series)) === key && (by === "whole" || series.points.has(ms));
    });
  };
  const kept = (side: readonly NaiveTimeseries[], other: readonly NaiveTimeseries[], wanted: boolean) =>
    side.map((series) => ({
      labels: series.labels,
      points: new Map([...series.points].filter(([ms]) => isThere(other, series, ms) === wanted)),
    }));
  if (node.op === "or") return withPoints(united([...left, ...kept(right, left, false)]));
  return withPoints(kept(left, right, node.op === "and"));
}

/** Series of equal labels, which never share a bucket here, as one. */
function united(all: readonly NaiveTimeseries[]): NaiveTimeseries[] {
  const groups = Map.groupBy(all, ({ labels }) => labelsKey(labels));
  return [...groups.values()].map((same) => ({
    labels: same[0]!.labels,
    points: new Map(same.flatMap(({ points }) => [...points])),
  }));
}

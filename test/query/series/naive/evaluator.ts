/**
 * Timeseries queries evaluated over plain arrays, read off their tree: slow, short, and independent of planning, so that what the
 * query layer answers can be checked against it.
 */
import { type Expression, parseQuery, QueryError } from "../../../../query/index.ts";
import { type AggregateNode, aggregate, isNear, type NaiveInput } from "./aggregates.ts";
import {
  type BucketedRange,
  bucketsOf,
  type ErrorKind,
  type NaiveTimeseries,
  RefusedError,
  type TelemetryData,
  withPoints,
} from "./data.ts";
import { compared, matched, type OperationNode, setOperated } from "./operators.ts";

export interface NaiveAnswer {
  /** In no order but for topk and bottomk at the top of the query, which rank them. */
  series: { labels: Record<string, string>; points: [ms: number, value: number][] }[];
  /** Whether the last digits of a number decided on something, so that another order of summing may answer otherwise. */
  isFragile: boolean;
}

/** What a query gives, or why it is refused. */
export function evaluate(
  query: string,
  data: TelemetryData,
  range: BucketedRange,
): NaiveAnswer | { error: ErrorKind } {
  let isFragile = false;
  const fragile = () => {
    isFragile = true;
  };
  try {
    const value = evaluated(parseQuery(query), { data, range, fragile });
    if (typeof value === "number") throw new RefusedError("only a number");
    return { series: answered(value), isFragile };
  } catch (error) {
    if (error instanceof RefusedError) return { error: error.kind };
    if (error instanceof QueryError) return { error: "syntax" };
    throw error;
  }
}

function answered(all: readonly NaiveTimeseries[]): NaiveAnswer["series"] {
  return all.flatMap(({ labels, points }) => {
    const finite = [...points].filter(([, value]) => Number.isFinite(value)).sort(([a], [b]) => a - b);
    return finite.length === 0 ? [] : [{ labels: { ...labels }, points: finite }];
  });
}

type Value = number | NaiveTimeseries[];

function evaluated(node: Expression, world: NaiveInput): Value {
  switch (node.kind) {
    case "number":
      return Number(node.text);
    case "variable":
      throw new RefusedError("variable");
    case "aggregate":
      return aggregate(node, world);
    case "negation":
      return negated(evaluated(node.of, world));
    case "operation":
      return operated(node, evaluated(node.left, world), evaluated(node.right, world), world);
    default:
      throw new RefusedError("no aggregation");
  }
}

function negated(value: Value): Value {
  return typeof value === "number" ? -value : mapped(value, (point) => -point);
}

/** `undefined` leaves a point out. */
function mapped(
  all: readonly NaiveTimeseries[],
  of: (point: number) => number | undefined,
): NaiveTimeseries[] {
  const points = (series: NaiveTimeseries) =>
    [...series.points].flatMap(([ms, point]): [number, number][] => {
      const value = of(point);
      return value === undefined ? [] : [[ms, value]];
    });
  return withPoints(all.map((series) => ({ labels: series.labels, points: new Map(points(series)) })));
}

function operated(node: OperationNode, left: Value, right: Value, world: NaiveInput): Value {
  if (node.op === "default") return filled(node, left, right, world);
  if (node.op === "and" || node.op === "or" || node.op === "unless") {
    if (typeof left === "number" || typeof right === "number") throw new RefusedError("needs series");
    return setOperated(node, left, right);
  }
  const isExact = !/quantile|avg|stddev|"op":"rate"/.test(JSON.stringify(node));
  const combine = (a: number, b: number) => combined(node, a, b, isExact, world);
  if (typeof left === "number" && typeof right === "number") {
    if (compared(node.op, 0, 0) !== undefined && !node.bool) throw new RefusedError("needs bool");
    return combine(left, right) ?? Number.NaN;
  }
  if (typeof left === "number") {
    // A comparison keeps the value of the series.
    const isFilter = compared(node.op, 0, 0) !== undefined && !node.bool;
    return mapped(right as NaiveTimeseries[], (b) => {
      const kept = combine(left, b);
      return isFilter && kept !== undefined ? b : kept;
    });
  }
  if (typeof right === "number") return mapped(left, (a) => combine(a, right));
  return matched(node, left, right)
    .map(({ labels, points }) => ({
      labels,
      points: new Map(
        points.flatMap(([ms, a, b]): [number, number][] => {
          const value = combine(a, b);
          return value === undefined ? [] : [[ms, value]];
        }),
      ),
    }))
    .filter(({ points }) => points.size > 0);
}

/** Two points under an arithmetic operator or a comparison; undefined is a missing point. */
function combined(
  node: OperationNode,
  a: number,
  b: number,
  isExact: boolean,
  world: NaiveInput,
): number | undefined {
  const isSure = isExact && Number.isInteger(a) && Number.isInteger(b);
  const isTrue = compared(node.op, a, b);
  if (isTrue !== undefined) {
    if (!isSure && isNear(a, b)) world.fragile();
    if (node.bool) return isTrue ? 1 : 0;
    return isTrue ? a : undefined;
  }
  switch (node.op) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "^":
      return a ** b;
    default:
      if (!isSure && (node.op === "%" || Math.abs(b) < 1e-6)) world.fragile();
      if (b === 0) return undefined;
      return node.op === "/" ? a / b : a % b;
  }
}

function filled(node: OperationNode, left: Value, right: Value, world: NaiveInput): Value {
  if (typeof left === "number") throw new RefusedError("needs series");
  if (typeof right !== "number") return filledBySeries(node, left, right);
  const isOne = left.length === 0 && isUngrouped(node.left);
  const series = isOne ? [{ labels: {}, points: new Map<number, number>() }] : left;
  const buckets = bucketsOf(world.range);
  return series.map(({ labels, points }) => ({
    labels,
    points: new Map(buckets.map((ms) => [ms, points.get(ms) ?? right])),
  }));
}

function filledBySeries(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
): NaiveTimeseries[] {
  const [only, ...more] = right;
  const isForAll = more.length === 0 && only !== undefined && Object.keys(only.labels).length === 0;
  if (isForAll && left.length > 0)
    return left.map(({ labels, points }) => ({ labels, points: new Map([...only.points, ...points]) }));
  const pairs = matched(node, left, right, "loose");
  const rest = setOperated({ ...node, op: "unless" }, right, left, "whole");
  return [
    ...pairs.map(({ labels, left: own, right: other }) => ({
      labels,
      points: new Map([...(other ?? []), ...own]),
    })),
    ...rest,
  ];
}

/** Whether an expression gives one series without labels, whatever there is. */
function isUngrouped(node: Expression): boolean {
  switch (node.kind) {
    case "number":
      return true;
    case "negation":
      return isUngrouped(node.of);
    case "operation":
      return isUngrouped(node.left) && isUngrouped(node.right);
    case "aggregate":
      return isUngroupedAggregate(node);
    default:
      return false;
  }
}

function isUngroupedAggregate(node: AggregateNode): boolean {
  if (node.op === "topk" || node.op === "bottomk") return isUngrouped(node.of);
  // The bounds of a histogram's buckets are no label of its quantile.
  const grouping = node.grouping ?? (node.of.kind === "aggregate" ? node.of.grouping : null);
  if (node.op === "histogram_quantile" && grouping !== null) {
    const names = grouping.labels.map(({ name }) => JSON.stringify(name.parts));
    return grouping.kind === "by" && names.every((name) => name.includes('"text":"le"'));
  }
  return node.grouping === null || (node.grouping.kind === "by" && node.grouping.labels.length === 0);
}

/**
 * Evaluates timeseries queries over plain arrays from their syntax tree. It shares no code with planning and evaluation
 * in the query layer, so that these can be checked against it.
 */
import { type Expression, parseQuery, QueryError } from "../../../../query/index.ts";
import {
  type AggregateNode,
  evaluateAggregate,
  evaluateEachSeries,
  isNear,
  type NaiveInput,
} from "./aggregates.ts";
import {
  type BucketedRange,
  bucketsOf,
  dropEmptySeries,
  type ErrorKind,
  type NaiveTimeseries,
  RefusedError,
  type TelemetryData,
} from "./data.ts";
import { equalLabels, evaluateFunction, type FunctionNode } from "./functions.ts";
import { applySetOperator, compare, matchSeries, type OperationNode } from "./operators.ts";

export interface NaiveAnswer {
  /** Unordered, except that a topk or bottomk that is the whole query orders them by rank. */
  series: { labels: Record<string, string>; points: [ms: number, value: number][] }[];
  /** True where rounding decided on something, so that adding in another order may give another answer. */
  isFragile: boolean;
}

/** Evaluates a query; or returns the reason why it is refused. */
export function evaluate(
  query: string,
  data: TelemetryData,
  range: BucketedRange,
): NaiveAnswer | { error: ErrorKind } {
  let isFragile = false;
  const markFragile = () => {
    isFragile = true;
  };
  try {
    const world: NaiveInput = {
      ...{ data, range, markFragile },
      evaluateNumber: (node) => {
        const number = evaluateNode(node, world, true);
        if (typeof number !== "number") throw new RefusedError("needs a number");
        return number;
      },
    };
    const value = evaluateNode(parseQuery(query), world);
    if (typeof value === "number") throw new RefusedError("only a number");
    return { series: toAnswer(value), isFragile };
  } catch (error) {
    if (error instanceof RefusedError) return { error: error.kind };
    if (error instanceof QueryError) return { error: "syntax" };
    throw error;
  }
}

function toAnswer(all: readonly NaiveTimeseries[]): NaiveAnswer["series"] {
  return all.flatMap(({ labels, points }) => {
    const finite = [...points].filter(([, value]) => Number.isFinite(value)).sort(([a], [b]) => a - b);
    return finite.length === 0 ? [] : [{ labels: { ...labels }, points: finite }];
  });
}

type Value = number | NaiveTimeseries[];

/** `isAggregated`: the expression stands within an aggregation. */
function evaluateNode(node: Expression, world: NaiveInput, isAggregated = false): Value {
  switch (node.kind) {
    case "number":
      return Number(node.text);
    case "variable":
      throw new RefusedError("variable");
    case "aggregate":
      return evaluateAggregate(node, world, (inner) => {
        const value = evaluateNode(inner, world, true);
        if (typeof value === "number") throw new RefusedError("only a number");
        return value;
      });
    case "function": {
      const { range, markFragile } = world;
      const evaluateArgument = (arg: Expression, isWhole: boolean) => evaluateNode(arg, world, isWhole);
      return evaluateFunction(node, { range, markFragile, evaluate: evaluateArgument }, isAggregated);
    }
    case "negation":
      return negate(evaluateNode(node.of, world, isAggregated));
    case "operation": {
      const [left, right] = [node.left, node.right].map((side) => evaluateNode(side, world, isAggregated));
      return evaluateOperation(node, left!, right!, world);
    }
    case "selector":
    case "rangeFunction":
      if (isAggregated) return evaluateEachSeries(node, world);
      throw new RefusedError("no aggregation");
    default:
      throw new RefusedError("no aggregation");
  }
}

function negate(value: Value): Value {
  return typeof value === "number" ? -value : mapPoints(value, (point) => -point);
}

/** Replaces the value of each point. Points for which `of` returns undefined are left out. */
function mapPoints(
  all: readonly NaiveTimeseries[],
  of: (point: number) => number | undefined,
): NaiveTimeseries[] {
  const points = (series: NaiveTimeseries) =>
    [...series.points].flatMap(([ms, point]): [number, number][] => {
      const value = of(point);
      return value === undefined ? [] : [[ms, value]];
    });
  return dropEmptySeries(all.map((series) => ({ labels: series.labels, points: new Map(points(series)) })));
}

function evaluateOperation(node: OperationNode, left: Value, right: Value, world: NaiveInput): Value {
  if (node.op === "default") return fill(node, left, right, world);
  if (node.op === "and" || node.op === "or" || node.op === "unless") {
    if (typeof left === "number" || typeof right === "number") throw new RefusedError("needs series");
    return applySetOperator(node, left, right);
  }
  const isExact = !/quantile|avg|stddev|"op":"rate"/.test(JSON.stringify(node));
  const combine = (a: number, b: number) => {
    const value = calculate(node, a, b, isExact, world);
    return value === undefined || !Number.isFinite(value) ? undefined : value;
  };
  if (typeof left === "number" && typeof right === "number") {
    if (compare(node.op, 0, 0) !== undefined && !node.bool) throw new RefusedError("needs bool");
    return combine(left, right) ?? Number.NaN;
  }
  if (typeof left === "number") {
    // A comparison keeps the value of the series.
    const isFilter = compare(node.op, 0, 0) !== undefined && !node.bool;
    return mapPoints(right as NaiveTimeseries[], (b) => {
      const value = combine(left, b);
      return isFilter && value !== undefined ? b : value;
    });
  }
  if (typeof right === "number") return mapPoints(left, (a) => combine(a, right));
  return matchSeries(node, left, right)
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

/** Applies an arithmetic operator or a comparison to two points; undefined where the result is no point. */
function calculate(
  node: OperationNode,
  a: number,
  b: number,
  isExact: boolean,
  world: NaiveInput,
): number | undefined {
  const isSure = isExact && Number.isInteger(a) && Number.isInteger(b);
  const isTrue = compare(node.op, a, b);
  if (isTrue !== undefined) {
    if (!isSure && isNear(a, b)) world.markFragile();
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
      if (!isSure && (node.op === "%" || Math.abs(b) < 1e-6)) world.markFragile();
      if (b === 0) return undefined;
      return node.op === "/" ? a / b : a % b;
  }
}

function fill(node: OperationNode, left: Value, right: Value, world: NaiveInput): Value {
  if (typeof left === "number") throw new RefusedError("needs series");
  if (typeof right !== "number") return fillWithSeries(node, left, right);
  const isOne = left.length === 0 && isUngrouped(node.left);
  const series = isOne ? [{ labels: {}, points: new Map<number, number>() }] : left;
  const buckets = bucketsOf(world.range);
  return series.map(({ labels, points }) => ({
    labels,
    points: new Map(buckets.map((ms) => [ms, points.get(ms) ?? right])),
  }));
}

function fillWithSeries(
  node: OperationNode,
  left: readonly NaiveTimeseries[],
  right: readonly NaiveTimeseries[],
): NaiveTimeseries[] {
  const [only, ...more] = right;
  const isForAll = more.length === 0 && only !== undefined && Object.keys(only.labels).length === 0;
  if (isForAll && left.length > 0)
    return left.map(({ labels, points }) => ({ labels, points: new Map([...only.points, ...points]) }));
  const pairs = matchSeries(node, left, right, "loose");
  const rest = applySetOperator({ ...node, op: "unless" }, right, left, "whole");
  return [
    ...pairs.map(({ labels, left: leftPoints, right: rightPoints }) => ({
      labels,
      points: new Map([...(rightPoints ?? []), ...leftPoints]),
    })),
    ...rest,
  ];
}

/** Returns whether an expression gives at most one series, and that without labels, whatever the data. */
function isUngrouped(node: Expression): boolean {
  switch (node.kind) {
    case "number":
      return true;
    case "negation":
      return isUngrouped(node.of);
    case "function":
      return isUngroupedFunction(node);
    case "operation":
      return isUngrouped(node.left) && isUngrouped(node.right);
    case "aggregate":
      return isUngroupedAggregate(node);
    default:
      return false;
  }
}

function isUngroupedFunction({ op, args: [first] }: FunctionNode): boolean {
  if (first === undefined || first.kind === "string" || op === "label_replace") return false;
  if (op !== "absent") return isUngrouped(first);
  return first.kind !== "selector" || Object.keys(equalLabels(first)).length === 0;
}

function isUngroupedAggregate(node: AggregateNode): boolean {
  if (node.op === "topk" || node.op === "bottomk") return isUngrouped(node.of);
  // The quantile of a histogram has no label `le`.
  const grouping = node.grouping ?? (node.of.kind === "aggregate" ? node.of.grouping : null);
  if (node.op === "histogram_quantile" && grouping !== null) {
    const names = grouping.labels.map(({ name }) => JSON.stringify(name.parts));
    return grouping.kind === "by" && names.every((name) => name.includes('"text":"le"'));
  }
  return node.grouping === null || (node.grouping.kind === "by" && node.grouping.labels.length === 0);
}

/** Functions of series: of each point, of labels, of the order, and of buckets without points. */
import type { Expression } from "../../../../query/index.ts";
import {
  type BucketedRange,
  bucketsOf,
  dropEmptySeries,
  labelKeyOf,
  type NaiveTimeseries,
  parseLabelKey,
  RefusedError,
} from "./data.ts";
import { sum } from "./numbers.ts";
import { charactersOf } from "./rows.ts";

export type FunctionNode = Extract<Expression, { kind: "function" }>;
type Argument = FunctionNode["args"][number];

export interface FunctionInput {
  range: BucketedRange;
  markFragile: () => void;
  /** Evaluates an argument that is an expression. `isAggregated`: a metric in it is all its series. */
  evaluate: (node: Expression, isAggregated: boolean) => number | NaiveTimeseries[];
}

const argumentCounts: Record<FunctionNode["op"], [least: number, most: number]> = {
  ...{ abs: [1, 1], ceil: [1, 1], floor: [1, 1], round: [1, 2], clamp: [3, 3], clamp_min: [2, 2] },
  ...{ clamp_max: [2, 2], label_replace: [5, 5], sort: [1, 1], sort_desc: [1, 1], absent: [1, 1] },
};

export function evaluateFunction(
  { op, args }: FunctionNode,
  input: FunctionInput,
  isAggregated: boolean,
): NaiveTimeseries[] {
  const [least, most] = argumentCounts[op];
  if (args.length < least || args.length > most) throw new RefusedError("number of arguments");
  const [first, ...rest] = args as [Argument, ...Argument[]];
  if (op === "absent") return evaluateAbsent(first, input);
  const all = seriesOf(first, input, isAggregated);
  if (op === "label_replace") return replaceLabels(all, rest);
  if (op === "sort" || op === "sort_desc") return sortByTotal(all, op === "sort" ? 1 : -1);
  const numbers = rest.map((arg) => numberOf(arg, input));
  const compute = pointFunction(op, numbers, input);
  return all.map(({ labels, points }) => ({
    labels,
    points: new Map(Array.from(points, ([ms, value]): [number, number] => [ms, compute(value)])),
  }));
}

function seriesOf(arg: Argument, { evaluate }: FunctionInput, isAggregated: boolean): NaiveTimeseries[] {
  if (arg.kind === "string") throw new RefusedError("needs series");
  const value = evaluate(arg, isAggregated);
  if (typeof value === "number") throw new RefusedError("needs series");
  return value;
}

function numberOf(arg: Argument, { evaluate }: FunctionInput): number {
  const value = arg.kind === "string" ? undefined : evaluate(arg, true);
  if (typeof value !== "number") throw new RefusedError("needs a number");
  return value;
}

function pointFunction(
  op: FunctionNode["op"],
  [a = 1, b = 0]: number[],
  { markFragile }: FunctionInput,
): (value: number) => number {
  const atStep = (value: number, step: number) => {
    if (Number.isFinite(value) && Math.abs(value / step - Math.round(value / step)) < 1e-9) {
      if (value / step !== Math.round(value / step)) markFragile();
    }
  };
  switch (op) {
    case "abs":
      return (value) => (value < 0 ? -value : value);
    case "ceil":
    case "floor":
      return (value) => {
        atStep(value, 1);
        return op === "ceil" ? Math.ceil(value) : Math.floor(value);
      };
    case "round":
      return (value) => {
        atStep(value + a / 2, a);
        return Math.floor(value / a + 0.5) * a;
      };
    case "clamp":
      if (a > b) throw new RefusedError("bounds");
      return (value) => (value < a ? a : value > b ? b : value);
    case "clamp_min":
      return (value) => (value < a ? a : value);
    default:
      return (value) => (value > a ? a : value);
  }
}

/** Series that get the same labels become one. */
function replaceLabels(all: readonly NaiveTimeseries[], args: readonly Argument[]): NaiveTimeseries[] {
  const [label, replacement, source, pattern] = args.map((arg) => {
    if (arg.kind !== "string") throw new RefusedError("needs a text");
    return charactersOf(arg);
  });
  const whole = new RegExp(`^(?:${pattern!})$`);
  const groups = new RegExp(`${pattern!}|`).exec("")!.length - 1;
  const used = [...replacement!.matchAll(/\$(\d+)/g)].map(([, group]) => Number(group));
  if (used.some((group) => group > groups)) throw new RefusedError("pattern");
  const found = new Map<string, Map<number, number>>();
  for (const { labels, points } of all) {
    const match = whole.exec(labels[source!] ?? "");
    const text = replacement!.replace(/\$(\d+)/g, (_, group: string) => match?.[Number(group)] ?? "");
    const key = labelKeyOf(match === null ? labels : { ...labels, [label!]: text });
    const known = found.get(key) ?? new Map<number, number>();
    found.set(key, known);
    for (const [ms, value] of points) {
      if (known.has(ms)) throw new RefusedError("many to many");
      known.set(ms, value);
    }
  }
  return Array.from(found, ([key, points]) => ({ labels: parseLabelKey(key), points }));
}

function sortByTotal(all: readonly NaiveTimeseries[], sign: number): NaiveTimeseries[] {
  const total = ({ points }: NaiveTimeseries) => sum([...points.values()]);
  return all.toSorted(
    (a, b) => sign * (total(a) - total(b)) || (labelKeyOf(a.labels) < labelKeyOf(b.labels) ? -1 : 1),
  );
}

function evaluateAbsent(arg: Argument, input: FunctionInput): NaiveTimeseries[] {
  if (arg.kind === "string") throw new RefusedError("needs series");
  const counted: Expression =
    arg.kind === "selector"
      ? { kind: "aggregate", op: "count", parameter: null, field: null, of: arg, grouping: null }
      : arg;
  const present = new Set(seriesOf(counted, input, true).flatMap(({ points }) => [...points.keys()]));
  const gaps = bucketsOf(input.range).filter((ms) => !present.has(ms));
  const labels = arg.kind === "selector" ? equalLabels(arg) : {};
  return dropEmptySeries([{ labels, points: new Map(gaps.map((ms): [number, number] => [ms, 1])) }]);
}

/** Labels that are compared with `=`, and not in another matcher, too. */
export function equalLabels({ matchers }: Extract<Expression, { kind: "selector" }>): Record<string, string> {
  const named = matchers.map((matcher) => ({ ...matcher, name: charactersOf(matcher.label.name) }));
  const alone = named.filter(({ name }) => named.filter((other) => other.name === name).length === 1);
  return Object.fromEntries(
    alone.flatMap(({ name, operator, value }): [string, string][] => {
      const text = value.kind === "number" ? value.text : charactersOf(value);
      return operator === "=" && text !== "" && text !== "*" ? [[name, text]] : [];
    }),
  );
}

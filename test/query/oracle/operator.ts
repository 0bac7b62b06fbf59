/** Operators between series and numbers. */
import type { Random } from "../../../fixtures/random.ts";
import { compareNumbers } from "./condition.ts";
import {
  checkApart,
  type Evaluation,
  groupLabels,
  keyOf,
  makeSeries,
  type OracleSeries,
  type SeriesExpression,
  type SeriesSet,
  type Value,
} from "./series.ts";
import { printLabel } from "./text.ts";

/** The reference calls the question a mistake: the product has to refuse it. */
export class Refusal extends Error {}

export interface Matching {
  word: "on" | "ignoring";
  labels: readonly string[];
}

const bindings: Readonly<Record<string, number>> = {
  ...{ "^": 8, "*": 6, "/": 6, "%": 6, "+": 5, "-": 5 },
  ...{ "==": 4, "!=": 4, ">": 4, ">=": 4, "<": 4, "<=": 4 },
  ...{ and: 3, unless: 3, or: 2, default: 1 },
};

export const arithmetic = ["^", "*", "/", "%", "+", "-"] as const;
export const comparisons = ["==", "!=", ">", ">=", "<", "<="] as const;

export function constant(value: number): SeriesExpression {
  return { text: String(value), forms: [], binding: 9, isUnlabelled: true, evaluate: () => value };
}

export function negate(of: SeriesExpression): SeriesExpression {
  const text = of.binding >= 8 ? `-${of.text}` : `-(${of.text})`;
  const evaluate = (asked: Evaluation): Value => mapPoints(of.evaluate(asked), (value) => -value);
  return { text, forms: ["unary minus", ...of.forms], binding: 7, isUnlabelled: of.isUnlabelled, evaluate };
}

/** Changes each point; those without a finite value are dropped. */
export function mapPoints(value: Value, change: (value: number) => number | undefined): Value {
  if (typeof value === "number") return change(value) ?? Number.NaN;
  const series = value.series.map(({ labels, points }) => {
    const changed = [...points].flatMap(([ms, point]): [number, number][] => {
      const made = change(point);
      return made === undefined || !Number.isFinite(made) ? [] : [[ms, made]];
    });
    return { labels, points: new Map(changed) };
  });
  return { series: series.filter(({ points }) => points.size > 0), isOrdered: value.isOrdered };
}

function calculateWith(op: string, left: number, right: number): number {
  switch (op) {
    case "^":
      return left ** right;
    case "*":
      return left * right;
    case "/":
      return right === 0 ? Number.NaN : left / right;
    case "%":
      return right === 0 ? Number.NaN : left % right;
    case "+":
      return left + right;
    default:
      return left - right;
  }
}

export function operate(
  left: SeriesExpression,
  op: string,
  right: SeriesExpression,
  options: { isBool: boolean; matching: Matching | undefined },
  random: Random,
): SeriesExpression {
  const binding = bindings[op]!;
  const isRightToLeft = op === "^";
  const wrap = (of: SeriesExpression, isInnerSide: boolean) => {
    const isOpen = isInnerSide ? of.binding < binding : of.binding <= binding;
    return isOpen || random.oneIn(8) ? `(${of.text})` : of.text;
  };
  const { isBool, matching } = options;
  const on =
    matching === undefined
      ? ""
      : ` ${matching.word} (${matching.labels.map((label) => printLabel(label, random)).join(", ")})`;
  const text = `${wrap(left, !isRightToLeft)} ${op}${isBool ? " bool" : ""}${on} ${wrap(right, isRightToLeft)}`;
  const evaluate = (asked: Evaluation): Value => {
    const sides = [left.evaluate(asked), right.evaluate(asked)] as const;
    const work = (a: number, b: number) => combinePoints(op, isBool, a, b, [...left.forms, ...right.forms]);
    if (op === "default") return fill(left, sides[0] as SeriesSet, sides[1], asked);
    const [a, b] = sides;
    if (typeof a === "number" && typeof b === "number") return work(a, b) ?? Number.NaN;
    if (typeof b === "number") return mapPoints(a, (value) => work(value, b));
    if (typeof a === "number") {
      const keepsSeries = op in comparing && !isBool;
      return mapPoints(b, (value) =>
        keepsSeries ? (work(a, value) === undefined ? undefined : value) : work(a, value),
      );
    }
    if (op === "and" || op === "or" || op === "unless") return combineSets(op, a, b, matching);
    return pairUp(a, b, matching, work, asked);
  };
  const forms = [
    `operator ${op}`,
    ...(isBool ? ["bool"] : []),
    ...(matching === undefined ? [] : [matching.word]),
  ];
  const isUnlabelled = left.isUnlabelled && right.isUnlabelled;
  return { text, forms: [...forms, ...left.forms, ...right.forms], binding, isUnlabelled, evaluate };
}

const comparing: Readonly<Record<string, true>> = Object.fromEntries(comparisons.map((op) => [op, true]));

/** What one point and another give: of a comparison the left one where it holds. */
function combinePoints(
  op: string,
  isBool: boolean,
  left: number,
  right: number,
  forms: readonly string[],
): number | undefined {
  // A remainder jumps where the left number is a multiple of the right one.
  if (op === "%") checkApart(left / right, Math.round(left / right), forms);
  // What is 0 but for the errors of floats has no quotient, and no power that is negative or no whole number.
  if (op === "/") checkApart(right, 0, forms);
  if (op === "^" && (right < 0 || !Number.isInteger(right))) checkApart(left, 0, forms);
  if (!(op in comparing)) return calculateWith(op, left, right);
  checkApart(left, right, forms);
  const holds = compareNumbers(left, op, right);
  return isBool ? Number(holds) : holds ? left : undefined;
}

function matchedLabels(
  labels: Readonly<Record<string, string>>,
  matching: Matching | undefined,
): Record<string, string> {
  if (matching === undefined) return { ...labels };
  return groupLabels(labels, { word: matching.word === "on" ? "by" : "without", labels: matching.labels });
}

const isAlone = ({ series }: SeriesSet) => series.length === 1 && Object.keys(series[0]!.labels).length === 0;

function pairUp(
  left: SeriesSet,
  right: SeriesSet,
  matching: Matching | undefined,
  work: (a: number, b: number) => number | undefined,
  asked: Evaluation,
): SeriesSet {
  const pair = (labels: Readonly<Record<string, string>>, a: OracleSeries, b: OracleSeries) =>
    makeSeries(labels, asked.buckets, ({ startMs }) => {
      const [x, y] = [a.points.get(startMs), b.points.get(startMs)];
      return x === undefined || y === undefined ? undefined : work(x, y);
    });
  const series: OracleSeries[] = [];
  if (isAlone(right)) for (const a of left.series) series.push(pair(a.labels, a, right.series[0]!));
  else if (isAlone(left)) for (const b of right.series) series.push(pair(b.labels, left.series[0]!, b));
  else {
    const byKey = (set: SeriesSet) =>
      Map.groupBy(set.series, ({ labels }) => keyOf(matchedLabels(labels, matching)));
    const [lefts, rights] = [byKey(left), byKey(right)];
    for (const [key, some] of lefts) {
      const others = rights.get(key) ?? [];
      if (others.length === 0) continue;
      if (some.length > 1 || others.length > 1) throw new Refusal("several series match");
      const labels = matchedLabels(some[0]!.labels, matching);
      series.push(pair(labels, some[0]!, others[0]!));
    }
  }
  return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
}

/** `and`, `unless` and `or`: here many series may match many, and one without labels goes with such alone. */
function combineSets(
  op: string,
  left: SeriesSet,
  right: SeriesSet,
  matching: Matching | undefined,
): SeriesSet {
  const key = ({ labels }: OracleSeries) => keyOf(matchedLabels(labels, matching));
  const filter = (of: OracleSeries, others: readonly OracleSeries[], isKept: boolean): OracleSeries => {
    const partners = others.filter((other) => key(of) === key(other));
    const points = [...of.points].filter(
      ([ms]) => partners.some(({ points: theirs }) => theirs.has(ms)) === isKept,
    );
    return { labels: of.labels, points: new Map(points) };
  };
  if (op !== "or") {
    const series = left.series.map((each) => filter(each, right.series, op === "and"));
    return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
  }
  const series = left.series.map(({ labels, points }) => ({ labels, points: new Map(points) }));
  for (const each of right.series.map((of) => filter(of, left.series, false))) {
    const same = series.find(({ labels }) => keyOf(labels) === keyOf(each.labels));
    if (same === undefined) series.push(each);
    else for (const [ms, value] of each.points) if (!same.points.has(ms)) same.points.set(ms, value);
  }
  return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
}

function fill(of: SeriesExpression, left: SeriesSet, right: Value, asked: Evaluation): SeriesSet {
  const series =
    left.series.length === 0 && of.isUnlabelled ? [{ labels: {}, points: new Map() }] : left.series;
  const partners = typeof right === "number" ? [] : right.series;
  const all = isAlone({ series: [...partners], isOrdered: false }) ? partners[0] : undefined;
  const filled = series.map((each) => {
    const partner = partners.find(({ labels }) => keyOf(labels) === keyOf(each.labels)) ?? all;
    return makeSeries(each.labels, asked.buckets, ({ startMs }) => {
      return each.points.get(startMs) ?? (typeof right === "number" ? right : partner?.points.get(startMs));
    });
  });
  const others = partners.filter(
    (partner) => !series.some(({ labels }) => keyOf(labels) === keyOf(partner.labels)),
  );
  const added = all !== undefined && series.length > 0 ? [] : others;
  return { series: [...filled, ...added].filter(({ points }) => points.size > 0), isOrdered: false };
}

import { calculate, isComparison } from "../plan/arithmetic.ts";
import type { Calculation } from "../plan/series-plan.ts";
import { groupsOf, isUnlabelledSeries, keptOf, matchedLabels } from "./matching.ts";
import {
  type LabelText,
  labelsOf,
  mapValues,
  SeriesDraft,
  type SeriesSet,
  withSomePoints,
} from "./series-set.ts";

/** Two series that go together. */
interface Pair {
  left: number;
  right: number;
  labels: LabelText[];
}

type Operator = Pick<Calculation, "op" | "bool" | "matching">;

/** Several series of one side go with one of the other: the text says which. */
export class AmbiguousMatch extends Error {}

/** A calculation or comparison of two sets of series, where both have a point. Throws AmbiguousMatch. */
export function combineSeries(operator: Operator, left: SeriesSet, right: SeriesSet): SeriesSet {
  const draft = new SeriesDraft();
  for (const pair of pairsOf(operator, left, right)) {
    draft.begin(pair.labels);
    eachShared(left, pair.left, right, pair.right, (bucket, a, b) => {
      const value = calculate(operator.op, a, b, operator.bool);
      if (value !== undefined) draft.point(bucket, value);
    });
  }
  return draft.finish();
}

/** The same with a number on one side. A comparison keeps the value of the series, on whichever side that stands. */
export function combineNumber(
  { op, bool }: Operator,
  set: SeriesSet,
  number: number,
  side: "left" | "right",
): SeriesSet {
  const isFilter = isComparison(op) && !bool;
  return withSomePoints(set, (value) => {
    const result = side === "right" ? calculate(op, value, number, bool) : calculate(op, number, value, bool);
    return result === undefined || !isFilter ? result : value;
  });
}

export function negateSeries(set: SeriesSet): SeriesSet {
  return mapValues(set, (value) => -value);
}

function pairsOf({ op, matching }: Operator, left: SeriesSet, right: SeriesSet): Pair[] {
  if (isUnlabelledSeries(right)) {
    return Array.from(left.order, (series) => pair(series, right.order[0]!, labelsOf(left, series)));
  }
  if (isUnlabelledSeries(left)) {
    return Array.from(right.order, (series) => pair(left.order[0]!, series, labelsOf(right, series)));
  }
  const keep = matchedLabels(matching);
  const rightGroups = groupsOf(right, keep);
  const pairs: Pair[] = [];
  for (const [key, series] of groupsOf(left, keep)) {
    const others = rightGroups.get(key);
    if (others === undefined) continue;
    checkSingle(op, "left", key, series);
    checkSingle(op, "right", key, others);
    pairs.push(pair(series[0]!, others[0]!, keptOf(left, series[0]!, keep)));
  }
  return pairs;
}

function pair(left: number, right: number, labels: LabelText[]): Pair {
  return { left, right, labels };
}

export function checkSingle(op: string, side: string, key: string, series: readonly number[]): void {
  if (series.length === 1) return;
  const labels = (JSON.parse(key) as LabelText[]).map(([name, text]) => `${name}=${JSON.stringify(text)}`);
  const problem = `${series.length} series on the ${side} side of \`${op}\` agree in {${labels.join(", ")}}`;
  throw new AmbiguousMatch(`${problem}, so that it is open which one is meant; group so that one is left`);
}

/** Visits the buckets in which both series have a point. */
function eachShared(
  a: SeriesSet,
  left: number,
  b: SeriesSet,
  right: number,
  visit: (bucket: number, a: number, b: number) => void,
): void {
  let [i, j] = [a.starts[left]!, b.starts[right]!];
  const [iEnd, jEnd] = [a.starts[left + 1]!, b.starts[right + 1]!];
  while (i < iEnd && j < jEnd) {
    const difference = a.buckets[i]! - b.buckets[j]!;
    if (difference === 0) visit(a.buckets[i]!, a.values[i]!, b.values[j]!);
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
}

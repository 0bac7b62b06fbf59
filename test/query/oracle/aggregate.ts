/** Aggregations of metrics and of series, ranking, and quantiles of histograms. */
import type { Random } from "../../../fixtures/random.ts";
import { printAggregate } from "./row-series.ts";
import type { MetricRead } from "./sample-series.ts";
import {
  checkApart,
  type Evaluation,
  type Grouping,
  groupLabels,
  keyOf,
  makeSeries,
  type OracleSeries,
  type SeriesExpression,
  type SeriesSet,
  type Statistic,
  summarize,
  sumOf,
} from "./series.ts";
import { printLabel } from "./text.ts";

export type SeriesAggregation =
  | { op: Statistic }
  | { op: "quantile"; q: number }
  | { op: "count_distinct"; label: string };

interface Member {
  labels: Readonly<Record<string, string>>;
  valuesIn(bucketMs: number): readonly number[];
}

function aggregateMembers(
  aggregation: SeriesAggregation,
  members: readonly Member[],
  grouping: Grouping | undefined,
  asked: Evaluation,
): SeriesSet {
  const groups = new Map<string, { labels: Record<string, string>; members: Member[] }>();
  for (const member of members) {
    const labels = groupLabels(member.labels, grouping);
    const group = groups.get(keyOf(labels));
    if (group === undefined) groups.set(keyOf(labels), { labels, members: [member] });
    else group.members.push(member);
  }
  const series = [...groups.values()].map((group) =>
    makeSeries(group.labels, asked.buckets, ({ startMs }) => {
      const there = group.members.filter((member) => member.valuesIn(startMs).length > 0);
      if (aggregation.op === "count_distinct") return countTexts(aggregation.label, there);
      const values = there.flatMap((member) => [...member.valuesIn(startMs)]);
      return summarize(aggregation.op === "quantile" ? { q: aggregation.q } : aggregation.op, values);
    }),
  );
  return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
}

function countTexts(label: string, members: readonly Member[]): number | undefined {
  if (members.length === 0) return undefined;
  const texts = new Set(members.map(({ labels }) => labels[label] ?? ""));
  texts.delete("");
  return texts.size;
}

function printSeriesAggregation(
  aggregation: SeriesAggregation,
  inner: string,
  grouping: Grouping | undefined,
  random: Random,
): string {
  if (aggregation.op === "quantile")
    return printAggregate("quantile", `${aggregation.q}, ${inner}`, grouping, random);
  if (aggregation.op !== "count_distinct") return printAggregate(aggregation.op, inner, grouping, random);
  const label = printLabel(aggregation.label, random);
  return printAggregate("count_distinct", `${label}, ${inner}`, grouping, random);
}

/** The expression that aggregates `members`, which are samples or series, with the forms that it is made of. */
function describeAggregation(
  aggregation: SeriesAggregation,
  members: "samples" | "series",
  of: { readonly text: string; readonly forms: readonly string[] },
  grouping: Grouping | undefined,
  random: Random,
  evaluate: SeriesExpression["evaluate"],
): SeriesExpression {
  const text = printSeriesAggregation(aggregation, of.text, grouping, random);
  const forms = [
    `${aggregation.op} of ${members}`,
    ...of.forms,
    ...(grouping?.word === "without" ? ["without"] : []),
  ];
  return { text, forms, binding: 9, isUnlabelled: grouping === undefined, evaluate };
}

export function aggregateMetric(
  aggregation: SeriesAggregation,
  read: MetricRead,
  grouping: Grouping | undefined,
  random: Random,
): SeriesExpression {
  const evaluate = (asked: Evaluation) => {
    const members = read.listSpans(asked).map(({ labels, numbers, all, present }): Member => {
      const valuesIn = (bucketMs: number): readonly number[] => {
        if (aggregation.op === "count" || aggregation.op === "count_distinct")
          return present.has(bucketMs) ? [1] : [];
        if (aggregation.op === "min" || aggregation.op === "max" || aggregation.op === "quantile") {
          return all.get(bucketMs) ?? [];
        }
        const number = numbers.points.get(bucketMs);
        return number === undefined ? [] : [number];
      };
      return { labels, valuesIn };
    });
    return aggregateMembers(aggregation, members, grouping, asked);
  };
  return describeAggregation(aggregation, "samples", read, grouping, random, evaluate);
}

/** A metric as its series, which stands within aggregations, rankings and functions only. */
export function everySeries(read: MetricRead): SeriesExpression {
  const evaluate = (asked: Evaluation): SeriesSet => {
    const series = read.listSpans(asked).map(({ numbers }) => numbers);
    return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
  };
  return {
    text: read.text,
    forms: ["every series", ...read.forms],
    binding: 9,
    isUnlabelled: false,
    evaluate,
  };
}

export function evaluateSeries(expression: SeriesExpression, asked: Evaluation): SeriesSet {
  const value = expression.evaluate(asked);
  if (typeof value === "number") throw new Error(`${expression.text} is a number`);
  return value;
}

export function aggregateSeries(
  aggregation: SeriesAggregation,
  of: SeriesExpression,
  grouping: Grouping | undefined,
  random: Random,
): SeriesExpression {
  const evaluate = (asked: Evaluation) => {
    const members = evaluateSeries(of, asked).series.map(({ labels, points }): Member => {
      return { labels, valuesIn: (bucketMs) => (points.has(bucketMs) ? [points.get(bucketMs)!] : []) };
    });
    return aggregateMembers(aggregation, members, grouping, asked);
  };
  return describeAggregation(aggregation, "series", of, grouping, random, evaluate);
}

/** The order of labels' texts: of what JSON makes of the labels, whose names are drawn in their order. */
function compareLabels(a: OracleSeries, b: OracleSeries): number {
  const sorted = ({ labels }: OracleSeries) => {
    return JSON.stringify(Object.fromEntries(Object.entries(labels).sort(([x], [y]) => (x < y ? -1 : 1))));
  };
  const [left, right] = [sorted(a), sorted(b)];
  return left === right ? 0 : left < right ? -1 : 1;
}

const pointsSum = ({ points }: OracleSeries) => sumOf([...points.values()]);

/** Sorts by the sums of points, and by labels where sums are equal. */
export function rank(
  series: readonly OracleSeries[],
  direction: "greatest" | "least",
  forms: readonly string[],
): OracleSeries[] {
  const sign = direction === "greatest" ? -1 : 1;
  const sums = new Map(series.map((each) => [each, pointsSum(each)]));
  return [...series].sort((a, b) => {
    const difference = sums.get(a)! - sums.get(b)!;
    checkApart(sums.get(a)!, sums.get(b)!, forms);
    if (difference === 0) return compareLabels(a, b);
    return sign * difference;
  });
}

export function keepTop(
  op: "topk" | "bottomk",
  count: number,
  of: SeriesExpression,
  by: readonly string[] | undefined,
  random: Random,
): SeriesExpression {
  const grouping: Grouping | undefined = by === undefined ? undefined : { word: "by", labels: by };
  const evaluate = (asked: Evaluation): SeriesSet => {
    const left = new Map<string, number>();
    const series = rank(
      evaluateSeries(of, asked).series,
      op === "topk" ? "greatest" : "least",
      of.forms,
    ).filter(({ labels }) => {
      const key = keyOf(groupLabels(labels, grouping));
      const taken = left.get(key) ?? 0;
      left.set(key, taken + 1);
      return taken < count;
    });
    return { series, isOrdered: true };
  };
  const text = printAggregate(op, `${count}, ${of.text}`, grouping, random);
  return {
    text,
    forms: [by === undefined ? op : `${op} by`, ...of.forms],
    binding: 9,
    isUnlabelled: of.isUnlabelled,
    evaluate,
  };
}

/** As Prometheus' `bucketQuantile`. `isUnlabelled`: the buckets have the label `le` alone. */
export function histogramQuantile(q: number, of: SeriesExpression, isUnlabelled: boolean): SeriesExpression {
  const evaluate = (asked: Evaluation): SeriesSet => {
    const groups = Map.groupBy(evaluateSeries(of, asked).series, ({ labels }) => {
      const { le: _, ...others } = labels;
      return keyOf(others);
    });
    const series = [...groups.values()].map((buckets) => {
      const { le: _, ...labels } = buckets[0]!.labels;
      return makeSeries(labels, asked.buckets, ({ startMs }) => {
        const counted = buckets.flatMap((bucket): [number, number][] => {
          const count = bucket.points.get(startMs);
          const bound = bucket.labels.le ?? "";
          if (count === undefined || !/^(\+Inf|[0-9.]+)$/.test(bound)) return [];
          return [[bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound), count]];
        });
        return quantileOfBuckets(q, counted);
      });
    });
    return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
  };
  const text = `histogram_quantile(${q}, ${of.text})`;
  return { text, forms: ["histogram_quantile", ...of.forms], binding: 9, isUnlabelled, evaluate };
}

function quantileOfBuckets(q: number, counted: [bound: number, count: number][]): number | undefined {
  const buckets = counted.sort(([a], [b]) => a - b);
  if (buckets.length < 2 || buckets.at(-1)![0] !== Number.POSITIVE_INFINITY) return undefined;
  for (const [i, bucket] of buckets.entries()) if (i > 0) raiseCount(bucket, buckets[i - 1]![1]);
  const observations = buckets.at(-1)![1];
  if (observations === 0) return undefined;
  const wanted = q * observations;
  for (const [, count] of buckets) checkApart(count, wanted, ["quantile"]);
  const at = buckets.findIndex(([, count], i) => i === buckets.length - 1 || count >= wanted);
  if (at === buckets.length - 1) return buckets.at(-2)![0];
  const [end, count] = buckets[at]!;
  if (at === 0 && end <= 0) return end;
  const [start, below] = at === 0 ? [0, 0] : buckets[at - 1]!;
  return start + (end - start) * ((wanted - below) / (count - below));
}

/** Counts do not fall with the bound, and those that differ by the errors of floats alone are equal. */
function raiseCount(bucket: [bound: number, count: number], before: number): void {
  const isClose = Math.abs(bucket[1] - before) <= 1e-12 * (Math.abs(bucket[1]) + Math.abs(before));
  if (bucket[1] < before || isClose) bucket[1] = before;
}

/** Aggregations over rows, over series of a metric, over paths in resources, and over other aggregations. */
import type { RowSignal } from "../../../../engine/index.ts";
import type { Expression } from "../../../../query/index.ts";
import {
  type BucketedRange,
  bucketOf,
  bucketsOf,
  dropEmptySeries,
  isInRange,
  labelKeyOf,
  type NaiveRow,
  type NaiveTimeseries,
  PointGroups,
  parseLabelKey,
  RefusedError,
  secondsOf,
  type TelemetryData,
} from "./data.ts";
import { makeNumberReader } from "./json-path.ts";
import {
  boundOf,
  computeHistogramQuantile,
  foldNumbers,
  type HistogramBound,
  type NaiveFold,
  sum,
} from "./numbers.ts";
import { charactersOf, parseDecimal, type SelectorNode, selectRows, textOf } from "./rows.ts";
import {
  computeIncreases,
  computeWindows,
  divideBySeconds,
  groupSamplesByBucket,
  type MetricSeries,
  selectSeries,
} from "./samples.ts";

export type AggregateNode = Extract<Expression, { kind: "aggregate" }>;
type RangeFunction = Extract<Expression, { kind: "rangeFunction" }>;
type JsonPath = Extract<Expression, { kind: "jsonPath" }>;

export interface NaiveInput {
  data: TelemetryData;
  range: BucketedRange;
  /** Must be called where rounding decides on the answer. */
  markFragile: () => void;
  /** Evaluates an expression that must be a number. */
  evaluateNumber: (node: Expression) => number;
}

/** `evaluateInner` evaluates an operation within the aggregation. */
export function evaluateAggregate(
  node: AggregateNode,
  world: NaiveInput,
  evaluateInner: (node: Expression) => NaiveTimeseries[],
): NaiveTimeseries[] {
  checkParameter(node);
  const read = readOf(node.of);
  if (read === undefined) {
    if (node.op === "trace_duration_quantile") return aggregateDurations(node, world);
    return aggregateSeries(node, evaluateInner(node.of), world);
  }
  const isRanked = node.op === "topk" || node.op === "bottomk";
  if (isRanked && read.of.kind === "metric") return selectTop(node, evaluateInner(node.of), world);
  return eachWindow(read, world, (window) => {
    if (node.op === "trace_duration_quantile") return aggregateDurations(node, window);
    if (node.of.kind === "jsonPath") return aggregatePath(node, node.of, window);
    if (read.of.kind === "metric") return aggregateMetric(node, read, window);
    return node.of.kind === "rangeFunction"
      ? aggregateRowRate(node, node.of, window)
      : aggregateRows(node, read, window);
  });
}

/** The selector whose rows or samples an expression reads by itself. */
function readOf(node: Expression): SelectorNode | undefined {
  if (node.kind === "selector") return node;
  return node.kind === "rangeFunction" || node.kind === "jsonPath" ? node.of : undefined;
}

/** The values of a metric's series, which no aggregation folds. */
export function evaluateEachSeries(node: SelectorNode | RangeFunction, world: NaiveInput): NaiveTimeseries[] {
  const selector = node.kind === "selector" ? node : node.of;
  if (selector.of.kind !== "metric") throw new RefusedError("no aggregation");
  const read = node.kind === "rangeFunction" ? node : undefined;
  return eachWindow(selector, world, (window) => {
    return dropEmptySeries(
      selectSeries(selector, window.data.samples).map((each) => valuesOf(each, read, window)),
    );
  });
}

/**
 * Where a selector has a window or an offset, evaluates it by itself for each bucket: over a range that is the window,
 * in one bucket that holds all times.
 */
function eachWindow(
  { window, offset }: SelectorNode,
  world: NaiveInput,
  evaluate: (world: NaiveInput) => NaiveTimeseries[],
): NaiveTimeseries[] {
  if (window === undefined && offset === undefined) return evaluate(world);
  const { startMs, endMs, bucketSeconds } = world.range;
  const earlierMs = offset === undefined ? 0 : millisecondsOf(offset);
  const found = new Map<string, Map<number, number>>();
  for (const bucketMs of bucketsOf(world.range)) {
    const endsMs = bucketMs + bucketSeconds * 1_000;
    const fromMs = window === undefined ? Math.max(bucketMs, startMs) : endsMs - millisecondsOf(window);
    const range = {
      startMs: fromMs - earlierMs,
      endMs: Math.min(endsMs - 1, endMs) - earlierMs,
      bucketSeconds: 1e10,
    };
    for (const { labels, points } of evaluate({ ...world, range })) {
      const key = labelKeyOf(labels);
      found.set(key, (found.get(key) ?? new Map<number, number>()).set(bucketMs, [...points.values()][0]!));
    }
  }
  return Array.from(found, ([key, points]) => ({ labels: parseLabelKey(key), points }));
}

function millisecondsOf(node: NonNullable<SelectorNode["window"]>): number {
  if (node.kind === "variable") throw new RefusedError("variable");
  const isOrdered = /^(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?$/.test(node.text);
  const units = { y: 31_536e6, w: 6_048e5, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
  const parts = [...node.text.matchAll(/(\d+)(ms|s|m|h|d|w|y)/g)];
  const length = sum(parts.map(([, count, unit]) => Number(count) * units[unit as keyof typeof units]));
  if (!isOrdered || length < 1 || length > 10 * units.y) throw new RefusedError("duration");
  return length;
}

function numberOf({ parameter }: AggregateNode): number {
  if (parameter?.kind === "variable") throw new RefusedError("variable");
  return Number(parameter?.text);
}

function checkParameter(node: AggregateNode): void {
  const number = numberOf(node);
  if (node.op.endsWith("quantile") && !(number >= 0 && number <= 1))
    throw new RefusedError("quantile out of range");
  if (node.op.endsWith("k") && !(Number.isInteger(number) && number >= 1))
    throw new RefusedError("count of series");
}

function groupNames({ grouping }: AggregateNode): string[] {
  return grouping === null ? [] : grouping.labels.map(({ name }) => charactersOf(name));
}

/** The labels of a series that an aggregation keeps, and always `alwaysKept`. */
function groupLabels(
  node: AggregateNode,
  labels: NaiveTimeseries["labels"],
  alwaysKept?: string,
): Record<string, string> {
  const names = new Set(groupNames(node));
  const isWithout = node.grouping?.kind === "without";
  return Object.fromEntries(
    Object.entries(labels).filter(([name]) => name === alwaysKept || names.has(name) !== isWithout),
  );
}

/** The labels of a row that `by` keeps. */
function groupLabelsOfRow(node: AggregateNode, signal: RowSignal, row: NaiveRow): Record<string, string> {
  return Object.fromEntries(groupNames(node).map((name) => [name, textOf(signal, name, row)]));
}

function rowsOf(
  node: AggregateNode,
  selector: SelectorNode,
  { data, range }: NaiveInput,
): [RowSignal, NaiveRow[]] {
  if (selector.of.kind !== "signal") throw new RefusedError("not over rows");
  if (node.grouping?.kind === "without") throw new RefusedError("without over rows");
  const rows = (data.rows[selector.of.name] ?? []).filter((row) => isInRange(row, range));
  return [selector.of.name, selectRows(selector, rows)];
}

function aggregateRows(node: AggregateNode, selector: SelectorNode, world: NaiveInput): NaiveTimeseries[] {
  const [signal, rows] = rowsOf(node, selector, world);
  if (node.op === "count") {
    if (node.field !== null) throw new RefusedError("takes no field");
  } else if (/topk|bottomk|histogram/.test(node.op)) throw new RefusedError("not over rows");
  else if (node.field === null) throw new RefusedError("needs a field");
  const field = node.field === null ? "" : charactersOf(node.field.name);
  const groups = new PointGroups<NaiveRow>();
  for (const row of rows) groups.add(groupLabelsOfRow(node, signal, row), bucketOf(row, world.range), row);
  return groups.fold((members) => {
    if (node.op === "count") return members.length;
    const texts = members.map((row) => textOf(signal, field, row));
    if (node.op === "count_distinct") return new Set(texts.filter((text) => text !== "")).size;
    const numbers = texts.map(parseDecimal).filter((number) => number !== undefined);
    if (numbers.length === 0) return undefined;
    const value = foldNumbers(node.op as NaiveFold, numbers, numberOf(node));
    // Where the values are far from zero, as times are, their distances from the mean have few exact digits.
    if (node.op === "stddev" && Math.abs(numbers[0]!) > value * 1e6) world.markFragile();
    return value;
  });
}

function aggregateDurations(node: AggregateNode, world: NaiveInput): NaiveTimeseries[] {
  const isOfTraces =
    node.of.kind === "selector" && node.of.of.kind === "signal" && node.of.of.name === "traces";
  if (!isOfTraces) throw new RefusedError("only over traces");
  if (node.field !== null) throw new RefusedError("takes no field");
  const [signal, rows] = rowsOf(node, node.of as SelectorNode, world);
  const groups = new PointGroups<number>();
  for (const row of rows) {
    const duration = parseDecimal(textOf(signal, "duration_ms", row));
    if (duration !== undefined)
      groups.add(groupLabelsOfRow(node, signal, row), bucketOf(row, world.range), duration);
  }
  return groups.fold((durations) => foldNumbers("quantile", durations, numberOf(node)));
}

/** Rows per second. Each group has one value per bucket. */
function aggregateRowRate(node: AggregateNode, rate: RangeFunction, world: NaiveInput): NaiveTimeseries[] {
  if (rate.op === "increase") throw new RefusedError("increase of rows");
  if (rate.op !== "rate" && rate.op !== "count_over_time") throw new RefusedError("not over rows");
  if (!["sum", "avg", "min", "max"].includes(node.op)) throw new RefusedError("not over a rate of rows");
  if (node.field !== null) throw new RefusedError("takes no field");
  const [signal, rows] = rowsOf(node, rate.of, world);
  const groups = new PointGroups<NaiveRow>();
  for (const row of rows) groups.add(groupLabelsOfRow(node, signal, row), bucketOf(row, world.range), row);
  return groups.fold((members, bucketMs) => {
    return rate.op === "rate" ? members.length / secondsOf(bucketMs, world.range) : members.length;
  });
}

const resourceLabels = ["k8s.cluster.name", "k8s.namespace.name", "k8s.resource.kind", "k8s.resource.name"];

/** Aggregates the averages of each resource's numbers in a bucket. */
function aggregatePath(node: AggregateNode, { path, of }: JsonPath, world: NaiveInput): NaiveTimeseries[] {
  if (of.of.kind !== "signal" || of.of.name !== "kubernetes_resources")
    throw new RefusedError("only over kubernetes_resources");
  if (/topk|bottomk|histogram|distinct/.test(node.op)) throw new RefusedError("not over json_path");
  if (node.field !== null) throw new RefusedError("takes no field");
  const read = makeNumberReader(charactersOf(path));
  const [signal, rows] = rowsOf(node, of, world);
  const groups = new PointGroups<{ resource: string; number: number }>();
  for (const row of rows) {
    const resource = JSON.stringify(resourceLabels.map((name) => row.attributes[name] ?? ""));
    for (const number of read(row.message))
      groups.add(groupLabelsOfRow(node, signal, row), bucketOf(row, world.range), { resource, number });
  }
  return groups.fold((found) => {
    const resources = [...Map.groupBy(found, ({ resource }) => resource).values()];
    const averages = resources.map((same) => sum(same.map(({ number }) => number)) / same.length);
    return foldNumbers(node.op as NaiveFold, averages, numberOf(node));
  });
}

function aggregateMetric(node: AggregateNode, selector: SelectorNode, world: NaiveInput): NaiveTimeseries[] {
  const all = selectSeries(selector, world.data.samples);
  if (node.op.startsWith("count") && node.of.kind === "selector") {
    const sampled = all.map(({ labels, samples, ...each }) => {
      const found = groupSamplesByBucket({ labels, samples, ...each }, world.range);
      return { labels, points: new Map([...found.keys()].map((ms): [number, number] => [ms, 0])) };
    });
    return aggregateSeries(node, sampled, world);
  }
  const isAllSamples = ["min", "max", "quantile"].includes(node.op) && node.of.kind === "selector";
  if (isAllSamples && node.field === null) return aggregateSamples(node, all, world.range);
  const read = node.of.kind === "rangeFunction" ? node.of : undefined;
  if (read !== undefined) parameterOf(read, world.evaluateNumber);
  const values = all.map((each) => valuesOf(each, read, world));
  return aggregateSeries(node, dropEmptySeries(values), world);
}

/** One value for each bucket of a series. */
function valuesOf(
  series: MetricSeries,
  read: RangeFunction | undefined,
  { range, evaluateNumber }: NaiveInput,
): NaiveTimeseries {
  if (read?.op === "rate") return divideBySeconds(computeIncreases(series, range), range);
  if (read?.op === "increase" || (read === undefined && series.isCounter)) {
    return computeIncreases(series, range);
  }
  if (read === undefined) {
    const values = [...groupSamplesByBucket(series, range)];
    const averages = values.map(([ms, all]): [number, number] => [ms, sum(all) / all.length]);
    return { labels: series.labels, points: new Map(averages) };
  }
  const ahead = read.op === "predict_linear" && read.of.offset ? millisecondsOf(read.of.offset) / 1000 : 0;
  return computeWindows(read.op, series, range, parameterOf(read, evaluateNumber) + ahead);
}

function parameterOf({ op, parameter }: RangeFunction, evaluateNumber: NaiveInput["evaluateNumber"]): number {
  const number = parameter === null ? 0 : evaluateNumber(parameter);
  if (op === "quantile_over_time" && !(number >= 0 && number <= 1))
    throw new RefusedError("quantile out of range");
  return number;
}

/** Aggregates all samples of gauges, and the increases of counters. */
function aggregateSamples(
  node: AggregateNode,
  all: readonly MetricSeries[],
  range: BucketedRange,
): NaiveTimeseries[] {
  const groups = new PointGroups<number>();
  for (const series of all) {
    const labels = groupLabels(node, series.labels);
    if (series.isCounter)
      for (const [bucketMs, value] of computeIncreases(series, range).points)
        groups.add(labels, bucketMs, value);
    else
      for (const [bucketMs, values] of groupSamplesByBucket(series, range))
        groups.add(labels, bucketMs, ...values);
  }
  return groups.fold((values) => foldNumbers(node.op as NaiveFold, values, numberOf(node)));
}

function aggregateSeries(
  node: AggregateNode,
  inner: readonly NaiveTimeseries[],
  world: NaiveInput,
): NaiveTimeseries[] {
  if (node.op === "count_distinct") return countDistinct(node, inner);
  if (node.field !== null) throw new RefusedError("takes no field");
  if (node.op === "topk" || node.op === "bottomk") return selectTop(node, inner, world);
  if (node.op === "histogram_quantile") return aggregateHistograms(node, inner, world);
  const groups = new PointGroups<number>();
  for (const { labels, points } of inner)
    for (const [bucketMs, value] of points) groups.add(groupLabels(node, labels), bucketMs, value);
  return groups.fold((values) => foldNumbers(node.op as NaiveFold, values, numberOf(node)));
}

/** Counts the distinct values of a label among the series that a group has in a bucket. */
function countDistinct(
  node: AggregateNode,
  inner: readonly { labels: NaiveTimeseries["labels"]; points: Map<number, unknown> }[],
): NaiveTimeseries[] {
  if (node.field === null) throw new RefusedError("needs a field");
  const label = charactersOf(node.field.name);
  const groups = new PointGroups<string>();
  for (const { labels, points } of inner)
    for (const bucketMs of points.keys())
      groups.add(groupLabels(node, labels), bucketMs, labels[label] ?? "");
  return groups.fold((texts) => new Set(texts.filter((text) => text !== "")).size);
}

/** Ranks series by the sum of their points; series with equal sums by their labels. */
function selectTop(
  node: AggregateNode,
  inner: readonly NaiveTimeseries[],
  world: NaiveInput,
): NaiveTimeseries[] {
  const total = ({ points }: NaiveTimeseries) => sum([...points.values()]);
  const sign = node.op === "topk" ? -1 : 1;
  const ranked = inner.toSorted((a, b) => {
    return sign * (total(a) - total(b)) || (labelKeyOf(a.labels) < labelKeyOf(b.labels) ? -1 : 1);
  });
  const isFirst = (series: NaiveTimeseries, index: number) => {
    const key = labelKeyOf(groupLabels(node, series.labels));
    const isAlike = (other: NaiveTimeseries) => labelKeyOf(groupLabels(node, other.labels)) === key;
    const before = ranked.slice(0, index).filter(isAlike);
    const next = ranked.slice(index + 1).find(isAlike);
    if (next !== undefined && isNear(total(series), total(next))) world.markFragile();
    return before.length < numberOf(node);
  };
  return ranked.filter(isFirst);
}

export function isNear(a: number, b: number): boolean {
  return a === b || Number.isNaN(a - b) || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}

function aggregateHistograms(
  node: AggregateNode,
  inner: readonly NaiveTimeseries[],
  world: NaiveInput,
): NaiveTimeseries[] {
  // The labels of an inner aggregation identify the histograms. A metric is one histogram unless there is a grouping.
  const isApart = (node.of.kind === "aggregate" || node.of.kind === "operation") && node.grouping === null;
  if (node.of.kind === "aggregate" && !hasBounds(node.of)) throw new RefusedError("no le");
  const groups = new PointGroups<HistogramBound>();
  for (const { labels, points } of inner) {
    const { le: text, ...rest } = isApart ? labels : groupLabels(node, labels, "le");
    const le = boundOf(text);
    if (le === undefined) continue;
    for (const [bucketMs, count] of points) groups.add(rest, bucketMs, { le, count });
  }
  return groups.fold((buckets) => {
    if (!buckets.every(({ count }) => Number.isInteger(count))) world.markFragile();
    return computeHistogramQuantile(numberOf(node), buckets);
  });
}

function hasBounds(node: AggregateNode): boolean {
  const isPassedOn = /topk|bottomk/.test(node.op);
  if (isPassedOn && node.of.kind === "aggregate") return hasBounds(node.of);
  if (node.op === "histogram_quantile" || node.grouping === null) return isPassedOn;
  return isPassedOn || groupNames(node).includes("le") === (node.grouping.kind === "by");
}

import type { Field, QueryLimits, SeriesCount, Step, Store } from "../../engine/index.ts";
import { parseExpression } from "../parse/parser.ts";
import { createPlanContext, type PlanContext } from "../plan/context.ts";
import { toRowSteps } from "../plan/ordered/ordered-step.ts";
import { makePrefixSteps } from "../plan/regexp.ts";
import { planSelector } from "../plan/selector.ts";
import type { ExpectedName } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { resolveString } from "../plan/variables.ts";
import { readSource, refuse } from "../text/source.ts";
import { LeftBrace, tokenize } from "../text/tokens.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import type { Expression } from "../tree/expression.ts";
import { makeMetricSource, makeSelector, type TelemetrySelector } from "../tree/selector.ts";
import { makePlainString } from "../tree/string-literal.ts";
import { warnOfUnknownMetrics } from "../warning/unknown-metrics.ts";

/** The part of a store that lists of metrics and of their labels need. */
export type MetricStore = Pick<Store, "seriesLabels" | "metricNames">;

/** A selector of series, and which of their labels, or of the values of one label, to list. */
export interface MetricLabelQuery extends TimeRange {
  /** A selector of a metric. `{…}` selects the series of all metrics that match, and an empty query all series. */
  query: string;
  /** Only labels, or values, that begin with this text are listed; "" lists all. */
  prefix: string;
  /** The most entries to return, from 1. */
  limit: number;
}

/** A label, or a value of a label, with the number of series that have it. */
export interface ListedLabel {
  /** The name of the label, or the value. */
  text: string;
  /** The number of series that have the label, or the value. */
  series: number;
  /** Only for the name of a metric: the declared type of most of its series. */
  type?: string;
  /** Only for the name of a metric: the declared unit of most of its series. */
  unit?: string;
}

/** Labels, or values of one label, of the series that a selector selects. */
export interface MetricLabelList {
  /** Entries of more series come first, entries of equally many series by text. */
  found: ListedLabel[];
  /** False where there are more entries than `found` lists. */
  isWhole: boolean;
  /** Sentences for people about metrics and labels that do not exist. */
  warnings: string[];
}

/** The label that holds the name of the metric, as in Prometheus. */
const nameLabel = "__name__";
/** The most labels that the store returns for a list of labels. Those without the prefix are dropped after that. */
const searchedLabelsMax = 100_000;

/** Lists the labels of the series that a selector selects. Throws a QueryError, and what the store throws. */
export async function queryLabels(
  store: MetricStore,
  query: MetricLabelQuery,
  limits?: QueryLimits,
): Promise<MetricLabelList> {
  const startedAtMs = performance.now();
  const { expectedNames, ...selection } = planSelection(query.query);
  const range = toRangeNs(query.startMs, query.endMs);
  const found = await store.seriesLabels({ ...selection, ...range, limit: searchedLabelsMax }, limits);
  const listed = found.filter(({ text }) => text.startsWith(query.prefix));
  return makeLabelList(store, listed, expectedNames, query, deductElapsedTime(startedAtMs, limits));
}

/**
 * Lists the values of a label in the series that a selector selects. The values of `__name__` are the names of metrics.
 * Throws as `queryLabels` does.
 */
export async function queryLabelValues(
  store: MetricStore,
  label: string,
  query: MetricLabelQuery,
  limits?: QueryLimits,
): Promise<MetricLabelList> {
  const startedAtMs = performance.now();
  const { expectedNames, ...selection } = planSelection(query.query);
  const range = toRangeNs(query.startMs, query.endMs);
  const remainingLimits = () => deductElapsedTime(startedAtMs, limits);
  if (label === nameLabel) {
    const metrics = await listMetrics(store, query, selection, remainingLimits());
    return makeLabelList(store, metrics, expectedNames, query, remainingLimits());
  }
  const field: Field = { kind: "attribute", key: label };
  const steps = [...selection.steps, ...makePrefixSteps(field, query.prefix)];
  const labelled = { ...selection, ...range, steps, key: label, limit: query.limit + 1 };
  const found = await store.seriesLabels(labelled, remainingLimits());
  return makeLabelList(store, found, expectedNames, query, remainingLimits());
}

/** Cuts a list at its limit. Only where nothing was found, warns of expected names that do not exist. */
async function makeLabelList(
  store: MetricStore,
  found: readonly (SeriesCount | ListedLabel)[],
  expectedNames: readonly ExpectedName[],
  { startMs, endMs, limit }: MetricLabelQuery,
  limits: QueryLimits,
): Promise<MetricLabelList> {
  const checkedNames = found.length === 0 ? expectedNames : [];
  return {
    found: found.slice(0, limit),
    isWhole: found.length <= limit,
    warnings: await warnOfUnknownMetrics(store, checkedNames, toRangeNs(startMs, endMs), limits),
  };
}

/**
 * Lists each metric of a selection once, those of most series first, one more than asked for. The store lists a metric once for each of its declared types and units. Throws
 * a QueryError where the query has conditions on labels.
 */
async function listMetrics(
  store: MetricStore,
  { query, startMs, endMs, prefix, limit }: MetricLabelQuery,
  { name, steps }: MetricSelection,
  limits: QueryLimits,
): Promise<ListedLabel[]> {
  if (steps.length > 0) {
    const source = readSource(query);
    const problem = "the names of metrics are listed without conditions on labels";
    refuse(source, { start: 0, end: query.length }, problem);
  }
  const { fromNs, toNs } = toRangeNs(startMs, endMs);
  const work = new WorkDeadline(performance.now(), limits);
  const metrics = new Map<string, ListedLabel & { seriesOfType: number }>();
  for (const { name: text, type, unit, series } of await store.metricNames(fromNs, toNs, limits)) {
    if (work.isTurnOver()) await work.yield();
    if (!text.startsWith(prefix) || (name !== undefined && text !== name)) continue;
    const metric = metrics.get(text) ?? { text, series: 0, type, unit, seriesOfType: 0 };
    metric.series += series;
    if (series > metric.seriesOfType) Object.assign(metric, { type, unit, seriesOfType: series });
    metrics.set(text, metric);
  }
  const compare = (a: ListedLabel, b: ListedLabel) => b.series - a.series || (a.text < b.text ? -1 : 1);
  const first = await firstInTurns([...metrics.values()], limit + 1, compare, work);
  return first.map(({ seriesOfType: _, ...metric }) => metric);
}

interface MetricSelection {
  /** The metric; undefined for all metrics. */
  name?: string;
  /** Filters on labels. */
  steps: Step[];
}

/**
 * Plans a selector, and lists the names that it expects the store to have: its metric and the labels of its conditions.
 * Throws a QueryError.
 */
function planSelection(text: string): MetricSelection & { expectedNames: ExpectedName[] } {
  const source = readSource(text);
  const context = createPlanContext(source);
  const [first] = tokenize(text);
  if (first === undefined) return { steps: [], expectedNames: [] };
  const tree = parseExpression(source);
  const { node, name } = selectorOf(tree, first.tokenType === LeftBrace, context);
  const steps = toRowSteps(simplifySteps(planSelector(node, context)));
  if (name === undefined) return { steps, expectedNames: [] };
  const labels = Array.from(
    context.names,
    (label): ExpectedName => ({ signal: "metrics", metric: name, label }),
  );
  return { name, steps, expectedNames: [{ signal: "metrics", metric: name }, ...labels] };
}

/**
 * Returns the selector that an expression consists of, and the name of its metric. Throws a QueryError where the
 * expression is no selector of a metric.
 */
function selectorOf(
  tree: Expression,
  isNameless: boolean,
  context: PlanContext,
): { node: TelemetrySelector; name?: string } {
  if (tree.kind === "selector" && tree.of.kind === "metric")
    return { node: tree, name: resolveString(tree.of.name, context) };
  // The parser reads `{…}` as a selector of logs. It is made a selector of a metric with an empty name, so that its
  // labels are planned as labels of metrics.
  if (tree.kind === "selector" && isNameless)
    return { node: makeSelector(makeMetricSource(makePlainString("")), tree.matchers, tree.stages) };
  return refuse(context.source, tree, "a list of series selects a metric, such as `http_requests_total{…}`");
}

import type { Field, QueryLimits, SeriesCount, Step, Store } from "../../engine/index.ts";
import { parseExpression } from "../parse/parser.ts";
import { createPlanContext, type PlanContext } from "../plan/context.ts";
import { makePrefixFilter } from "../plan/regexp.ts";
import { planSelector } from "../plan/selector.ts";
import type { ExpectedName } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { resolveString } from "../plan/variables.ts";
import { readSource, refuse } from "../text/source.ts";
import { LeftBrace, tokenize } from "../text/tokens.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { toRangeNs } from "../time/range.ts";
import type { Expression } from "../tree/expression.ts";
import { makeMetricSource, makeSelector, type TelemetrySelector } from "../tree/selector.ts";
import { makePlainString } from "../tree/string-literal.ts";
import { warnOfUnknownMetrics } from "../warning/unknown-metrics.ts";

/** The part of a store that lists of metrics' labels need. */
export type MetricStore = Pick<Store, "seriesLabels" | "metricNames">;

export interface MetricLabelQuery {
  /** The selector of a metric; `{…}` selects from all of them, and an empty one selects all. */
  query: string;
  /** Whole milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
  /** What the labels, or their values, begin with. */
  prefix: string;
  /** The most, from 1. */
  limit: number;
}

/** A label, or a value of one, and the series that have it. */
export interface ListedLabel {
  text: string;
  series: number;
  /** Of a metric's name: what most of its series are declared as. */
  type?: string;
  unit?: string;
}

export interface MetricLabelList {
  /** Those that most series have come first, others in their order. */
  found: ListedLabel[];
  /** False where there are more than these. */
  isWhole: boolean;
  warnings: string[];
}

/** The label that stands for the metric's name. */
const nameLabel = "__name__";
/** Labels of all series that are looked through for a prefix. */
const searchedLabelsMax = 100_000;

/** The labels of the series that a selector selects. Throws a QueryError, and what the store throws. */
export async function queryLabels(
  store: MetricStore,
  asked: MetricLabelQuery,
  limits?: QueryLimits,
): Promise<MetricLabelList> {
  const begunMs = performance.now();
  const { named, ...selected } = planSelection(asked.query);
  const range = toRangeNs(asked.startMs, asked.endMs);
  const found = await store.seriesLabels({ ...selected, ...range, limit: searchedLabelsMax }, limits);
  const listed = found.filter(({ text }) => text.startsWith(asked.prefix));
  return makeLabelList(store, listed, named, asked, deductElapsedTime(begunMs, limits));
}

/** The values of a label in the series that a selector selects; those of `__name__` are the metrics. Throws as `queryLabels` does. */
export async function queryLabelValues(
  store: MetricStore,
  label: string,
  asked: MetricLabelQuery,
  limits?: QueryLimits,
): Promise<MetricLabelList> {
  const begunMs = performance.now();
  const { named, ...selected } = planSelection(asked.query);
  const range = toRangeNs(asked.startMs, asked.endMs);
  const rest = () => deductElapsedTime(begunMs, limits);
  if (label === nameLabel) {
    const listed = await listMetrics(store, asked, selected, rest());
    return makeLabelList(store, listed, named, asked, rest());
  }
  const field: Field = { kind: "attribute", key: label };
  const begins: Step[] =
    asked.prefix === "" ? [] : [{ kind: "filter", filter: makePrefixFilter(field, asked.prefix) }];
  const query = { ...selected, ...range, steps: [...selected.steps, ...begins], key: label };
  const found = await store.seriesLabels({ ...query, limit: asked.limit + 1 }, rest());
  return makeLabelList(store, found, named, asked, rest());
}

async function makeLabelList(
  store: MetricStore,
  found: readonly (SeriesCount | ListedLabel)[],
  named: readonly ExpectedName[],
  { startMs, endMs, limit }: MetricLabelQuery,
  limits: QueryLimits,
): Promise<MetricLabelList> {
  const missed = found.length === 0 ? named : [];
  return {
    found: found.slice(0, limit),
    isWhole: found.length <= limit,
    warnings: await warnOfUnknownMetrics(store, missed, toRangeNs(startMs, endMs), limits),
  };
}

/** Each metric once. */
async function listMetrics(
  store: MetricStore,
  { query, startMs, endMs, prefix }: MetricLabelQuery,
  { name, steps }: MetricSelection,
  limits: QueryLimits,
): Promise<ListedLabel[]> {
  if (steps.length > 0) {
    const source = readSource(query);
    const problem = "the names of metrics are listed without conditions on labels";
    refuse(source, { start: 0, end: query.length }, problem);
  }
  const { fromNs, toNs } = toRangeNs(startMs, endMs);
  const metrics = new Map<string, ListedLabel & { most: number }>();
  for (const { name: text, type, unit, series } of await store.metricNames(fromNs, toNs, limits)) {
    if (!text.startsWith(prefix) || (name !== undefined && text !== name)) continue;
    const known = metrics.get(text) ?? { text, series: 0, type, unit, most: 0 };
    known.series += series;
    if (series > known.most) Object.assign(known, { type, unit, most: series });
    metrics.set(text, known);
  }
  return Array.from(metrics.values(), ({ most: _, ...each }) => each).sort(
    (a, b) => b.series - a.series || (a.text < b.text ? -1 : 1),
  );
}

interface MetricSelection {
  /** Undefined: every metric. */
  name?: string;
  steps: Step[];
}

/** The selection, and what it expects the metric to bear. Throws a QueryError. */
function planSelection(text: string): MetricSelection & { named: ExpectedName[] } {
  const source = readSource(text);
  const context = createPlanContext(source, new Map());
  const [first] = tokenize(text);
  if (first === undefined) return { steps: [], named: [] };
  const tree = parseExpression(source);
  const { node, name } = selectorOf(tree, first.tokenType === LeftBrace, context);
  const steps = simplifySteps(planSelector(node, context));
  if (name === undefined) return { steps, named: [] };
  const labels = Array.from(
    context.names,
    (label): ExpectedName => ({ signal: "metrics", metric: name, label }),
  );
  return { name, steps, named: [{ signal: "metrics", metric: name }, ...labels] };
}

function selectorOf(
  tree: Expression,
  isNameless: boolean,
  context: PlanContext,
): { node: TelemetrySelector; name?: string } {
  if (tree.kind === "selector" && tree.of.kind === "metric")
    return { node: tree, name: resolveString(tree.of.name, context) };
  // Labels of all metrics mean what those of one do.
  if (tree.kind === "selector" && isNameless)
    return { node: makeSelector(makeMetricSource(makePlainString("")), tree.matchers, tree.stages) };
  return refuse(context.source, tree, "a list of series selects a metric, such as `http_requests_total{…}`");
}

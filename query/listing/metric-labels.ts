import type { Field, QueryLimits, SeriesCount, Step, Store } from "../../engine/index.ts";
import { parseExpression } from "../parse/parser.ts";
import { type PlanContext, planContext } from "../plan/context.ts";
import { prefixFilter } from "../plan/regexp.ts";
import { selectorSteps } from "../plan/selector.ts";
import type { Named } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { resolveText } from "../plan/variables.ts";
import { readSource, refuse } from "../text/source.ts";
import { LeftBrace, tokenize } from "../text/tokens.ts";
import { limitsSince } from "../time/deadline.ts";
import { rangeNs } from "../time/range.ts";
import type { Expression } from "../tree/expression.ts";
import { metric, type Selector, selector } from "../tree/selector.ts";
import { plainText } from "../tree/string-literal.ts";
import { unknownMetricWarnings } from "../warning/unknown-metrics.ts";

/** The part of a store that lists of metrics' labels need. */
export type MetricStore = Pick<Store, "seriesLabels" | "metricNames">;

export interface SeriesQuery {
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
export interface ListedSeries {
  text: string;
  series: number;
  /** Of a metric's name: what most of its series are declared as. */
  type?: string;
  unit?: string;
}

export interface SeriesList {
  /** Those that most series have come first, others in their order. */
  found: ListedSeries[];
  /** False where there are more than these. */
  isWhole: boolean;
  warnings: string[];
}

/** The label that stands for the metric's name. */
const nameLabel = "__name__";
/** Labels of all series that are looked through for a prefix. */
const labelsMax = 100_000;

/** The labels of the series that a selector selects. Throws a QueryError, and what the store throws. */
export async function queryLabels(
  store: MetricStore,
  asked: SeriesQuery,
  limits?: QueryLimits,
): Promise<SeriesList> {
  const begunMs = performance.now();
  const { named, ...selected } = planSelection(asked.query);
  const range = rangeNs(asked.startMs, asked.endMs);
  const found = await store.seriesLabels({ ...selected, ...range, limit: labelsMax }, limits);
  const listed = found.filter(({ text }) => text.startsWith(asked.prefix));
  return listOf(store, listed, named, asked, limitsSince(begunMs, limits));
}

/** The values of a label in the series that a selector selects; those of `__name__` are the metrics. Throws as `queryLabels` does. */
export async function queryLabelValues(
  store: MetricStore,
  label: string,
  asked: SeriesQuery,
  limits?: QueryLimits,
): Promise<SeriesList> {
  const begunMs = performance.now();
  const { named, ...selected } = planSelection(asked.query);
  const range = rangeNs(asked.startMs, asked.endMs);
  const rest = () => limitsSince(begunMs, limits);
  if (label === nameLabel) {
    const listed = await metricsOf(store, asked, selected, rest());
    return listOf(store, listed, named, asked, rest());
  }
  const field: Field = { kind: "attribute", key: label };
  const begins: Step[] =
    asked.prefix === "" ? [] : [{ kind: "filter", filter: prefixFilter(field, asked.prefix) }];
  const query = { ...selected, ...range, steps: [...selected.steps, ...begins], key: label };
  const found = await store.seriesLabels({ ...query, limit: asked.limit + 1 }, rest());
  return listOf(store, found, named, asked, rest());
}

async function listOf(
  store: MetricStore,
  found: readonly (SeriesCount | ListedSeries)[],
  named: readonly Named[],
  { startMs, endMs, limit }: SeriesQuery,
  limits: QueryLimits,
): Promise<SeriesList> {
  const missed = found.length === 0 ? named : [];
  return {
    found: found.slice(0, limit),
    isWhole: found.length <= limit,
    warnings: await unknownMetricWarnings(store, missed, rangeNs(startMs, endMs), limits),
  };
}

/** Each metric once. */
async function metricsOf(
  store: MetricStore,
  { query, startMs, endMs, prefix }: SeriesQuery,
  { name, steps }: Selection,
  limits: QueryLimits,
): Promise<ListedSeries[]> {
  if (steps.length > 0) {
    const source = readSource(query);
    const problem = "the names of metrics are listed without conditions on labels";
    refuse(source, { start: 0, end: query.length }, problem);
  }
  const { fromNs, toNs } = rangeNs(startMs, endMs);
  const metrics = new Map<string, ListedSeries & { most: number }>();
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

interface Selection {
  /** Undefined: every metric. */
  name?: string;
  steps: Step[];
}

/** The selection, and what it expects the metric to bear. Throws a QueryError. */
function planSelection(text: string): Selection & { named: Named[] } {
  const source = readSource(text);
  const context = planContext(source, new Map());
  const [first] = tokenize(text);
  if (first === undefined) return { steps: [], named: [] };
  const tree = parseExpression(source);
  const { node, name } = selectorOfMetric(tree, first.tokenType === LeftBrace, context);
  const steps = simplifySteps(selectorSteps(node, context));
  if (name === undefined) return { steps, named: [] };
  const labels = Array.from(context.names, (label): Named => ({ signal: "metrics", metric: name, label }));
  return { name, steps, named: [{ signal: "metrics", metric: name }, ...labels] };
}

function selectorOfMetric(
  tree: Expression,
  isNameless: boolean,
  context: PlanContext,
): { node: Selector; name?: string } {
  if (tree.kind === "selector" && tree.of.kind === "metric")
    return { node: tree, name: resolveText(tree.of.name, context) };
  // Labels of all metrics mean what those of one do.
  if (tree.kind === "selector" && isNameless)
    return { node: selector(metric(plainText("")), tree.matchers, tree.stages) };
  return refuse(context.source, tree, "a list of series selects a metric, such as `http_requests_total{…}`");
}

import type { QueryLimits, Store } from "../../engine/index.ts";
import type { ExpectedName } from "../plan/series-plan.ts";
import { rowSignals } from "../text/keywords.ts";
import { findClosest, suggestName } from "../text/suggestion.ts";
import type { TimeRangeNs } from "../time/range.ts";
import { suggestedNamesMax } from "./unknown-names.ts";

/**
 * The most labels of a metric that are searched for an unknown label. A metric with as many or more gets no warning.
 */
const suggestedLabelsMax = 1_000;

/**
 * Makes a warning for each metric without series in the range, and for each label that no series of its metric has.
 * Suggests a similar name where there is one. Throws what the store throws.
 */
export async function warnOfUnknownMetrics(
  store: Pick<Store, "metricNames" | "seriesLabels">,
  names: readonly ExpectedName[],
  range: TimeRangeNs,
  limits: QueryLimits,
): Promise<string[]> {
  if (names.length === 0) return [];
  const known = await store.metricNames(range.fromNs, range.toNs, limits);
  const metrics = new Set(known.map(({ name }) => name));
  const candidates = [...metrics];
  let suggested = 0;
  const suggest = (name: string, among: readonly string[]) =>
    suggested++ < suggestedNamesMax ? suggestName(name, among) : "";
  const warnings = [...Map.groupBy(names, ({ metric }) => metric!)].map(async ([metric, expected]) => {
    if (!metrics.has(metric)) {
      const signal = findClosest(metric, rowSignals);
      const suggestion =
        signal === undefined
          ? suggest(metric, candidates)
          : `; ${signal} is a signal: did you mean \`${signal}\`?`;
      return [`no series of that time is of the metric ${JSON.stringify(metric)}${suggestion}`];
    }
    const labels = expected.flatMap(({ label }) => label ?? []);
    if (labels.length === 0) return [];
    const query = { name: metric, ...range, steps: [], limit: suggestedLabelsMax };
    const keys = (await store.seriesLabels(query, limits)).map(({ text }) => text);
    // The store may have cut off a list of this length, so a label that is not in it may exist.
    if (keys.length === suggestedLabelsMax) return [];
    return labels
      .filter((label) => !keys.includes(label))
      .map((label) => `no series of ${metric} has the label ${JSON.stringify(label)}${suggest(label, keys)}`);
  });
  return (await Promise.all(warnings)).flat();
}

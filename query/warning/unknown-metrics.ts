import type { QueryLimits, Store } from "../../engine/index.ts";
import type { ExpectedName } from "../plan/series-plan.ts";
import { suggestName } from "../text/suggestion.ts";
import type { TimeRangeNs } from "../time/range.ts";

/** Labels of one metric that are compared with an unknown label. With more, no warning is given. */
const suggestedLabelsMax = 1_000;

/**
 * A sentence for each metric without series in the range, and for each label that no series of its metric has, with a
 * suggestion. Throws what the store throws.
 */
export async function warnOfUnknownMetrics(
  store: Pick<Store, "metricNames" | "seriesLabels">,
  names: readonly ExpectedName[],
  range: TimeRangeNs,
  limits: QueryLimits,
): Promise<string[]> {
  if (names.length === 0) return [];
  const known = await store.metricNames(range.fromNs, range.toNs, limits);
  const metrics = [...new Set(known.map(({ name }) => name))];
  const warnings = [...Map.groupBy(names, ({ metric }) => metric!)].map(async ([metric, expected]) => {
    if (!metrics.includes(metric)) {
      return [
        `no series of that time is of the metric ${JSON.stringify(metric)}${suggestName(metric, metrics)}`,
      ];
    }
    const labels = expected.flatMap(({ label }) => label ?? []);
    if (labels.length === 0) return [];
    const query = { name: metric, ...range, steps: [], limit: suggestedLabelsMax };
    const keys = (await store.seriesLabels(query, limits)).map(({ text }) => text);
    // The list is cut off at the limit, so that a label which is not in it may exist.
    if (keys.length === suggestedLabelsMax) return [];
    return labels
      .filter((label) => !keys.includes(label))
      .map(
        (label) => `no series of ${metric} has the label ${JSON.stringify(label)}${suggestName(label, keys)}`,
      );
  });
  return (await Promise.all(warnings)).flat();
}

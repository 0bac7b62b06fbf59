import type { QueryLimits, Store } from "../../engine/index.ts";
import type { ExpectedName } from "../plan/series-plan.ts";
import { suggestName } from "../text/suggestion.ts";

/** Labels of one metric that are looked through for what was meant. */
const suggestedLabelsMax = 1_000;

interface Range {
  fromNs: bigint;
  toNs: bigint;
}

/** A sentence for each name of a metric, or of a label, that no series of the range bears, with what was probably meant. */
export async function warnOfUnknownMetrics(
  store: Pick<Store, "metricNames" | "seriesLabels">,
  names: readonly ExpectedName[],
  range: Range,
  limits: QueryLimits,
): Promise<string[]> {
  if (names.length === 0) return [];
  const known = await store.metricNames(range.fromNs, range.toNs, limits);
  const metrics = [...new Set(known.map(({ name }) => name))];
  const warnings = [...Map.groupBy(names, ({ metric }) => metric!)].map(async ([metric, named]) => {
    if (!metrics.includes(metric)) {
      return [
        `no series of that time is of the metric ${JSON.stringify(metric)}${suggestName(metric, metrics)}`,
      ];
    }
    const labels = named.flatMap(({ label }) => label ?? []);
    if (labels.length === 0) return [];
    const query = { name: metric, ...range, steps: [], limit: suggestedLabelsMax };
    const keys = (await store.seriesLabels(query, limits)).map(({ text }) => text);
    // With more labels than are looked through, any name may be one of the others.
    if (keys.length === suggestedLabelsMax) return [];
    return labels
      .filter((label) => !keys.includes(label))
      .map(
        (label) => `no series of ${metric} has the label ${JSON.stringify(label)}${suggestName(label, keys)}`,
      );
  });
  return (await Promise.all(warnings)).flat();
}

import type { Calculation, KeptLabels } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { type LabelPair, labelsOf, type SeriesSet } from "./series-set.ts";

/** The labels of a series that a grouping keeps. */
export function keptLabelsOf(set: SeriesSet, series: number, { kind, labels }: KeptLabels): LabelPair[] {
  return labelsOf(set, series).filter(([name]) => labels.includes(name) === (kind === "by"));
}

/**
 * Groups series whose kept labels are equal. Keys are the JSON of the kept labels, sorted by name. Values are the
 * indexes of the series, in the order of the set.
 */
export async function groupSeries(
  set: SeriesSet,
  keep: KeptLabels,
  work: WorkDeadline,
): Promise<Map<string, number[]>> {
  const groups = new Map<string, number[]>();
  for (const series of set.order) {
    const kept = keptLabelsOf(set, series, keep).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify(kept);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [series]);
    else group.push(series);
    if (work.isTurnOver()) await work.yield();
  }
  return groups;
}

/** The labels that must be equal for a series of the left operand to match one of the right. */
export function matchingLabelsOf(matching: Calculation["matching"]): KeptLabels {
  if (matching === null) return { kind: "without", labels: [] };
  return { kind: matching.kind === "on" ? "by" : "without", labels: matching.labels };
}

/**
 * Returns whether a set is a single series without labels. As an operand, such a series matches every series of the
 * other operand.
 */
export function isSingleUnlabelled(set: SeriesSet): boolean {
  return set.order.length === 1 && labelsOf(set, set.order[0]!).length === 0;
}

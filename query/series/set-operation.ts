import type { Calculation } from "../plan/series-plan.ts";
import { groupSeries, matchingLabelsOf } from "./matching.ts";
import { type LabelPair, labelsOf, SeriesBuilder, type SeriesSet } from "./series-set.ts";

/**
 * Applies `and`, `or` or `unless` bucket by bucket, as PromQL does. Many series of one operand may match many of the
 * other.
 */
export function applySetOperator(
  op: "and" | "or" | "unless",
  matching: Calculation["matching"],
  left: SeriesSet,
  right: SeriesSet,
): SeriesSet {
  const keep = matchingLabelsOf(matching);
  const leftGroups = groupSeries(left, keep);
  const rightGroups = groupSeries(right, keep);
  const union = new SeriesUnion();
  for (const [key, series] of leftGroups) {
    const others = bucketsOf(right, rightGroups.get(key) ?? []);
    for (const each of series) {
      union.add(left, each, (bucket) => op === "or" || others.has(bucket) === (op === "and"));
    }
  }
  if (op === "or") {
    for (const [key, series] of rightGroups) {
      const taken = bucketsOf(left, leftGroups.get(key) ?? []);
      for (const each of series) union.add(right, each, (bucket) => !taken.has(bucket));
    }
  }
  return union.build();
}

function bucketsOf({ starts, buckets }: SeriesSet, group: readonly number[]): Set<number> {
  const found = new Set<number>();
  for (const series of group) {
    for (let point = starts[series]!; point < starts[series + 1]!; point++) found.add(buckets[point]!);
  }
  return found;
}

/**
 * Merges the series of several sets: series with equal labels become one. Of two points in one bucket, the one added
 * first is kept.
 */
export class SeriesUnion {
  readonly #series = new Map<string, { labels: LabelPair[]; points: Map<number, number> }>();

  add(
    set: SeriesSet,
    series: number,
    isKept: (bucket: number) => boolean,
    labels = labelsOf(set, series),
  ): void {
    const points = this.#pointsOf(labels);
    for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
      const bucket = set.buckets[point]!;
      if (isKept(bucket) && !points.has(bucket)) points.set(bucket, set.values[point]!);
    }
  }

  /** The points of the series with these labels, by index of the bucket. Adds the series if it is new. */
  #pointsOf(labels: LabelPair[]): Map<number, number> {
    const key = JSON.stringify(labels.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    let known = this.#series.get(key);
    if (known === undefined) {
      known = { labels, points: new Map() };
      this.#series.set(key, known);
    }
    return known.points;
  }

  build(): SeriesSet {
    const builder = new SeriesBuilder();
    for (const { labels, points } of this.#series.values()) {
      builder.beginSeries(labels);
      for (const [bucket, value] of [...points].sort(([a], [b]) => a - b)) builder.addPoint(bucket, value);
    }
    return builder.build();
  }
}

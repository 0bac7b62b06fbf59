import type { Calculation } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { groupSeries, matchingLabelsOf } from "./matching.ts";
import { type LabelPair, labelsOf, SeriesBuilder, type SeriesSet } from "./series-set.ts";

/**
 * Applies `and`, `or` or `unless` bucket by bucket, as PromQL does. Many series of one operand may match many of the
 * other.
 */
export async function applySetOperator(
  op: "and" | "or" | "unless",
  matching: Calculation["matching"],
  left: SeriesSet,
  right: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const keep = matchingLabelsOf(matching);
  const leftGroups = await groupSeries(left, keep, work);
  const rightGroups = await groupSeries(right, keep, work);
  const union = new SeriesUnion(work);
  for (const [key, series] of leftGroups) {
    const others = await bucketsOf(right, rightGroups.get(key) ?? [], work);
    for (const each of series) {
      await union.add(left, each, (bucket) => op === "or" || others.has(bucket) === (op === "and"));
    }
  }
  if (op === "or") {
    for (const [key, series] of rightGroups) {
      const taken = await bucketsOf(left, leftGroups.get(key) ?? [], work);
      for (const each of series) await union.add(right, each, (bucket) => !taken.has(bucket));
    }
  }
  return union.build();
}

async function bucketsOf(
  { starts, buckets }: SeriesSet,
  group: readonly number[],
  work: WorkDeadline,
): Promise<Set<number>> {
  const found = new Set<number>();
  for (const series of group) {
    for (let point = starts[series]!; point < starts[series + 1]!; point++) {
      found.add(buckets[point]!);
      if (work.isTurnOver()) await work.yield();
    }
  }
  return found;
}

/**
 * Merges the series of several sets: series with equal labels become one. Of two points in one bucket, the one added
 * first is kept.
 */
export class SeriesUnion {
  readonly #work: WorkDeadline;
  readonly #series = new Map<string, { labels: LabelPair[]; points: Map<number, number> }>();

  constructor(work: WorkDeadline) {
    this.#work = work;
  }

  async add(
    set: SeriesSet,
    series: number,
    isKept: (bucket: number) => boolean,
    labels = labelsOf(set, series),
  ): Promise<void> {
    const work = this.#work;
    const points = this.#pointsOf(labels);
    for (let point = set.starts[series]!; point < set.starts[series + 1]!; point++) {
      const bucket = set.buckets[point]!;
      if (isKept(bucket) && !points.has(bucket)) points.set(bucket, set.values[point]!);
      if (work.isTurnOver()) await work.yield();
    }
  }

  /** Returns whether the series with these labels has a point in a bucket, as far as points were added by now. */
  takenBuckets(labels: LabelPair[]): (bucket: number) => boolean {
    const points = this.#pointsOf(labels);
    return (bucket) => points.has(bucket);
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

  async build(): Promise<SeriesSet> {
    const work = this.#work;
    const builder = new SeriesBuilder();
    for (const { labels, points } of this.#series.values()) {
      builder.beginSeries(labels);
      const ascending = await sortInTurns(Float64Array.from(points.keys()), (a, b) => a - b, work);
      for (const bucket of ascending) {
        builder.addPoint(bucket, points.get(bucket)!);
        if (work.isTurnOver()) await work.yield();
      }
    }
    await work.yield();
    return builder.build();
  }
}

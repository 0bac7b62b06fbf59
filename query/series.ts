import type { Aggregated } from "../engine/index.ts";

/** A series while it is calculated with. */
export interface SeriesVector {
  /** Label by label, name and text; those with the empty text are left out. */
  labels: [name: string, text: string][];
  /** Places of the buckets that have a value, ascending. */
  buckets: Float64Array;
  values: Float64Array;
}

/** A series of each group: its points in order of time, with the values of the first aggregate. */
export function seriesOf({ groups, points }: Aggregated, names: readonly string[]): SeriesVector[] {
  const ends = new Uint32Array(groups.length);
  for (const group of points.groups) ends[group] = ends[group]! + 1;
  for (let group = 1; group < ends.length; group++) ends[group] = ends[group]! + ends[group - 1]!;
  const next = Uint32Array.from(ends, (_, group) => (group === 0 ? 0 : ends[group - 1]!));
  const order = new Uint32Array(points.groups.length);
  for (const [point, group] of points.groups.entries()) {
    order[next[group]!] = point;
    next[group] = next[group]! + 1;
  }
  return groups.map((texts, group) => {
    const own = order.subarray(group === 0 ? 0 : ends[group - 1]!, ends[group]!);
    own.sort((a, b) => points.buckets[a]! - points.buckets[b]!);
    return {
      labels: names.flatMap((name, i): [string, string][] => (texts[i] === "" ? [] : [[name, texts[i]!]])),
      buckets: Float64Array.from(own, (point) => points.buckets[point]!),
      values: Float64Array.from(own, (point) => points.values[0]![point]!),
    };
  });
}

export function total({ values }: SeriesVector): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The order in which series are listed: by their labels' texts. */
export function compareLabels({ labels: a }: SeriesVector, { labels: b }: SeriesVector): number {
  return compareTexts(JSON.stringify(a), JSON.stringify(b));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

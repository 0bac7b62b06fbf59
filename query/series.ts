import { type Aggregated, textAt } from "../engine/index.ts";

/** Series as vectors: they are calculated with as such, and labels are decoded only where they are looked at. */
export interface SeriesSet {
  /** The series in their order, by number. */
  order: Uint32Array;
  /** Names of the labels. */
  names: readonly string[];
  /** A label's text by the number of the series and the place of the name; "" where the series lacks it. */
  labelOf: (series: number, name: number) => string;
  /** Points of series s stand at places from starts[s] to starts[s + 1], in order of time. */
  starts: Uint32Array;
  /** Places of the points' buckets in the range. */
  buckets: Float64Array;
  values: Float64Array;
}

/** A series of each group, with the values of the first aggregate. */
export function seriesOf({ groups, labels, points }: Aggregated, names: readonly string[]): SeriesSet {
  const starts = new Uint32Array(groups + 1);
  for (const group of points.groups) starts[group + 1] = starts[group + 1]! + 1;
  for (let group = 0; group < groups; group++) starts[group + 1] = starts[group + 1]! + starts[group]!;
  const places = pointsByGroup(points, starts);
  const [values] = points.values;
  return {
    order: Uint32Array.from({ length: groups }, (_, group) => group),
    names,
    labelOf: (series, name) => textAt(labels, series * names.length + name),
    starts,
    buckets: Float64Array.from(places, (point) => points.buckets[point]!),
    values: Float64Array.from(places, (point) => values![point]!),
  };
}

/** Places of the points, group by group and in order of time. */
function pointsByGroup({ groups, buckets }: Aggregated["points"], starts: Uint32Array): Uint32Array {
  const next = starts.slice();
  const places = new Uint32Array(groups.length);
  for (let point = 0; point < groups.length; point++) {
    const group = groups[point]!;
    places[next[group]!] = point;
    next[group] = next[group]! + 1;
  }
  for (let group = 0; group + 1 < starts.length; group++) {
    if (starts[group + 1]! - starts[group]! < 2) continue;
    places.subarray(starts[group], starts[group + 1]).sort((a, b) => buckets[a]! - buckets[b]!);
  }
  return places;
}

/** The labels of a series, without those that it lacks. */
export function labelsOf({ names, labelOf }: SeriesSet, series: number): [name: string, text: string][] {
  return names.flatMap((name, i): [string, string][] => {
    const text = labelOf(series, i);
    return text === "" ? [] : [[name, text]];
  });
}

/** The same series in the order of their labels' texts. */
export function sortedByLabels(set: SeriesSet): SeriesSet {
  const keyOf = labelKeys(set);
  const order = set.order.slice().sort((a, b) => compareTexts(keyOf(a), keyOf(b)));
  return { ...set, order };
}

/** A text for each series that sorts them by their labels, made when first asked for. */
export function labelKeys(set: SeriesSet): (series: number) => string {
  const keys = new Map<number, string>();
  return (series) => {
    let key = keys.get(series);
    if (key === undefined) {
      key = JSON.stringify(labelsOf(set, series));
      keys.set(series, key);
    }
    return key;
  };
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import { type Aggregated, textAt } from "../engine/index.ts";

/** Series as vectors: they are calculated with as such, and labels are decoded only where they are looked at. */
export interface SeriesSet {
  /** The series in their order, by number. */
  order: Uint32Array;
  /** Names of the labels, gathered when first asked for. */
  names: () => readonly string[];
  /** A label's text by the number of the series and the place of the name; "" where the series lacks it. */
  labelOf: (series: number, name: number) => string;
  /** The JSON of a series' labels as pairs in the order of their names, where it is at hand. */
  keyOf?: (series: number) => string;
  /** Points of series s stand at places from starts[s] to starts[s + 1], in order of time. */
  starts: Uint32Array;
  /** Places of the points' buckets in the range. */
  buckets: Float64Array;
  values: Float64Array;
}

/** A label of a series and its text, which is not empty. */
export type LabelText = [name: string, text: string];

/** A series of each group with the values of one aggregate; groups are labelled with one text for each name. */
export function seriesOf(
  { groups, labels, points }: Pick<Aggregated, "groups" | "labels" | "points">,
  names: readonly string[],
  aggregate: number,
): SeriesSet {
  const values = points.values[aggregate]!;
  const starts = new Uint32Array(groups + 1);
  for (let point = 0; point < values.length; point++) {
    // A point without any number has no value.
    if (!Number.isNaN(values[point])) starts[points.groups[point]! + 1]!++;
  }
  for (let group = 0; group < groups; group++) starts[group + 1] = starts[group + 1]! + starts[group]!;
  const places = pointsByGroup(points, values, starts);
  return {
    order: withPoints(starts),
    names: () => names,
    labelOf: (series, name) => textAt(labels, series * names.length + name),
    starts,
    buckets: Float64Array.from(places, (point) => points.buckets[point]!),
    values: Float64Array.from(places, (point) => values[point]!),
  };
}

/** Numbers of the series that have a point: one without any is none. */
function withPoints(starts: Uint32Array): Uint32Array {
  return Uint32Array.from(starts.subarray(1).keys()).filter(
    (series) => starts[series + 1]! > starts[series]!,
  );
}

/** The same where each group is labelled with one text, the JSON of its labels as pairs of name and text in the order of the names. */
export function seriesOfPairs(aggregated: Pick<Aggregated, "groups" | "labels" | "points">): SeriesSet {
  const set = seriesOf(aggregated, ["labels"], 0);
  const keyOf = (series: number) => textAt(aggregated.labels, series);
  const labelled = new Map<number, Map<string, string>>();
  const labelsAt = (series: number) => {
    const labels = labelled.get(series) ?? new Map(JSON.parse(keyOf(series)) as LabelText[]);
    labelled.set(series, labels);
    return labels;
  };
  let found: string[] | undefined;
  const names = () => {
    found ??= [...new Set(Array.from(set.order, (series) => [...labelsAt(series).keys()]).flat())].sort();
    return found;
  };
  const labelOf = (series: number, name: number) => labelsAt(series).get(names()[name]!) ?? "";
  return { ...set, keyOf, names, labelOf };
}

/** Places of the points that have a value, group by group and in order of time. */
function pointsByGroup(
  { groups, buckets }: Aggregated["points"],
  values: Float64Array,
  starts: Uint32Array,
): Uint32Array {
  const next = starts.slice();
  const places = new Uint32Array(starts.at(-1)!);
  for (let point = 0; point < groups.length; point++) {
    if (Number.isNaN(values[point])) continue;
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
export function labelsOf(set: SeriesSet, series: number): LabelText[] {
  if (set.keyOf !== undefined) return JSON.parse(set.keyOf(series)) as LabelText[];
  const { names, labelOf } = set;
  return names().flatMap((name, i): LabelText[] => {
    const text = labelOf(series, i);
    return text === "" ? [] : [[name, text]];
  });
}

/** The same series in the order of their labels' texts. */
export function sortedByLabels(set: SeriesSet): SeriesSet {
  const keyOf = labelKeys(set);
  const keys = new Map(Array.from(set.order, (series) => [series, keyOf(series)]));
  const order = set.order.slice().sort((a, b) => compareTexts(keys.get(a)!, keys.get(b)!));
  return { ...set, order };
}

/** A text for each series that sorts them by their labels, made when first asked for. */
export function labelKeys(set: SeriesSet): (series: number) => string {
  if (set.keyOf !== undefined) return set.keyOf;
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

/** The same series with other values, point by point. */
export function mapValues(set: SeriesSet, map: (value: number) => number): SeriesSet {
  return { ...set, values: set.values.map(map) };
}

/** Series on their way to a set: each is begun, then its points are added in order of time. */
export class SeriesDraft {
  readonly #labels: Map<string, string>[] = [];
  readonly #starts: number[] = [];
  readonly #buckets: number[] = [];
  readonly #values: number[] = [];

  /** Texts of labels are not empty. */
  begin(labels: readonly LabelText[]): void {
    this.#labels.push(new Map(labels));
    this.#starts.push(this.#values.length);
  }

  point(bucket: number, value: number): void {
    this.#buckets.push(bucket);
    this.#values.push(value);
  }

  finish(): SeriesSet {
    const labels = this.#labels;
    const names = [...new Set(labels.flatMap((each) => [...each.keys()]))].sort();
    const starts = Uint32Array.from([...this.#starts, this.#values.length]);
    return {
      order: withPoints(starts),
      names: () => names,
      labelOf: (series, name) => labels[series]!.get(names[name]!) ?? "",
      starts,
      buckets: Float64Array.from(this.#buckets),
      values: Float64Array.from(this.#values),
    };
  }
}

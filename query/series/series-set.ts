import { isAscii } from "node:buffer";
import { type Aggregated, type TextVector, textAt } from "../../engine/index.ts";

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
export type LabelPair = [name: string, text: string];

/** A series of each group with the values of one aggregate; groups are labelled with one text for each name. */
export function toSeriesSet(
  { groups, labels, points }: Pick<Aggregated, "groups" | "labels" | "points">,
  names: readonly string[],
  aggregate: number,
): SeriesSet {
  const textOf = makeTextReader(labels);
  return {
    ...sortPointsByGroup(points, points.values[aggregate]!, groups),
    names: () => names,
    labelOf: (series, name) => textOf(series * names.length + name),
  };
}

/** Numbers of the series that have a point: one without any is none. */
function listSeriesWithPoints(starts: Uint32Array): Uint32Array {
  const order = new Uint32Array(starts.length - 1);
  let count = 0;
  for (let series = 0; series < order.length; series++) {
    if (starts[series + 1]! > starts[series]!) order[count++] = series;
  }
  return order.subarray(0, count);
}

/** The same where each group is labelled with one text, the JSON of its labels as pairs of name and text in the order of the names. */
export function toSeriesSetOfPairs(aggregated: Pick<Aggregated, "groups" | "labels" | "points">): SeriesSet {
  const set = toSeriesSet(aggregated, ["labels"], 0);
  const keyOf = makeTextReader(aggregated.labels);
  const labelled = new Map<number, Map<string, string>>();
  const labelsAt = (series: number) => {
    const labels = labelled.get(series) ?? new Map(JSON.parse(keyOf(series)) as LabelPair[]);
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

/** Reads the texts of a vector. Where all are ASCII they are decoded at once: a part of a string costs next to nothing. */
function makeTextReader(texts: TextVector): (text: number) => string {
  const { offsets, bytes } = texts;
  let whole: string | null | undefined;
  return (text) => {
    if (whole === undefined) whole = isAscii(bytes) ? decodeAscii(bytes) : null;
    return whole === null ? textAt(texts, text) : whole.slice(offsets[text], offsets[text + 1]);
  };
}

/** Of ASCII. */
function decodeAscii(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** Points that have a value, group by group and in order of time. */
function sortPointsByGroup(
  { groups, buckets }: Aggregated["points"],
  values: Float64Array,
  count: number,
): Pick<SeriesSet, "order" | "starts" | "buckets" | "values"> {
  const starts = new Uint32Array(count + 1);
  for (let point = 0; point < groups.length; point++) {
    // A point without any number has no value.
    if (!Number.isNaN(values[point])) starts[groups[point]! + 1]!++;
  }
  for (let group = 0; group < count; group++) starts[group + 1] = starts[group + 1]! + starts[group]!;
  const next = starts.slice();
  const ownBuckets = new Float64Array(starts[count]!);
  const ownValues = new Float64Array(starts[count]!);
  const inOrder = orderByBucket(groups, buckets, count);
  for (let i = 0; i < groups.length; i++) {
    const point = inOrder === null ? i : inOrder[i]!;
    if (Number.isNaN(values[point])) continue;
    const at = next[groups[point]!]!++;
    ownBuckets[at] = buckets[point]!;
    ownValues[at] = values[point]!;
  }
  return { order: listSeriesWithPoints(starts), starts, buckets: ownBuckets, values: ownValues };
}

/** Buckets beyond this many a point are sorted by comparing. */
const bucketsPerPointMax = 4;

/** The points in order of time; null where those of each of so many groups come so. */
function orderByBucket(groups: Uint32Array, buckets: Float64Array, groupCount: number): Uint32Array | null {
  const count = buckets.length;
  const last = new Float64Array(groupCount).fill(Number.NEGATIVE_INFINITY);
  let isAscending = true;
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let point = 0; point < count; point++) {
    const bucket = buckets[point]!;
    const group = groups[point]!;
    if (bucket < last[group]!) isAscending = false;
    last[group] = bucket;
    if (bucket < least) least = bucket;
    if (bucket > greatest) greatest = bucket;
  }
  if (isAscending) return null;
  const width = greatest - least + 1;
  if (width > count * bucketsPerPointMax) {
    return Uint32Array.from({ length: count }, (_, point) => point).sort((a, b) => buckets[a]! - buckets[b]!);
  }
  const next = new Uint32Array(width + 1);
  for (let point = 0; point < count; point++) next[buckets[point]! - least + 1]!++;
  for (let bucket = 0; bucket < width; bucket++) next[bucket + 1] = next[bucket + 1]! + next[bucket]!;
  const order = new Uint32Array(count);
  for (let point = 0; point < count; point++) order[next[buckets[point]! - least]!++] = point;
  return order;
}

/** Without points that are infinite or no number, and without series that have no others. */
export function keepFinitePoints(set: SeriesSet): SeriesSet {
  const { values } = set;
  let point = 0;
  while (point < values.length && Number.isFinite(values[point])) point++;
  return point === values.length
    ? set
    : filterMapValues(set, (value) => (Number.isFinite(value) ? value : undefined));
}

/** The same series with other values; points for which there is none, and series that have no points then, are left out. */
export function filterMapValues(set: SeriesSet, map: (value: number) => number | undefined): SeriesSet {
  const { order, starts, buckets, values } = set;
  const ownStarts = new Uint32Array(starts.length);
  const ownBuckets = new Float64Array(values.length);
  const ownValues = new Float64Array(values.length);
  let count = 0;
  for (let series = 0; series + 1 < starts.length; series++) {
    for (let point = starts[series]!; point < starts[series + 1]!; point++) {
      const value = map(values[point]!);
      if (value === undefined) continue;
      ownBuckets[count] = buckets[point]!;
      ownValues[count++] = value;
    }
    ownStarts[series + 1] = count;
  }
  return {
    ...set,
    order: order.filter((series) => ownStarts[series + 1]! > ownStarts[series]!),
    starts: ownStarts,
    buckets: ownBuckets.subarray(0, count),
    values: ownValues.subarray(0, count),
  };
}

/** The labels of a series, without those that it lacks. */
export function labelsOf(set: SeriesSet, series: number): LabelPair[] {
  if (set.keyOf !== undefined) return JSON.parse(set.keyOf(series)) as LabelPair[];
  const { names, labelOf } = set;
  return names().flatMap((name, i): LabelPair[] => {
    const text = labelOf(series, i);
    return text === "" ? [] : [[name, text]];
  });
}

/** The same series in the order of their labels' texts. */
export function sortByLabels(set: SeriesSet): SeriesSet {
  const keyOf = makeLabelKeyReader(set);
  const keyed = Array.from(set.order, (series) => ({ series, key: keyOf(series) }));
  // As an array and not a vector: its sort finds the runs in which threads hand over their series.
  keyed.sort((a, b) => compareTexts(a.key, b.key));
  return { ...set, order: Uint32Array.from(keyed, ({ series }) => series) };
}

/** A text for each series that sorts them by their labels, made when first asked for. */
export function makeLabelKeyReader(set: SeriesSet): (series: number) => string {
  if (set.keyOf !== undefined) return set.keyOf;
  const keys = new Map<number, string>();
  return (series) => {
    let key = keys.get(series);
    if (key === undefined) {
      key = labelKeyOf(set, series);
      keys.set(series, key);
    }
    return key;
  };
}

/** The same text for one series. */
export function labelKeyOf(set: SeriesSet, series: number): string {
  return set.keyOf?.(series) ?? JSON.stringify(labelsOf(set, series));
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The same series with other values, point by point. */
export function mapValues(set: SeriesSet, map: (value: number) => number): SeriesSet {
  return { ...set, values: set.values.map(map) };
}

/** Series on their way to a set: each is begun, then its points are added in order of time. */
export class SeriesBuilder {
  readonly #labels: Map<string, string>[] = [];
  readonly #starts: number[] = [];
  readonly #buckets: number[] = [];
  readonly #values: number[] = [];

  /** Texts of labels are not empty. */
  beginSeries(labels: readonly LabelPair[]): void {
    this.#labels.push(new Map(labels));
    this.#starts.push(this.#values.length);
  }

  addPoint(bucket: number, value: number): void {
    this.#buckets.push(bucket);
    this.#values.push(value);
  }

  build(): SeriesSet {
    const labels = this.#labels;
    const names = [...new Set(labels.flatMap((each) => [...each.keys()]))].sort();
    const starts = Uint32Array.from([...this.#starts, this.#values.length]);
    return {
      order: listSeriesWithPoints(starts),
      names: () => names,
      labelOf: (series, name) => labels[series]!.get(names[name]!) ?? "",
      starts,
      buckets: Float64Array.from(this.#buckets),
      values: Float64Array.from(this.#values),
    };
  }
}

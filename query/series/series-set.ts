import { isAscii } from "node:buffer";
import { type AggregateResult, growArray, type TextVector, textAt } from "../../engine/index.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";

/**
 * Series as typed arrays. A series is an index into `starts`. Labels are decoded only when they are read, as most never
 * are: `topk` reads only the labels of the series that it keeps.
 */
export interface SeriesSet {
  /** Indexes of the series that have points, in the order of the answer. */
  order: Uint32Array;
  /** Names of all labels; null where the series have `keyOf`. */
  names: readonly string[] | null;
  /** A label's text, by series and name; "" where the series lacks the label. */
  labelOf: (series: number, name: string) => string;
  /**
   * The JSON of the labels of a series, as pairs sorted by name. Present where the store returned the labels in this
   * form.
   */
  keyOf?: (series: number) => string;
  /** The points of series s are at indexes from starts[s] to starts[s + 1], exclusive, in order of time. */
  starts: Uint32Array;
  /** For each point, the index of its bucket in the range. */
  buckets: Float64Array;
  values: Float64Array;
}

/** A label of a series. The text is not empty. */
export type LabelPair = [name: string, text: string];

/**
 * Makes one series of each group. Its points have the values of the aggregation at index `aggregate`. `labels` holds
 * one text for each group and name.
 */
export async function toSeriesSet(
  { groups, labels, points }: Pick<AggregateResult, "groups" | "labels" | "points">,
  names: readonly string[],
  aggregate: number,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const textOf = makeTextReader(labels);
  return {
    ...(await sortPointsByGroup(points, points.values[aggregate]!, groups, work)),
    names,
    labelOf: (series, name) => {
      const label = names.indexOf(name);
      return label < 0 ? "" : textOf(series * names.length + label);
    },
  };
}

/** Indexes of the series that have a point. A group without points is no series. */
function listSeriesWithPoints(starts: Uint32Array): Uint32Array {
  const order = new Uint32Array(starts.length - 1);
  let count = 0;
  for (let series = 0; series < order.length; series++) {
    if (starts[series + 1]! > starts[series]!) order[count++] = series;
  }
  return order.subarray(0, count);
}

/**
 * Makes one series of each group. `labels` holds one text for each group: the JSON of its labels, as pairs sorted by
 * name.
 */
export async function toSeriesSetOfPairs(
  aggregated: Pick<AggregateResult, "groups" | "labels" | "points">,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const set = await toSeriesSet(aggregated, ["labels"], 0, work);
  const keyOf = makeTextReader(aggregated.labels);
  const parsed = new Map<number, Map<string, string>>();
  const parseLabels = (series: number) => {
    const labels = parsed.get(series) ?? new Map(JSON.parse(keyOf(series)) as LabelPair[]);
    parsed.set(series, labels);
    return labels;
  };
  const labelOf = (series: number, name: string) => parseLabels(series).get(name) ?? "";
  return { ...set, keyOf, names: null, labelOf };
}

/** Bytes of labels that are decoded at once: about a millisecond. */
const slabBytes = 2 ** 22;

/**
 * Returns a function that reads the texts of a vector. ASCII bytes are decoded slab by slab, as slicing a string is
 * almost free.
 */
function makeTextReader(texts: TextVector): (text: number) => string {
  const { offsets, bytes } = texts;
  /** Null where a slab is not ASCII. */
  const slabs: (string | null | undefined)[] = [];
  return (text) => {
    const [from, to] = [offsets[text]!, offsets[text + 1]!];
    const slab = Math.floor(from / slabBytes);
    const start = slab * slabBytes;
    if (slabs[slab] === undefined) slabs[slab] = decodeAscii(bytes.subarray(start, start + slabBytes));
    const whole = slabs[slab] as string | null;
    return whole === null || to > start + slabBytes
      ? textAt(texts, text)
      : whole.slice(from - start, to - start);
  };
}

function decodeAscii(bytes: Uint8Array): string | null {
  return isAscii(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
    : null;
}

/** Sorts points by group and then by time, and drops those without a value. `count` is the number of groups. */
async function sortPointsByGroup(
  { groups, buckets }: AggregateResult["points"],
  values: Float64Array,
  count: number,
  work: WorkDeadline,
): Promise<Pick<SeriesSet, "order" | "starts" | "buckets" | "values">> {
  const starts = new Uint32Array(count + 1);
  for (let point = 0; point < groups.length; point++) {
    // NaN means that none of the rows has a number.
    if (!Number.isNaN(values[point])) starts[groups[point]! + 1]!++;
  }
  for (let group = 0; group < count; group++) starts[group + 1] = starts[group + 1]! + starts[group]!;
  const next = starts.slice();
  const sortedBuckets = new Float64Array(starts[count]!);
  const sortedValues = new Float64Array(starts[count]!);
  await work.yield();
  const inOrder = await orderByBucket(groups, buckets, count, work);
  await work.yield();
  for (let i = 0; i < groups.length; i++) {
    const point = inOrder === null ? i : inOrder[i]!;
    if (Number.isNaN(values[point])) continue;
    const at = next[groups[point]!]!++;
    sortedBuckets[at] = buckets[point]!;
    sortedValues[at] = values[point]!;
  }
  await work.yield();
  return { order: listSeriesWithPoints(starts), starts, buckets: sortedBuckets, values: sortedValues };
}

/** Up to this many buckets per point, a counting sort orders the points. Above, a sort by comparison does. */
const bucketsPerPointMax = 4;

/** Indexes of all points in order of time; null where the points of each group are in order of time already. */
async function orderByBucket(
  groups: Uint32Array,
  buckets: Float64Array,
  groupCount: number,
  work: WorkDeadline,
): Promise<Uint32Array | null> {
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
    const points = new Uint32Array(count);
    for (let point = 0; point < count; point++) points[point] = point;
    return sortInTurns(points, (a, b) => buckets[a]! - buckets[b]!, work);
  }
  const next = new Uint32Array(width + 1);
  for (let point = 0; point < count; point++) next[buckets[point]! - least + 1]!++;
  for (let bucket = 0; bucket < width; bucket++) next[bucket + 1] = next[bucket + 1]! + next[bucket]!;
  const order = new Uint32Array(count);
  for (let point = 0; point < count; point++) order[next[buckets[point]! - least]!++] = point;
  return order;
}

/** Drops points that are infinite or NaN, and series that are left without points. */
export function keepFinitePoints(set: SeriesSet): SeriesSet {
  const { values } = set;
  let point = 0;
  while (point < values.length && Number.isFinite(values[point])) point++;
  return point === values.length
    ? set
    : filterMapValues(set, (value) => (Number.isFinite(value) ? value : undefined));
}

/**
 * Replaces the value of each point. Drops points for which `map` returns undefined, and series that are left without
 * points.
 */
export function filterMapValues(set: SeriesSet, map: (value: number) => number | undefined): SeriesSet {
  return filterPoints(set, (point) => map(set.values[point]!));
}

/** The same, by index of the point. */
export function filterPoints(set: SeriesSet, mapPoint: (point: number) => number | undefined): SeriesSet {
  const { order, starts, buckets, values } = set;
  const newStarts = new Uint32Array(starts.length);
  const newBuckets = new Float64Array(values.length);
  const newValues = new Float64Array(values.length);
  let count = 0;
  for (let series = 0; series + 1 < starts.length; series++) {
    for (let point = starts[series]!; point < starts[series + 1]!; point++) {
      const value = mapPoint(point);
      if (value === undefined) continue;
      newBuckets[count] = buckets[point]!;
      newValues[count++] = value;
    }
    newStarts[series + 1] = count;
  }
  return {
    ...set,
    order: order.filter((series) => newStarts[series + 1]! > newStarts[series]!),
    starts: newStarts,
    buckets: newBuckets.subarray(0, count),
    values: newValues.subarray(0, count),
  };
}

/** The labels that a series has. */
export function labelsOf(set: SeriesSet, series: number): LabelPair[] {
  if (set.keyOf !== undefined) return JSON.parse(set.keyOf(series)) as LabelPair[];
  const { names, labelOf } = set;
  return names!.flatMap((name): LabelPair[] => {
    const text = labelOf(series, name);
    return text === "" ? [] : [[name, text]];
  });
}

/** Orders series by their labels. */
export async function sortByLabels(set: SeriesSet, work: WorkDeadline): Promise<SeriesSet> {
  const keyOf = makeLabelKeyReader(set);
  // Each key is made once, outside of the comparisons.
  for (const series of set.order) {
    keyOf(series);
    if (work.isTurnOver()) await work.yield();
  }
  const order = await sortInTurns(set.order, (a, b) => compareTexts(keyOf(a), keyOf(b)), work);
  return { ...set, order };
}

/**
 * Returns a function that gives the key by which a series is sorted by its labels. A key is made when it is first asked
 * for, and then kept.
 */
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

/** The sort key of one series by its labels. */
export function labelKeyOf(set: SeriesSet, series: number): string {
  return set.keyOf?.(series) ?? JSON.stringify(labelsOf(set, series));
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Replaces the value of each point. */
export function mapValues(set: SeriesSet, map: (value: number) => number): SeriesSet {
  return { ...set, values: set.values.map(map) };
}

/** Builds a set one series at a time: begin a series, then add its points in order of time. */
export class SeriesBuilder {
  readonly #labels: Map<string, string>[] = [];
  readonly #names = new Set<string>();
  readonly #starts: number[] = [];
  /** Of these the first `#count` are in use. */
  #buckets = new Float64Array(64);
  #values = new Float64Array(64);
  #count = 0;

  /** Begins a series. The texts of its labels must not be empty. */
  beginSeries(labels: readonly LabelPair[]): void {
    this.#labels.push(new Map(labels));
    for (const [name] of labels) this.#names.add(name);
    this.#starts.push(this.#count);
  }

  addPoint(bucket: number, value: number): void {
    if (this.#count === this.#values.length) this.#grow();
    this.#buckets[this.#count] = bucket;
    this.#values[this.#count++] = value;
  }

  build(): SeriesSet {
    const labels = this.#labels;
    const names = [...this.#names].sort();
    const starts = Uint32Array.from([...this.#starts, this.#count]);
    return {
      order: listSeriesWithPoints(starts),
      names,
      labelOf: (series, name) => labels[series]!.get(name) ?? "",
      starts,
      buckets: this.#buckets.subarray(0, this.#count),
      values: this.#values.subarray(0, this.#count),
    };
  }

  #grow(): void {
    this.#buckets = growArray(this.#buckets, this.#count * 2);
    this.#values = growArray(this.#values, this.#count * 2);
  }
}

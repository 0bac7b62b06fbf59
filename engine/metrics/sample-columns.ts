/** Samples in columns that grow, then are put in order of series and time. */
import { toWords } from "../vector/float-words.ts";
import { growArray } from "../vector/text.ts";

/** Samples in the order in which they came. Values are moved as bits: a NaN keeps its payload. */
export class SampleColumns {
  length = 0;
  series = new Uint32Array(64);
  timeNs = new Float64Array(64);
  values = new Float64Array(64);

  push(series: number, timeNs: number, value: number): void {
    if (this.length === this.series.length) this.reserve(1);
    this.series[this.length] = series;
    this.timeNs[this.length] = timeNs;
    this.values[this.length++] = value;
  }

  /** Samples of one series. */
  append(series: number, timeNs: Float64Array, values: Float64Array): void {
    this.reserve(timeNs.length);
    this.series.fill(series, this.length, this.length + timeNs.length);
    this.timeNs.set(timeNs, this.length);
    this.values.set(values, this.length);
    this.length += timeNs.length;
  }

  reserve(count: number): void {
    const length = this.length + count;
    if (length <= this.series.length) return;
    const room = Math.max(length, this.series.length * 2);
    this.series = growArray(this.series, room);
    this.timeNs = growNumbers(this.timeNs, room);
    this.values = growNumbers(this.values, room);
  }
}

/** Samples sorted by series, then time; no two of a series at the same time. */
export interface SortedSamples {
  /** Numbers of the series that have samples, in order. */
  series: Uint32Array;
  /** Of each series the first sample, and the number of all. */
  offsets: Uint32Array;
  timeNs: Float64Array;
  values: Float64Array;
}

/** `order`: numbers of the series in the order that the result has; each has a sample. Of samples at one time the last to come stays. */
export function sortSamples(samples: SampleColumns, order: Uint32Array): SortedSamples {
  const { length, series } = samples;
  const placeOf = new Uint32Array(order.reduce((most, number) => Math.max(most, number), 0) + 1);
  for (let place = 0; place < order.length; place++) placeOf[order[place]!] = place;
  const next = new Uint32Array(order.length + 1);
  for (let i = 0; i < length; i++) next[placeOf[series[i]!]! + 1]!++;
  for (let place = 0; place < order.length; place++) next[place + 1]! += next[place]!;
  const offsets = next.slice();
  const rows = new Uint32Array(length);
  for (let i = 0; i < length; i++) rows[next[placeOf[series[i]!]!]!++] = i;
  for (let place = 0; place < order.length; place++) {
    sortByTime(rows.subarray(offsets[place]!, offsets[place + 1]!), samples.timeNs);
  }
  return removeDuplicates(samples, order, offsets, rows);
}

/** Rows stand in order of arrival; equal times stay so. */
function sortByTime(rows: Uint32Array, timeNs: Float64Array): void {
  for (let i = 1; i < rows.length; i++) {
    if (timeNs[rows[i - 1]!]! <= timeNs[rows[i]!]!) continue;
    rows.sort((a, b) => timeNs[a]! - timeNs[b]! || a - b);
    return;
  }
}

function removeDuplicates(
  { timeNs, values }: SampleColumns,
  order: Uint32Array,
  offsets: Uint32Array,
  rows: Uint32Array,
): SortedSamples {
  const sorted: SortedSamples = {
    series: order,
    offsets: new Uint32Array(order.length + 1),
    timeNs: new Float64Array(rows.length),
    values: new Float64Array(rows.length),
  };
  const from = toWords(values);
  const to = toWords(sorted.values);
  let at = 0;
  for (let place = 0; place < order.length; place++) {
    const first = at;
    for (let i = offsets[place]!; i < offsets[place + 1]!; i++) {
      const row = rows[i]!;
      if (at > first && sorted.timeNs[at - 1] === timeNs[row]) at--;
      sorted.timeNs[at] = timeNs[row]!;
      to[at * 2] = from[row * 2]!;
      to[at * 2 + 1] = from[row * 2 + 1]!;
      at++;
    }
    sorted.offsets[place + 1] = at;
  }
  return { ...sorted, timeNs: sorted.timeNs.subarray(0, at), values: sorted.values.subarray(0, at) };
}

function growNumbers(array: Float64Array, length: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(length);
  larger.set(array);
  return larger;
}

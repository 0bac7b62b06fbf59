/** Growing columns of samples, and sorting them by series and time. */

import { growArray } from "../vector/arrays.ts";
import { toBitWords } from "../vector/float-bits.ts";

/** Samples in order of arrival. Values are copied as bits, so that a NaN keeps its payload. */
export class SampleColumns {
  /** Number of samples; the arrays are longer. */
  length = 0;
  series = new Uint32Array(64);
  /** Nanoseconds since the start of the day. */
  timeNs = new Float64Array(64);
  values = new Float64Array(64);

  push(series: number, timeNs: number, value: number): void {
    if (this.length === this.series.length) this.reserve(1);
    this.series[this.length] = series;
    this.timeNs[this.length] = timeNs;
    this.values[this.length++] = value;
  }

  /** Adds samples of one series. */
  append(series: number, timeNs: Float64Array, values: Float64Array): void {
    this.reserve(timeNs.length);
    this.series.fill(series, this.length, this.length + timeNs.length);
    this.timeNs.set(timeNs, this.length);
    this.values.set(values, this.length);
    this.length += timeNs.length;
  }

  /** Adds samples of several series. */
  appendRows(series: Uint32Array, timeNs: Float64Array, values: Float64Array): void {
    this.reserve(series.length);
    this.series.set(series, this.length);
    this.timeNs.set(timeNs, this.length);
    this.values.set(values, this.length);
    this.length += series.length;
  }

  /** Makes room for more samples. */
  reserve(count: number): void {
    const length = this.length + count;
    if (length <= this.series.length) return;
    const capacity = Math.max(length, this.series.length * 2);
    this.series = growArray(this.series, capacity);
    this.timeNs = growArray(this.timeNs, capacity);
    this.values = growArray(this.values, capacity);
  }
}

/** Samples sorted by series, then time; no two of a series at the same time. */
export interface SortedSamples {
  /** Numbers of the series that have samples, in order. */
  series: Uint32Array;
  /** Index of the first sample of each series, then the number of all samples. */
  offsets: Uint32Array;
  timeNs: Float64Array;
  values: Float64Array;
}

/**
 * Sorts samples. `order` lists the numbers of the series in the order of the result; each must have a sample. Of
 * samples of one series at the same time the last to arrive is kept.
 */
export function sortSamples(samples: SampleColumns, order: Uint32Array): SortedSamples {
  const { length, series } = samples;
  const positionOf = new Uint32Array(order.reduce((max, number) => Math.max(max, number), 0) + 1);
  for (let position = 0; position < order.length; position++) positionOf[order[position]!] = position;
  const next = new Uint32Array(order.length + 1);
  for (let i = 0; i < length; i++) next[positionOf[series[i]!]! + 1]!++;
  for (let position = 0; position < order.length; position++) next[position + 1]! += next[position]!;
  const offsets = next.slice();
  const rows = new Uint32Array(length);
  for (let i = 0; i < length; i++) rows[next[positionOf[series[i]!]!]!++] = i;
  for (let position = 0; position < order.length; position++) {
    sortByTime(rows.subarray(offsets[position]!, offsets[position + 1]!), samples.timeNs);
  }
  return removeDuplicates(samples, order, offsets, rows);
}

/** Sorts rows of one series, which are in order of arrival, by time; ties stay in order of arrival. */
function sortByTime(rows: Uint32Array, timeNs: Float64Array): void {
  for (let i = 1; i < rows.length; i++) {
    if (timeNs[rows[i - 1]!]! <= timeNs[rows[i]!]!) continue;
    rows.sort((a, b) => timeNs[a]! - timeNs[b]! || a - b);
    return;
  }
}

/** Copies the samples in order, without those that a later one at the same time replaces. */
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
  const from = toBitWords(values);
  const to = toBitWords(sorted.values);
  let at = 0;
  for (let position = 0; position < order.length; position++) {
    const first = at;
    for (let i = offsets[position]!; i < offsets[position + 1]!; i++) {
      const row = rows[i]!;
      if (at > first && sorted.timeNs[at - 1] === timeNs[row]) at--;
      sorted.timeNs[at] = timeNs[row]!;
      to[at * 2] = from[row * 2]!;
      to[at * 2 + 1] = from[row * 2 + 1]!;
      at++;
    }
    sorted.offsets[position + 1] = at;
  }
  return { ...sorted, timeNs: sorted.timeNs.subarray(0, at), values: sorted.values.subarray(0, at) };
}

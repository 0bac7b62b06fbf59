/** Access to a chunk of metrics by series: names, labels, and each series' samples as contiguous vectors. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Column } from "../column/column.ts";
import { columnText } from "../column/column.ts";
import { Failure } from "../failure.ts";
import { findLastAtMost } from "../vector/binary-search.ts";

/**
 * Series are numbered from 0 in the order of the chunk. Throws Failure "damage" where the chunk has no fingerprints.
 */
export class SeriesView {
  readonly view: ChunkView;
  /** Fingerprints of the series as 32-bit halves: low, high, low, high … */
  readonly fingerprints: Uint32Array;
  /** Index of the first sample of each series, then the number of all samples. */
  readonly #offsets: Float64Array;
  /** For each series the index in `#times` at which its list starts. */
  readonly #clocks: Float64Array;
  /** Undefined until times are asked for. */
  #times: Float64Array | undefined;
  /** First series of each `value` column. */
  readonly #blocks: Uint32Array;
  /** Index in the header of each `value` column. */
  readonly #blockColumns: number[] = [];
  /** Values of each `value` column, undefined until asked for. */
  readonly #values: (Float64Array | undefined)[] = [];

  constructor(view: ChunkView) {
    this.view = view;
    const fingerprints = view.seriesColumn("fingerprint");
    if (fingerprints.kind !== "hex") throw new Failure("damage", "column: no fingerprints");
    const { buffer, byteOffset } = fingerprints.bytes;
    this.fingerprints = new Uint32Array(buffer, byteOffset, view.rows * 2);
    this.#offsets = view.numbers("samples");
    this.#clocks = view.numbers("clock");
    const firsts: number[] = [];
    for (const [column, { role, key }] of view.header.columns.all().entries()) {
      if (role !== "value") continue;
      firsts.push(Number(key));
      this.#blockColumns.push(column);
    }
    this.#blocks = Uint32Array.from(firsts);
  }

  /** Number of series. */
  get series(): number {
    return this.view.rows;
  }

  /** Number of samples of a series. */
  samplesOf(series: number): number {
    return this.#offsets[series + 1]! - this.#offsets[series]!;
  }

  /** Times of a series: nanoseconds since the start of the day, strictly ascending. */
  timesOf(series: number): Float64Array {
    const start = this.#clocks[series]!;
    this.#times ??= this.view.numbers("time");
    return this.#times.subarray(start, start + this.samplesOf(series));
  }

  /** Values of a series, one for each of its times. */
  valuesOf(series: number): Float64Array {
    const block = findLastAtMost(this.#blocks, series);
    this.#values[block] ??= this.#readBlock(block);
    const first = this.#offsets[this.#blocks[block]!]!;
    return this.#values[block].subarray(this.#offsets[series]! - first, this.#offsets[series + 1]! - first);
  }

  name(series: number): string {
    return columnText(this.view.seriesColumn("name"), series) ?? "";
  }

  type(series: number): string {
    return columnText(this.view.seriesColumn("type"), series) ?? "unknown";
  }

  unit(series: number): string {
    return columnText(this.view.seriesColumn("unit"), series) ?? "";
  }

  /** Every label of a series. */
  labels(series: number): [key: string, value: string][] {
    return this.view.attributes(series);
  }

  #readBlock(block: number): Float64Array {
    const from = this.#blocks[block]!;
    const to = this.#blocks[block + 1] ?? this.series;
    return this.view.samples(this.#blockColumns[block]!, this.#offsets.subarray(from, to + 1));
  }
}

/** Returns a predicate: is this the name of a series? Compares codes, not texts, where the column is a dictionary. */
export function matchSeriesName(names: Column, name: string): (series: number) => boolean {
  if (names.kind !== "dictionary") return (series) => columnText(names, series) === name;
  const wanted = Buffer.from(name, "utf8");
  const { offsets, bytes } = names.values;
  const { codes } = names;
  for (let code = 0; code < names.valueCount; code++) {
    const text = bytes.subarray(offsets[code], offsets[code + 1]);
    if (wanted.equals(text)) return (series) => codes[series] === code;
  }
  return () => false;
}

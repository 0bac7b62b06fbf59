/**
 * Encodes samples as chunks of metrics. A chunk has for each series its name, type, unit, labels and fingerprint, the
 * index of its first sample and the index of its first time; and for each sample a value. Series that were sampled at
 * the same times share one list of times. FORMAT.md describes the columns.
 */

import { AttributeBuilder, toDenseAttribute } from "../chunk/chunk-builder.ts";
import { type ChunkCaps, fullChunkCaps } from "../chunk/chunk-caps.ts";
import {
  addAttribute,
  type EncodeOptions,
  makeColumnAppender,
  makeColumnHeader,
  toOverflowAttribute,
} from "../chunk/chunk-encoder.ts";
import type { ColumnRole, EncodedChunk } from "../chunk/chunk-header.ts";
import { encodeBytes, encodeDelta, encodeSamples } from "../column/encoding.ts";
import { bytesOf } from "../files/column-payload.ts";
import { attributeColumnsMax, valueBlockSamples } from "../limits.ts";
import type { MetricType } from "../model/sample.ts";
import type { TextVector } from "../vector/text.ts";
import { TextTable, toByteSource } from "../vector/text-table.ts";
import { type SampleColumns, type SortedSamples, sortSamples } from "./sample-columns.ts";
import { forEachText } from "./series-identity.ts";
import type { EncodableSeries } from "./series-table.ts";

/** Samples of one day with their series, and the range of arrival numbers of the chunks or batch that they came in. */
export interface SampleChunkBuilder {
  table: EncodableSeries;
  samples: SampleColumns;
  arrivalMin: number;
  arrivalMax: number;
}

/** Sealed chunks have their series in the order of their identities; parts have them in order of first arrival. */
export function encodeSampleChunks(builder: SampleChunkBuilder, options: EncodeOptions): EncodedChunk[] {
  const { table, samples } = builder;
  if (samples.length === 0) return [];
  const order = findSeriesWithSamples(table, samples);
  if (options.sealed) sortByIdentity(order, table.identities());
  const sorted = sortSamples(samples, order);
  return splitSamples(sorted, options.caps ?? fullChunkCaps).map((piece) =>
    encodeChunk(builder, piece, options),
  );
}

/** Finds the numbers of the series that have samples, in the order of their first samples. */
function findSeriesWithSamples(table: EncodableSeries, { series, length }: SampleColumns): Uint32Array {
  const has = new Uint8Array(table.size);
  const order = new Uint32Array(Math.min(table.size, length));
  let count = 0;
  for (let i = 0; i < length; i++) {
    const number = series[i]!;
    if (has[number] === 1) continue;
    has[number] = 1;
    order[count++] = number;
  }
  return order.subarray(0, count);
}

function sortByIdentity(order: Uint32Array, { offsets, bytes }: TextVector): void {
  const source = toByteSource(bytes).bytes;
  order.sort((a, b) => source.compare(source, offsets[b]!, offsets[b + 1]!, offsets[a]!, offsets[a + 1]!));
}

/** Splits samples into pieces of at most `samplesMax`. A series may continue in the next piece. */
function splitSamples(sorted: SortedSamples, { samplesMax }: ChunkCaps): SortedSamples[] {
  const { series, offsets, timeNs, values } = sorted;
  if (values.length <= samplesMax) return [sorted];
  const pieces: SortedSamples[] = [];
  let first = 0;
  for (let from = 0; from < values.length; from += samplesMax) {
    const to = Math.min(values.length, from + samplesMax);
    while (offsets[first + 1]! <= from) first++;
    let end = first;
    while (offsets[end]! < to) end++;
    const pieceOffsets = offsets
      .slice(first, end + 1)
      .map((offset) => Math.min(Math.max(offset, from), to) - from);
    pieces.push({
      series: series.subarray(first, end),
      offsets: pieceOffsets,
      timeNs: timeNs.subarray(from, to),
      values: values.subarray(from, to),
    });
  }
  return pieces;
}

function encodeChunk(
  builder: SampleChunkBuilder,
  sorted: SortedSamples,
  options: EncodeOptions,
): EncodedChunk {
  const { series, offsets, timeNs, values } = sorted;
  const { arrivalMin, arrivalMax } = builder;
  let timeNsMin = Number.POSITIVE_INFINITY;
  let timeNsMax = 0;
  for (const time of timeNs) {
    if (time < timeNsMin) timeNsMin = time;
    if (time > timeNsMax) timeNsMax = time;
  }
  const rows = values.length;
  const chunk: EncodedChunk = {
    header: { rows, series: series.length, timeNsMin, timeNsMax, arrivalMin, arrivalMax, columns: [] },
    payloads: [],
    filters: [],
  };
  const add = makeColumnAppender(chunk);
  const shared = shareTimes(sorted);
  add(makeColumnHeader("time", "", rows), encodeSteps(shared.timeNs), undefined);
  add(makeColumnHeader("clock", "", series.length), encodeSteps(shared.starts), undefined);
  add(makeColumnHeader("samples", "", series.length), encodeSteps(Float64Array.from(offsets)), undefined);
  const names = addSeriesColumns(chunk, builder.table, series, options);
  for (const [from, to] of planValueBlocks(offsets, names)) {
    const block = values.subarray(offsets[from], offsets[to]);
    const blockOffsets = offsets.slice(from, to + 1).map((offset) => offset - offsets[from]!);
    const encoded = encodeSamples(block, blockOffsets, { packed: options.sealed });
    add(makeColumnHeader("value", String(from), block.length), encoded, undefined);
  }
  return chunk;
}

/**
 * Plans ranges of series. The values of a range form one column, so that a query for one metric need not read all
 * values. From `valueBlockSamples` samples on, a range ends at the end of a metric, or within the metric when it has
 * twice as many samples. Series of one metric are often alike, which compresses well.
 */
function planValueBlocks(offsets: Uint32Array, names: Uint32Array): [from: number, to: number][] {
  const blocks: [number, number][] = [];
  const series = offsets.length - 1;
  for (let from = 0; from < series; ) {
    let to = from + 1;
    for (; to < series; to++) {
      const samples = offsets[to]! - offsets[from]!;
      const isInside = names[to] === names[to - 1] && samples < valueBlockSamples * 2;
      if (samples >= valueBlockSamples && !isInside) break;
    }
    blocks.push([from, to]);
    from = to;
  }
  return blocks;
}

/** Returns the distinct lists of times, concatenated, and for each series the index at which its list starts. */
function shareTimes({ offsets, timeNs }: SortedSamples): { timeNs: Float64Array; starts: Float64Array } {
  const series = offsets.length - 1;
  const lists = new TextTable();
  const source = toByteSource(bytesOf(timeNs));
  const shared = new Float64Array(timeNs.length);
  const startOf: number[] = [];
  const starts = new Float64Array(series);
  let length = 0;
  for (let i = 0; i < series; i++) {
    const list = lists.intern(source, offsets[i]! * 8, offsets[i + 1]! * 8);
    if (list === startOf.length) {
      startOf.push(length);
      shared.set(timeNs.subarray(offsets[i], offsets[i + 1]), length);
      length += offsets[i + 1]! - offsets[i]!;
    }
    starts[i] = startOf[list]!;
  }
  return { timeNs: shared.subarray(0, length), starts };
}

function encodeSteps(values: Float64Array): ReturnType<typeof encodeDelta> {
  return encodeDelta(values, findCommonStep(values));
}

/** Estimates the most common difference from one number to the next, from about a thousand of them. */
function findCommonStep(values: Float64Array): number {
  const seen = new Map<number, number>();
  const every = Math.max(1, Math.floor(values.length / 1024));
  for (let i = 1; i < values.length; i += every) {
    const step = values[i]! - values[i - 1]!;
    seen.set(step, (seen.get(step) ?? 0) + 1);
  }
  let commonStep = 0;
  let countMax = 0;
  for (const [step, count] of seen) {
    if (count <= countMax) continue;
    commonStep = step;
    countMax = count;
  }
  return commonStep;
}

/** Appends the columns that have a value for each series. Returns for each series the dictionary code of its name. */
function addSeriesColumns(
  chunk: EncodedChunk,
  table: EncodableSeries,
  series: Uint32Array,
  options: EncodeOptions,
): Uint32Array {
  const add = makeColumnAppender(chunk);
  const { offsets, bytes } = table.identities();
  const source = toByteSource(bytes);
  const fingerprintOf = table.fingerprints();
  const fingerprints = new Uint32Array(series.length * 2);
  const name = new AttributeBuilder();
  const labels = new LabelBuilders();
  for (let i = 0; i < series.length; i++) {
    const from = offsets[series[i]!]!;
    const to = offsets[series[i]! + 1]!;
    fingerprints[i * 2] = fingerprintOf[series[i]! * 2]!;
    fingerprints[i * 2 + 1] = fingerprintOf[series[i]! * 2 + 1]!;
    let label: AttributeBuilder;
    // The texts of an identity are the name, then for each label its key and its value.
    forEachText(bytes, from, to, (index, textFrom, textTo) => {
      if (index === 0) name.push(i, name.values.intern(source, textFrom, textTo));
      else if (index % 2 === 1) label = labels.getBuilder(source, textFrom, textTo);
      else label.push(i, label.values.intern(source, textFrom, textTo));
    });
  }
  add(makeColumnHeader("fingerprint", "", series.length), encodeBytes(bytesOf(fingerprints), 8), undefined);
  const rows = series.length;
  const addColumn = (role: ColumnRole, key: string, builder: AttributeBuilder) =>
    addAttribute(add, makeColumnHeader(role, key, 0), toDenseAttribute(builder, rows, undefined), options);
  addColumn("name", "", name);
  addColumn("type", "", collectTypes(table, series));
  addColumn("unit", "", collectUnits(table, series));
  const byCount = labels.list().sort(([, a], [, b]) => b.count - a.count);
  for (const [key, builder] of byCount.slice(0, attributeColumnsMax)) addColumn("attribute", key, builder);
  const overflow = byCount.slice(attributeColumnsMax);
  if (overflow.length > 0) {
    const sparse = overflow.map(([key, { count, rows, codes, values }]) => {
      return { key, count, rows, codes, values: values.texts() };
    });
    addColumn("rest", "", toOverflowAttribute(sparse));
  }
  return name.codes;
}

/** Columns of labels by key. A key is looked up as bytes, without creating a string. */
class LabelBuilders {
  readonly #keys = new TextTable();
  readonly #builders: AttributeBuilder[] = [];

  getBuilder(source: ReturnType<typeof toByteSource>, from: number, to: number): AttributeBuilder {
    const key = this.#keys.intern(source, from, to);
    this.#builders[key] ??= new AttributeBuilder();
    return this.#builders[key];
  }

  list(): [key: string, AttributeBuilder][] {
    return this.#builders.map((builder, key) => [this.#keys.textOf(key), builder]);
  }
}

function collectTypes(table: EncodableSeries, series: Uint32Array): AttributeBuilder {
  const builder = new AttributeBuilder();
  const codeOf = new Map<MetricType, number>();
  for (let i = 0; i < series.length; i++) {
    const type = table.typeOf(series[i]!);
    const code = codeOf.get(type);
    if (code === undefined) {
      builder.pushText(i, type);
      codeOf.set(type, builder.codes[i]!);
    } else builder.push(i, code);
  }
  return builder;
}

/** Collects the unit of each series that has one. */
function collectUnits(table: EncodableSeries, series: Uint32Array): AttributeBuilder {
  const builder = new AttributeBuilder();
  const units = table.units();
  const source = toByteSource(units.bytes);
  for (let i = 0; i < series.length; i++) {
    const unit = table.unitOf(series[i]!);
    if (unit < 0) continue;
    builder.push(i, builder.values.intern(source, units.offsets[unit]!, units.offsets[unit + 1]!));
  }
  return builder;
}

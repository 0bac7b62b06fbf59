/**
 * From samples to chunks of metrics: for each series its name, type, unit, labels, fingerprint, the place of its first sample and that
 * of its first time; for each sample a value. Series that were sampled at the same times share these.
 */

import { AttributeBuilder, toDenseAttribute } from "../chunk/chunk-builder.ts";
import {
  addAttribute,
  makeColumnAppender,
  makeColumnHeader,
  toOverflowAttribute,
} from "../chunk/chunk-encoder.ts";
import type { EncodedChunk } from "../chunk/chunk-header.ts";
import { encodeBytes, encodeDelta, encodeSamples } from "../column/encoding.ts";
import { bytesOf } from "../files/payload.ts";
import { attributeColumnsMax, chunkSamplesMax, valueBlockSamples } from "../limits.ts";
import type { TextVector } from "../vector/text.ts";
import { byteSource, TextTable } from "../vector/text-table.ts";
import { hashWord } from "../vector/xxhash.ts";
import { type SampleColumns, type SortedSamples, sortSamples } from "./sample-columns.ts";
import { forEachText } from "./series-identity.ts";
import type { SeriesTable } from "./series-table.ts";

/** Samples of one day with their series, and the arrival numbers that they cover. */
export interface SampleChunkBuilder {
  table: SeriesTable;
  samples: SampleColumns;
  arrivalMin: number;
  arrivalMax: number;
}

/** `sealed`: for disk, with series in the order of their identities; else in the order in which they came. */
export function encodeSampleChunks(draft: SampleChunkBuilder, options: { sealed: boolean }): EncodedChunk[] {
  const { table, samples } = draft;
  if (samples.length === 0) return [];
  const order = seriesWithSamples(table, samples);
  if (options.sealed) sortByIdentity(order, table.identities.texts());
  const sorted = sortSamples(samples, order);
  return splitSamples(sorted).map((part) => encodeChunk(draft, part, options));
}

function seriesWithSamples(table: SeriesTable, { series, length }: SampleColumns): Uint32Array {
  const has = new Uint8Array(table.identities.size);
  const order = new Uint32Array(Math.min(table.identities.size, length));
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
  const source = byteSource(bytes).bytes;
  order.sort((a, b) => source.compare(source, offsets[b]!, offsets[b + 1]!, offsets[a]!, offsets[a + 1]!));
}

/** Parts of at most a chunk's samples; one series may lie in two of them. */
function splitSamples(sorted: SortedSamples): SortedSamples[] {
  const { series, offsets, timeNs, values } = sorted;
  if (values.length <= chunkSamplesMax) return [sorted];
  const parts: SortedSamples[] = [];
  let first = 0;
  for (let from = 0; from < values.length; from += chunkSamplesMax) {
    const to = Math.min(values.length, from + chunkSamplesMax);
    while (offsets[first + 1]! <= from) first++;
    let end = first;
    while (offsets[end]! < to) end++;
    const own = offsets.slice(first, end + 1).map((offset) => Math.min(Math.max(offset, from), to) - from);
    parts.push({
      series: series.subarray(first, end),
      offsets: own,
      timeNs: timeNs.subarray(from, to),
      values: values.subarray(from, to),
    });
  }
  return parts;
}

function encodeChunk(
  draft: SampleChunkBuilder,
  sorted: SortedSamples,
  options: { sealed: boolean },
): EncodedChunk {
  const { series, offsets, timeNs, values } = sorted;
  const { arrivalMin, arrivalMax } = draft;
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
  const clocks = shareTimes(sorted);
  add(
    makeColumnHeader("time", "", rows),
    encodeDelta(clocks.timeNs, findCommonStep(clocks.timeNs)),
    undefined,
  );
  add(makeColumnHeader("clock", "", series.length), encodeOffsets(clocks.places), undefined);
  add(makeColumnHeader("samples", "", series.length), encodeOffsets(Float64Array.from(offsets)), undefined);
  const names = addSeriesColumns(chunk, draft.table, series, options);
  for (const [from, to] of planValueBlocks(offsets, names)) {
    const block = values.subarray(offsets[from], offsets[to]);
    const places = offsets.slice(from, to + 1).map((offset) => offset - offsets[from]!);
    const encoded = encodeSamples(block, places, { packed: options.sealed });
    add(makeColumnHeader("value", String(from), block.length), encoded, undefined);
  }
  return chunk;
}

/**
 * Ranges of series whose values are one column: whoever asks for one metric need not read all. They end with a metric where that does
 * not make them twice as long, for its series are often like each other.
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

/** The different lists of times, one after the other, and for each series where its own begins. */
function shareTimes({ offsets, timeNs }: SortedSamples): { timeNs: Float64Array; places: Float64Array } {
  const series = offsets.length - 1;
  const lists = new TextTable();
  const source = byteSource(bytesOf(timeNs));
  const shared = new Float64Array(timeNs.length);
  const startOf: number[] = [];
  const places = new Float64Array(series);
  let length = 0;
  for (let i = 0; i < series; i++) {
    const list = lists.codeOf(source, offsets[i]! * 8, offsets[i + 1]! * 8);
    if (list === startOf.length) {
      startOf.push(length);
      shared.set(timeNs.subarray(offsets[i], offsets[i + 1]), length);
      length += offsets[i + 1]! - offsets[i]!;
    }
    places[i] = startOf[list]!;
  }
  return { timeNs: shared.subarray(0, length), places };
}

function encodeOffsets(values: Float64Array): ReturnType<typeof encodeDelta> {
  return encodeDelta(values, findCommonStep(values));
}

/** The commonest difference from one number to the next, as far as a few candidates tell. */
function findCommonStep(values: Float64Array): number {
  const seen = new Map<number, number>();
  const every = Math.max(1, Math.floor(values.length / 1024));
  for (let i = 1; i < values.length; i += every) {
    const step = values[i]! - values[i - 1]!;
    seen.set(step, (seen.get(step) ?? 0) + 1);
  }
  let common = 0;
  let most = 0;
  for (const [step, count] of seen) {
    if (count <= most) continue;
    common = step;
    most = count;
  }
  return common;
}

/** Columns of the series: fingerprint, name, type, unit, and an attribute for each label. Returns a number for each one's name. */
function addSeriesColumns(
  chunk: EncodedChunk,
  table: SeriesTable,
  series: Uint32Array,
  options: { sealed: boolean },
): Uint32Array {
  const add = makeColumnAppender(chunk);
  const { offsets, bytes } = table.identities.texts();
  const source = byteSource(bytes);
  const fingerprints = new Uint32Array(series.length * 2);
  const name = new AttributeBuilder();
  const labels = new LabelBuilders();
  for (let i = 0; i < series.length; i++) {
    const from = offsets[series[i]!]!;
    const to = offsets[series[i]! + 1]!;
    const { high, low } = hashWord(bytes, from, to);
    fingerprints[i * 2] = low;
    fingerprints[i * 2 + 1] = high;
    let label: AttributeBuilder;
    forEachText(bytes, from, to, (index, textFrom, textTo) => {
      if (index === 0) name.push(i, name.values.codeOf(source, textFrom, textTo));
      else if (index % 2 === 1) label = labels.getBuilder(source, textFrom, textTo);
      else label.push(i, label.values.codeOf(source, textFrom, textTo));
    });
  }
  add(makeColumnHeader("fingerprint", "", series.length), encodeBytes(bytesOf(fingerprints), 8), undefined);
  const rows = series.length;
  const addColumn = (
    role: "name" | "type" | "unit" | "attribute" | "rest",
    key: string,
    draft: AttributeBuilder,
  ) => addAttribute(add, makeColumnHeader(role, key, 0), toDenseAttribute(draft, rows, undefined), options);
  addColumn("name", "", name);
  addColumn("type", "", collectTypes(table, series));
  addColumn("unit", "", collectUnits(table, series));
  const byCount = labels.list().sort(([, a], [, b]) => b.count - a.count);
  for (const [key, draft] of byCount.slice(0, attributeColumnsMax)) addColumn("attribute", key, draft);
  const rest = byCount.slice(attributeColumnsMax);
  if (rest.length > 0) addColumn("rest", "", toOverflowAttribute(rest));
  return name.codes;
}

/** Labels by key, which are found without a string for each. */
class LabelBuilders {
  readonly #keys = new TextTable();
  readonly #drafts: AttributeBuilder[] = [];

  getBuilder(source: ReturnType<typeof byteSource>, from: number, to: number): AttributeBuilder {
    const key = this.#keys.codeOf(source, from, to);
    this.#drafts[key] ??= new AttributeBuilder();
    return this.#drafts[key];
  }

  list(): [key: string, AttributeBuilder][] {
    return this.#drafts.map((draft, key) => [this.#keys.textOf(key), draft]);
  }
}

function collectTypes(table: SeriesTable, series: Uint32Array): AttributeBuilder {
  const draft = new AttributeBuilder();
  for (let i = 0; i < series.length; i++) draft.pushText(i, table.typeOf(series[i]!));
  return draft;
}

/** A series without a unit has no entry. */
function collectUnits(table: SeriesTable, series: Uint32Array): AttributeBuilder {
  const draft = new AttributeBuilder();
  const units = table.units.texts();
  const source = byteSource(units.bytes);
  for (let i = 0; i < series.length; i++) {
    const unit = table.unitOf(series[i]!);
    if (unit < 0) continue;
    draft.push(i, draft.values.codeOf(source, units.offsets[unit]!, units.offsets[unit + 1]!));
  }
  return draft;
}

/** From drafts to chunk chunks. */

import {
  type AttributeVector,
  type EncodedColumn,
  encodeAttribute,
  encodeDelta,
  encodeMessage,
  encodeText,
} from "../column/encoding.ts";
import {
  attributeColumnsMax,
  chunkMessageBytesMax,
  chunkRowsMax,
  headerValueBytesMax,
  headerValuesMax,
} from "../limits.ts";
import { buildMembershipFilter } from "../vector/membership-filter.ts";
import { integerIn, mayBeginDecimal, parseDecimal } from "../vector/number.ts";
import { gatherText, type TextVector, textAt, textCount } from "../vector/text.ts";
import {
  AttributeBuilder,
  type ChunkBuilder,
  invertOrder,
  reorderNumbers,
  reorderText,
  sortByTime,
  toDenseAttribute,
} from "./chunk-builder.ts";
import { type ChunkHeader, type ColumnHeader, countValues, type EncodedChunk } from "./chunk-header.ts";

export interface EncodeOptions {
  /** For disk: with templates and membership filters, which take time to build and pay on disk only. */
  sealed: boolean;
}

/** Chunks of at most chunkRowsMax rows and chunkMessageBytesMax bytes of messages, in order of time. */
export function encodeChunks(draft: ChunkBuilder, options: EncodeOptions): EncodedChunk[] {
  const sorted = sortRows(draft);
  const chunks: EncodedChunk[] = [];
  for (let from = 0; from < draft.rows; ) {
    const to = findChunkEnd(sorted.message, from, draft.rows);
    chunks.push(encodeChunk(sorted, from, to, options));
    from = to;
  }
  return chunks;
}

interface SortedRows {
  timeNs: Float64Array;
  arrival: Float64Array;
  message: TextVector;
  level: AttributeVector;
  attributes: [key: string, AttributeVector][];
  /** Attributes beyond attributeColumnsMax, as JSON text of [key, value, key, value …] for each row that has any. */
  overflow: AttributeVector | undefined;
}

function sortRows(draft: ChunkBuilder): SortedRows {
  const timeNs = draft.timeNs.finish();
  const arrival = draft.arrival.finish();
  const order = sortByTime(timeNs, arrival);
  const places = order === undefined ? undefined : invertOrder(order);
  const byRows = [...draft.attributes].sort(([, a], [, b]) => b.count - a.count);
  const columns = byRows.slice(0, attributeColumnsMax);
  const rest = byRows.slice(attributeColumnsMax);
  return {
    timeNs: reorderNumbers(timeNs, order),
    arrival: reorderNumbers(arrival, order),
    message: reorderText(draft.message.finish(), order),
    level: toDenseAttribute(draft.level, draft.rows, places),
    attributes: columns.map(([key, attribute]) => [key, toDenseAttribute(attribute, draft.rows, places)]),
    overflow: rest.length === 0 ? undefined : toDenseAttribute(toOverflowAttribute(rest), draft.rows, places),
  };
}

/** Attributes of a chunk that has too many as one. */
export function toOverflowAttribute(rest: [string, AttributeBuilder][]): AttributeBuilder {
  const pairsOf = new Map<number, string[]>();
  for (const [key, { count, rows, codes, values }] of rest) {
    const texts = values.texts();
    for (let i = 0; i < count; i++) {
      const pairs = pairsOf.get(rows[i]!) ?? [];
      pairs.push(key, textAt(texts, codes[i]!));
      pairsOf.set(rows[i]!, pairs);
    }
  }
  const merged = new AttributeBuilder();
  for (const [row, pairs] of pairsOf) merged.pushText(row, JSON.stringify(pairs));
  return merged;
}

function findChunkEnd(message: TextVector, from: number, rows: number): number {
  let to = Math.min(rows, from + chunkRowsMax);
  const bytesAt = message.offsets[from]!;
  while (to > from + 1 && message.offsets[to]! - bytesAt > chunkMessageBytesMax) {
    to = from + Math.ceil((to - from) / 2);
  }
  return to;
}

function encodeChunk(sorted: SortedRows, from: number, to: number, options: EncodeOptions): EncodedChunk {
  const chunk: EncodedChunk = { header: makeChunkHeader(sorted, from, to), payloads: [], filters: [] };
  const add = makeColumnAppender(chunk);
  const rows = to - from;
  add(makeColumnHeader("time", "", rows), encodeDelta(sorted.timeNs.subarray(from, to), 0), undefined);
  add(makeColumnHeader("arrival", "", rows), encodeDelta(sorted.arrival.subarray(from, to), 1), undefined);
  const attributes = sorted.attributes.map(
    ([key, vector]) => [key, sliceAttribute(vector, from, to)] as const,
  );
  addMessage(add, sliceText(sorted.message, from, to), attributes, options);
  addAttribute(add, makeColumnHeader("level", "", 0), sliceAttribute(sorted.level, from, to), options);
  for (const [key, vector] of attributes)
    addAttribute(add, makeColumnHeader("attribute", key, 0), vector, options);
  if (sorted.overflow !== undefined) {
    addAttribute(add, makeColumnHeader("rest", "", 0), sliceAttribute(sorted.overflow, from, to), {
      sealed: false,
    });
  }
  return chunk;
}

/** Adds columns to an chunk. */
export function makeColumnAppender(chunk: EncodedChunk): AppendColumn {
  return (column, encoded, filter) => {
    column.encoding = encoded.encoding;
    column.payloadBytes = encoded.payload.byteLength;
    column.filterBytes = filter?.byteLength ?? 0;
    chunk.header.columns.push(column);
    chunk.payloads.push(encoded.payload);
    chunk.filters.push(filter);
  };
}

export type AppendColumn = (
  column: ColumnHeader,
  encoded: EncodedColumn,
  filter: Uint8Array | undefined,
) => void;

function addMessage(
  add: AppendColumn,
  text: TextVector,
  attributes: readonly (readonly [string, AttributeVector])[],
  options: EncodeOptions,
): void {
  const rows = textCount(text);
  if (!options.sealed) {
    add(makeColumnHeader("message", "", rows), encodeText(text), undefined);
    return;
  }
  // What a header lists is small already; ids are what costs twice.
  const repeatables = attributes.flatMap(([key, { values, codes }]) =>
    textCount(values) > headerValuesMax ? [{ key, values, codes }] : [],
  );
  const { message, filter, variables } = encodeMessage(text, repeatables);
  add(makeColumnHeader("message", "", rows), message, filter);
  for (const group of variables) add(makeColumnHeader("variables", group.group, rows), group, group.filter);
}

/** A column that no row of the chunk has is left out. */
export function addAttribute(
  add: AppendColumn,
  column: ColumnHeader,
  vector: AttributeVector,
  options: EncodeOptions,
): void {
  if (textCount(vector.values) === 0) return;
  const caps = { values: headerValuesMax, bytes: headerValueBytesMax };
  const statistics = column.role === "rest" ? { present: vector.codes.length } : countValues(vector, caps);
  const encoded = encodeAttribute(vector);
  // Where the header lists every value, it tells as much.
  const isSearched = column.role === "attribute" || column.role === "name";
  const filtered = options.sealed && isSearched && !("values" in statistics);
  const filter = filtered ? buildMembershipFilter(vector.hashes) : undefined;
  add(Object.assign(column, statistics, findNumberBounds(vector.values)), encoded, filter);
}

function findNumberBounds(values: TextVector): { min?: number; max?: number } {
  const { offsets, bytes } = values;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let code = 0; code < textCount(values); code++) {
    if (!mayBeginDecimal(bytes[offsets[code]!])) return {};
    const number = integerIn(bytes, offsets[code]!, offsets[code + 1]!) ?? parseDecimal(textAt(values, code));
    if (number === undefined) return {};
    if (number < min) min = number;
    if (number > max) max = number;
  }
  // JSON has no infinities; a decimal text can still overflow to one.
  return Number.isFinite(min) && Number.isFinite(max) ? { min, max } : {};
}

function makeChunkHeader(sorted: SortedRows, from: number, to: number): ChunkHeader {
  let arrivalMin = Number.POSITIVE_INFINITY;
  let arrivalMax = 0;
  for (const arrival of sorted.arrival.subarray(from, to)) {
    if (arrival < arrivalMin) arrivalMin = arrival;
    if (arrival > arrivalMax) arrivalMax = arrival;
  }
  return {
    rows: to - from,
    timeNsMin: sorted.timeNs[from]!,
    timeNsMax: sorted.timeNs[to - 1]!,
    arrivalMin,
    arrivalMax,
    columns: [],
  };
}

export function makeColumnHeader(role: ColumnHeader["role"], key: string, present: number): ColumnHeader {
  return { role, key, encoding: "text", present, payloadBytes: 0, filterBytes: 0 };
}

function sliceText(text: TextVector, from: number, to: number): TextVector {
  const start = text.offsets[from]!;
  if (from === 0 && to === text.offsets.length - 1) return text;
  const bytes = text.bytes.subarray(start, text.offsets[to]!);
  return { offsets: text.offsets.slice(from, to + 1).map((offset) => offset - start), bytes };
}

/** Rows [from, to) of an attribute, with only the values that occur in them. */
function sliceAttribute(vector: AttributeVector, from: number, to: number): AttributeVector {
  if (from === 0 && to === vector.codes.length) return vector;
  const codeOf = new Int32Array(vector.hashes.length).fill(-1);
  const kept = new Uint32Array(Math.min(vector.hashes.length, to - from));
  let count = 0;
  const codes = vector.codes.slice(from, to);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    if (codeOf[code]! < 0) {
      codeOf[code] = count;
      kept[count++] = code;
    }
    codes[row] = codeOf[code]!;
  }
  const places = kept.subarray(0, count);
  return {
    values: gatherText(vector.values, places),
    hashes: places.map((code) => vector.hashes[code]!),
    codes,
  };
}

/** Encodes the rows of a chunk builder as chunks. */

import {
  type AttributeVector,
  type EncodedColumn,
  encodeAttribute,
  encodeDelta,
  encodeMessage,
  encodeText,
} from "../column/encoding.ts";
import { attributeColumnsMax, headerListsBytesMax, headerValueBytesMax, headerValuesMax } from "../limits.ts";
import {
  isSplit,
  reorderSplit,
  type SplitMessages,
  sliceSplit,
  toTexts,
} from "../template/split-messages.ts";
import { gatherIds } from "../vector/id-table.ts";
import { buildMembershipFilter, hashTexts } from "../vector/membership-filter.ts";
import { canBeginDecimal, parseDecimalBytes } from "../vector/number.ts";
import { gatherText, type TextVector, textAt, textCount, toTextVector } from "../vector/text.ts";
import {
  AttributeBuilder,
  type ChunkBuilder,
  invertOrder,
  reorderNumbers,
  reorderText,
  sortByTime,
  toDenseAttribute,
} from "./chunk-builder.ts";
import { type ChunkCaps, fullChunkCaps } from "./chunk-caps.ts";
import {
  type ChunkHeader,
  type ColumnHeader,
  countPresent,
  countValues,
  type EncodedChunk,
} from "./chunk-header.ts";

export interface EncodeOptions {
  /**
   * True for chunks on disk: messages are stored as templates and columns get membership filters. Both take time to
   * build and pay on disk only.
   */
  sealed: boolean;
  /** How large chunks become; full ones by default. */
  caps?: ChunkCaps;
}

/** How a column of attributes is encoded. */
interface AttributeOptions extends Pick<EncodeOptions, "sealed"> {
  /** False where the header of the chunk has no room for its values. */
  listsValues?: boolean;
}

/**
 * Encodes rows as chunks in order of time, within the caps of the options. A single longer message has a chunk of its
 * own.
 */
export function encodeChunks(builder: ChunkBuilder, options: EncodeOptions): EncodedChunk[] {
  return encodeSortedRows(sortRows(builder), options);
}

/** As `encodeChunks`, of rows that are in order. */
export function encodeSortedRows(sorted: SortedRows, options: EncodeOptions): EncodedChunk[] {
  const rows = sorted.timeNs.length;
  const chunks: EncodedChunk[] = [];
  for (let from = 0; from < rows; ) {
    const to = findChunkEnd(sorted.message, from, rows, options.caps ?? fullChunkCaps);
    chunks.push(encodeChunk(sorted, from, to, options));
    from = to;
  }
  return chunks;
}

/** Rows in order of time, ties by arrival. */
export interface SortedRows {
  timeNs: Float64Array;
  arrival: Float64Array;
  message: TextVector | SplitMessages;
  level: AttributeVector;
  attributes: [key: string, AttributeVector][];
  /**
   * Attributes beyond `attributeColumnsMax`: for each row that has any, the JSON text of [key, value, key, value …].
   */
  overflow: AttributeVector | undefined;
}

/** Texts by key that every row gets, and no row has. */
type Stamps = Readonly<Record<string, string>>;

/** All rows of a builder. */
export function sortRows(builder: ChunkBuilder, stamps: Stamps = {}): SortedRows {
  const timeNs = builder.timeNs.finish();
  const arrival = builder.arrival.finish();
  const order = sortByTime(timeNs, arrival);
  const positions = order === undefined ? undefined : invertOrder(order);
  const attributes = Array.from(builder.attributes, ([key, column]) => ({
    key,
    column,
    count: column.count,
  }));
  const [columns, overflow] = selectColumns(attributes, stamps);
  const toDense = (attribute: AttributeBuilder) => toDenseAttribute(attribute, builder.rows, positions);
  return {
    timeNs: reorderNumbers(timeNs, order),
    arrival: reorderNumbers(arrival, order),
    message:
      builder.split === undefined
        ? reorderText(builder.message.finish(), order)
        : reorderSplit(builder.split.finish(), order),
    level: toDense(builder.level),
    attributes: [
      ...stampRows(stamps, builder.rows),
      ...columns.map(({ key, column }): [string, AttributeVector] => [key, toDense(column)]),
    ],
    overflow: overflow.length === 0 ? undefined : toDense(toOverflowAttribute(overflow.map(toSparse))),
  };
}

function toSparse({ key, column }: { key: string; column: AttributeBuilder }): SparseAttribute {
  const { count, rows, codes, values } = column;
  return { key, count, rows, codes, values: values.texts() };
}

/** The attributes that get columns of their own beside the stamps, those of most rows first, and the others. */
export function selectColumns<Attribute extends { count: number }>(
  attributes: readonly Attribute[],
  stamps: Stamps,
): [columns: Attribute[], overflow: Attribute[]] {
  const columnsMax = attributeColumnsMax - Object.keys(stamps).length;
  const byRows = attributes.toSorted((a, b) => b.count - a.count);
  return [byRows.slice(0, columnsMax), byRows.slice(columnsMax)];
}

/** The columns of stamps in so many rows. */
export function stampRows(stamps: Stamps, rows: number): [string, AttributeVector][] {
  return Object.entries(stamps).map(([key, text]) => [
    key,
    { values: toTextVector([text]), codes: new Int32Array(rows) },
  ]);
}

/** An attribute of some rows: their numbers, ascending, and the code of each one's value. */
export interface SparseAttribute {
  key: string;
  /** Number of rows that have it; the arrays may be longer. */
  count: number;
  rows: Uint32Array;
  codes: Uint32Array;
  values: TextVector;
}

/**
 * Combines attributes without a column of their own into one: for each row the JSON text of [key, value, key, value …].
 */
export function toOverflowAttribute(attributes: readonly SparseAttribute[]): AttributeBuilder {
  const pairsOf = new Map<number, string[]>();
  for (const { key, count, rows, codes, values } of attributes) {
    for (let i = 0; i < count; i++) {
      const pairs = pairsOf.get(rows[i]!) ?? [];
      pairs.push(key, textAt(values, codes[i]!));
      pairsOf.set(rows[i]!, pairs);
    }
  }
  const merged = new AttributeBuilder();
  const inOrder = [...pairsOf].sort(([a], [b]) => a - b);
  for (const [row, pairs] of inOrder) merged.pushText(row, JSON.stringify(pairs));
  return merged;
}

/** The row after the last one of a chunk that begins with row `from`. */
function findChunkEnd(
  message: { offsets: Uint32Array },
  from: number,
  rows: number,
  { rowsMax, messageBytesMax }: ChunkCaps,
): number {
  let to = Math.min(rows, from + rowsMax);
  const bytesAt = message.offsets[from]!;
  while (to > from + 1 && message.offsets[to]! - bytesAt > messageBytesMax) {
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
  const { message } = sorted;
  const messages = isSplit(message) ? sliceSplit(message, from, to) : sliceText(message, from, to);
  addMessage(add, messages, attributes, options);
  const level = sliceAttribute(sorted.level, from, to);
  const listed = selectListed([level, ...attributes.map(([, vector]) => vector)]);
  const addValues = (column: ColumnHeader, vector: AttributeVector) =>
    addAttribute(add, column, vector, { ...options, listsValues: listed.has(vector) });
  addValues(makeColumnHeader("level", "", 0), level);
  for (const [key, vector] of attributes) addValues(makeColumnHeader("attribute", key, 0), vector);
  if (sorted.overflow !== undefined) {
    addAttribute(add, makeColumnHeader("rest", "", 0), sliceAttribute(sorted.overflow, from, to), {
      sealed: false,
    });
  }
  return chunk;
}

/** Bytes that a listed value takes in a header besides its text: its count, quotes and brackets of JSON. An estimate. */
const listedCountBytes = 10;

/** The columns whose values the header of a chunk may list: those of the shortest lists, up to `headerListsBytesMax`. */
function selectListed(vectors: readonly AttributeVector[]): Set<AttributeVector> {
  const listBytes = ({ values }: AttributeVector) =>
    values.bytes.length + textCount(values) * listedCountBytes;
  const listed = new Set<AttributeVector>();
  let bytes = 0;
  for (const vector of vectors.toSorted((a, b) => listBytes(a) - listBytes(b))) {
    bytes += listBytes(vector);
    if (bytes > headerListsBytesMax) break;
    listed.add(vector);
  }
  return listed;
}

/** Returns a function that appends columns to a chunk and fills in what their headers say about the payload. */
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
  messages: TextVector | SplitMessages,
  attributes: readonly (readonly [string, AttributeVector])[],
  options: EncodeOptions,
): void {
  const rows = messages.offsets.length - 1;
  if (!options.sealed) {
    const text = isSplit(messages) ? toTexts(messages) : messages;
    add(makeColumnHeader("message", "", rows), encodeText(text), undefined);
    return;
  }
  // A slot may refer to an attribute with the same values. That pays for ids; few distinct values are small anyway.
  const repeatables = attributes.flatMap(([key, { values, codes }]) =>
    textCount(values) > headerValuesMax ? [{ key, values, codes }] : [],
  );
  const { message, filter, variables } = encodeMessage(messages, repeatables);
  add(makeColumnHeader("message", "", rows), message, filter);
  for (const group of variables) add(makeColumnHeader("variables", group.group, rows), group, group.filter);
}

/**
 * Appends an attribute column with its statistics and, when sealed, its membership filter. Without any value it appends
 * nothing.
 */
export function addAttribute(
  add: AppendColumn,
  column: ColumnHeader,
  vector: AttributeVector,
  { sealed, listsValues = true }: AttributeOptions,
): void {
  if (textCount(vector.values) === 0) return;
  const caps = { values: listsValues ? headerValuesMax : 0, bytes: headerValueBytesMax };
  const counted = column.role === "rest" ? { present: countPresent(vector) } : countValues(vector, caps);
  const encoded = encodeAttribute(vector, counted.present);
  // Overflow attributes are no field, so no row counts as one that lacks it.
  const statistics = column.role === "rest" ? { present: vector.codes.length } : counted;
  // Where the header lists every value, a filter would add nothing.
  const isSearched = column.role === "attribute" || column.role === "name";
  const filtered = sealed && isSearched && !("values" in statistics);
  const filter = filtered ? buildMembershipFilter(vector.hashes ?? hashTexts(vector.values)) : undefined;
  add(Object.assign(column, statistics, findNumberBounds(vector.values)), encoded, filter);
}

/** Least and greatest value, where every value is a decimal number; else nothing. */
function findNumberBounds(values: TextVector): { min?: number; max?: number } {
  const { offsets, bytes } = values;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let code = 0; code < textCount(values); code++) {
    if (!canBeginDecimal(bytes[offsets[code]!])) return {};
    const number = parseDecimalBytes(bytes, offsets[code]!, offsets[code + 1]!);
    if (Number.isNaN(number)) return {};
    if (number < min) min = number;
    if (number > max) max = number;
  }
  // JSON has no infinities, but a long decimal text can overflow to one.
  return Number.isFinite(min) && Number.isFinite(max) ? { min, max } : {};
}

/** The header of rows [from, to), without columns. */
function makeChunkHeader(sorted: SortedRows, from: number, to: number): ChunkHeader {
  let arrivalMin = Number.POSITIVE_INFINITY;
  let arrivalMax = 0;
  for (const arrival of sorted.arrival.subarray(from, to)) {
    if (arrival < arrivalMin) arrivalMin = arrival;
    if (arrival > arrivalMax) arrivalMax = arrival;
  }
  const [timeNsMin, timeNsMax] = [sorted.timeNs[from]!, sorted.timeNs[to - 1]!];
  return { rows: to - from, timeNsMin, timeNsMax, arrivalMin, arrivalMax, columns: [] };
}

/** A column header that still lacks encoding and sizes; `AppendColumn` sets them. */
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
  const { hashes, ids, numbers } = vector;
  const valueCount = textCount(vector.values);
  const codeOf = new Int32Array(valueCount).fill(-1);
  const used = new Uint32Array(Math.min(valueCount, to - from));
  let count = 0;
  const codes = vector.codes.slice(from, to);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    if (codeOf[code]! < 0) {
      codeOf[code] = count;
      used[count++] = code;
    }
    codes[row] = codeOf[code]!;
  }
  const usedCodes = used.subarray(0, count);
  return {
    values: gatherText(vector.values, usedCodes),
    ...(hashes === undefined ? {} : { hashes: usedCodes.map((code) => hashes[code]!) }),
    ...(ids === undefined ? {} : { ids: gatherIds(ids, usedCodes) }),
    ...(numbers === undefined ? {} : { numbers: Float64Array.from(usedCodes, (code) => numbers[code]!) }),
    codes,
  };
}

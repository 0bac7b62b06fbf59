/** From drafts to chunk images, and from chunks back to a draft: `draftOf(build(rows)) = rows`. */
import {
  type ChunkHeader,
  type ChunkImage,
  type ChunkSource,
  type ColumnHeader,
  valueStatistics,
} from "./chunk.ts";
import { type Column, columnText, dictionaryTexts } from "./column.ts";
import {
  type AttributeDraft,
  attributeOf,
  type ChunkDraft,
  denseAttribute,
  emptyDraft,
  invertOrder,
  reorderNumbers,
  reorderText,
  timeOrder,
} from "./draft.ts";
import {
  type AttributeVector,
  type EncodedColumn,
  encodeAttribute,
  encodeDelta,
  encodeMessage,
  encodeText,
} from "./encoding.ts";
import { Failure } from "./failure.ts";
import { plainColumns } from "./heap.ts";
import {
  attributeColumnsMax,
  chunkMessageBytesMax,
  chunkRowsMax,
  headerValueBytesMax,
  headerValuesMax,
} from "./limits.ts";
import { buildMembership, hashText } from "./membership.ts";
import { parseDecimal } from "./number.ts";
import { parseRest } from "./rest.ts";
import type { TextVector } from "./text.ts";
import { ChunkView } from "./view.ts";

export interface BuildOptions {
  /** For disk: with templates and membership filters, which take time to build and pay on disk only. */
  sealed: boolean;
}

/** Chunks of at most chunkRowsMax rows and chunkMessageBytesMax bytes of messages, in order of time. */
export function buildChunks(draft: ChunkDraft, options: BuildOptions): ChunkImage[] {
  const sorted = sortDraft(draft);
  const images: ChunkImage[] = [];
  for (let from = 0; from < draft.rows; ) {
    const to = cutAfter(sorted.message, from, draft.rows);
    images.push(buildChunk(sorted, from, to, options));
    from = to;
  }
  return images;
}

/** All rows of some chunks of one partition as a draft, in the order of the chunks. */
export function draftOf(sources: readonly ChunkSource[]): ChunkDraft {
  const draft = emptyDraft();
  for (const source of sources) appendChunk(draft, source);
  return draft;
}

interface SortedDraft {
  timeNs: Float64Array;
  arrival: Float64Array;
  message: TextVector;
  level: AttributeVector;
  attributes: [key: string, AttributeVector][];
  /** Attributes beyond attributeColumnsMax, as JSON text of [key, value, key, value …] for each row that has any. */
  rest: AttributeVector | undefined;
}

function sortDraft(draft: ChunkDraft): SortedDraft {
  const order = timeOrder(draft);
  const places = order === undefined ? undefined : invertOrder(order);
  const byRows = [...draft.attributes].sort(([, a], [, b]) => b.rows.length - a.rows.length);
  const columns = byRows.slice(0, attributeColumnsMax);
  const rest = byRows.slice(attributeColumnsMax);
  return {
    timeNs: reorderNumbers(draft.timeNs, order),
    arrival: reorderNumbers(draft.arrival, order),
    message: reorderText(draft.message.finish(), order),
    level: denseAttribute(draft.level, draft.rows, places),
    attributes: columns.map(([key, attribute]) => [key, denseAttribute(attribute, draft.rows, places)]),
    rest: rest.length === 0 ? undefined : denseAttribute(restAttribute(rest), draft.rows, places),
  };
}

function restAttribute(rest: [string, AttributeDraft][]): AttributeDraft {
  const pairsOf = new Map<number, string[]>();
  for (const [key, attribute] of rest) {
    for (const [i, row] of attribute.rows.entries()) {
      const pairs = pairsOf.get(row) ?? [];
      pairs.push(key, attribute.values[attribute.codes[i]!]!);
      pairsOf.set(row, pairs);
    }
  }
  const merged = emptyDraft().level;
  for (const [row, pairs] of pairsOf) merged.push(row, JSON.stringify(pairs));
  return merged;
}

function cutAfter(message: TextVector, from: number, rows: number): number {
  let to = Math.min(rows, from + chunkRowsMax);
  const bytesAt = message.offsets[from]!;
  while (to > from + 1 && message.offsets[to]! - bytesAt > chunkMessageBytesMax) {
    to = from + Math.ceil((to - from) / 2);
  }
  return to;
}

function buildChunk(sorted: SortedDraft, from: number, to: number, options: BuildOptions): ChunkImage {
  const image: ChunkImage = { header: emptyHeader(sorted, from, to), payloads: [], filters: [] };
  const add = (column: ColumnHeader, encoded: EncodedColumn, filter: Uint8Array | undefined): void => {
    column.encoding = encoded.encoding;
    column.payloadBytes = encoded.payload.byteLength;
    column.filterBytes = filter?.byteLength ?? 0;
    image.header.columns.push(column);
    image.payloads.push(encoded.payload);
    image.filters.push(filter);
  };
  const rows = to - from;
  add(columnHeader("time", "", rows), encodeDelta(sorted.timeNs.subarray(from, to), 0), undefined);
  add(columnHeader("arrival", "", rows), encodeDelta(sorted.arrival.subarray(from, to), 1), undefined);
  const attributes = sorted.attributes.map(
    ([key, vector]) => [key, sliceAttribute(vector, from, to)] as const,
  );
  addMessage(add, sliceText(sorted.message, from, to), attributes, options);
  addAttribute(add, columnHeader("level", "", 0), sliceAttribute(sorted.level, from, to), options);
  for (const [key, vector] of attributes)
    addAttribute(add, columnHeader("attribute", key, 0), vector, options);
  if (sorted.rest !== undefined) {
    addAttribute(add, columnHeader("rest", "", 0), sliceAttribute(sorted.rest, from, to), { sealed: false });
  }
  return image;
}

type AddColumn = (column: ColumnHeader, encoded: EncodedColumn, filter: Uint8Array | undefined) => void;

function addMessage(
  add: AddColumn,
  text: TextVector,
  attributes: readonly (readonly [string, AttributeVector])[],
  options: BuildOptions,
): void {
  const rows = text.offsets.length - 1;
  if (!options.sealed) {
    add(columnHeader("message", "", rows), encodeText(text), undefined);
    return;
  }
  // What a header lists is small already; ids are what costs twice.
  const repeatables = attributes.flatMap(([key, { values, codes }]) =>
    values.length > headerValuesMax ? [{ key, at: (row: number) => values[codes[row]!] }] : [],
  );
  const { message, variables } = encodeMessage(text, repeatables);
  add(columnHeader("message", "", rows), message, undefined);
  for (const group of variables) add(columnHeader("variables", group.group, rows), group, group.filter);
}

/** A column that no row of the chunk has is left out. */
function addAttribute(
  add: AddColumn,
  column: ColumnHeader,
  vector: AttributeVector,
  options: BuildOptions,
): void {
  if (vector.values.length === 0) return;
  const caps = { values: headerValuesMax, bytes: headerValueBytesMax };
  const statistics =
    column.role === "rest" ? { present: vector.codes.length } : valueStatistics(vector, caps);
  const encoded = encodeAttribute(vector);
  // Where the header lists every value, it tells as much.
  const filtered = options.sealed && column.role === "attribute" && !("values" in statistics);
  const filter = filtered ? buildMembership(vector.values.map(hashText), vector.values.length) : undefined;
  add(Object.assign(column, statistics, numberBounds(vector.values)), encoded, filter);
}

function numberBounds(values: readonly string[]): { min?: number; max?: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    const number = parseDecimal(value);
    if (number === undefined) return {};
    if (number < min) min = number;
    if (number > max) max = number;
  }
  // JSON has no infinities; a decimal text can still overflow to one.
  return Number.isFinite(min) && Number.isFinite(max) ? { min, max } : {};
}

function emptyHeader(sorted: SortedDraft, from: number, to: number): ChunkHeader {
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

function columnHeader(role: ColumnHeader["role"], key: string, present: number): ColumnHeader {
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
  const values: string[] = [];
  const codeOf = new Int32Array(vector.values.length).fill(-1);
  const codes = vector.codes.slice(from, to);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    if (codeOf[code]! < 0) codeOf[code] = values.push(vector.values[code]!) - 1;
    codes[row] = codeOf[code]!;
  }
  return { values, codes };
}

function appendChunk(draft: ChunkDraft, source: ChunkSource): void {
  const base = draft.rows;
  const view = new ChunkView(source, 0, plainColumns);
  appendNumbers(draft.timeNs, view.timeNs);
  appendNumbers(draft.arrival, view.arrival);
  appendMessages(draft, view.column({ kind: "message" }));
  for (const { role, key } of source.header.columns) {
    if (role === "level") appendAttribute(draft.level, view.column({ kind: "level" }), base);
    else if (role === "attribute")
      appendAttribute(attributeOf(draft, key), view.column({ kind: "attribute", key }), base);
    else if (role === "rest") appendRest(draft, view.rest, base);
  }
  draft.rows += source.header.rows;
}

function appendNumbers(target: number[], values: Float64Array): void {
  for (const value of values) target.push(value);
}

function appendMessages(draft: ChunkDraft, column: Column): void {
  if (column.kind === "text") draft.message.append(column.text);
  else if (column.kind === "message") {
    for (let row = 0; row < column.rows; row++) draft.message.pushBytes(column.messages.messageAt(row));
  } else throw new Failure("damage", "column: messages are not text");
}

function appendAttribute(attribute: AttributeDraft, column: Column, base: number): void {
  if (column.kind !== "dictionary") {
    for (let row = 0; row < column.rows; row++) {
      const value = columnText(column, row);
      if (value !== undefined) attribute.push(base + row, value);
    }
    return;
  }
  const codes = dictionaryTexts(column).map((value) => attribute.codeOf(value));
  for (let row = 0; row < column.rows; row++) {
    const code = column.codes[row]!;
    if (code === column.valueCount) continue;
    attribute.rows.push(base + row);
    attribute.codes.push(codes[code]!);
  }
}

function appendRest(draft: ChunkDraft, column: Column, base: number): void {
  for (let row = 0; row < column.rows; row++) {
    const pairs = columnText(column, row);
    if (pairs === undefined) continue;
    for (const [key, value] of parseRest(pairs)) attributeOf(draft, key).push(base + row, value);
  }
}

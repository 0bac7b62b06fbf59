/** Decodes chunks back into rows of a chunk builder: `decode(encode(rows)) = rows`. */

import { type Column, type ColumnOf, columnText, isValid } from "../column/column.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { Failure } from "../failure.ts";
import { bytesOf } from "../files/column-payload.ts";
import { plainColumns } from "../kernels/heap.ts";
import { SplitMessagesBuilder } from "../template/split-messages.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import type { IdTable } from "../vector/id-table.ts";
import { TextBuilder, type TextVector, textCount, toPlainBytes } from "../vector/text.ts";
import { toByteSource } from "../vector/text-table.ts";
import {
  type AttributeBuilder,
  type ChunkBuilder,
  createChunkBuilder,
  getAttributeBuilder,
} from "./chunk-builder.ts";
import { ChunkColumns } from "./chunk-columns.ts";
import type { ChunkSource, ColumnHeader } from "./chunk-header.ts";
import { ChunkView } from "./chunk-view.ts";

/** All rows of some chunks of one partition, chunk after chunk. Arrival numbers are absolute. */
export function decodeChunks(sources: readonly ChunkSource[]): ChunkBuilder {
  const builder = createChunkBuilder();
  const rows = sources.reduce((sum, { header }) => sum + header.rows, 0);
  builder.timeNs.reserve(rows);
  builder.arrival.reserve(rows);
  if (sources.every(hasSplitMessages)) builder.split = new SplitMessagesBuilder(rows);
  else builder.message.reserve(rows, estimateMessageBytes(sources));
  const present = countPresentRows(sources);
  for (const source of sources) appendChunk(builder, source, present);
  return builder;
}

function hasSplitMessages(source: ChunkSource): boolean {
  return messageColumnOf(source)?.encoding === "template";
}

/**
 * How many bytes to allocate for the messages of some chunks: the size of their message columns. Messages that are stored as
 * template and variables need more, and the builder then grows.
 */
function estimateMessageBytes(sources: readonly ChunkSource[]): number {
  return sources.reduce((sum, source) => sum + (messageColumnOf(source)?.payloadBytes ?? 0), 0);
}

function messageColumnOf({ header }: ChunkSource): ColumnHeader | undefined {
  return header.columns.get(header.columns.find("message"));
}

/** For each attribute with a column of its own, the number of rows that have it. */
function countPresentRows(sources: readonly ChunkSource[]): Map<string, number> {
  const rows = new Map<string, number>();
  for (const { header } of sources) {
    for (const { role, key, present } of header.columns.all()) {
      if (role === "attribute") rows.set(key, (rows.get(key) ?? 0) + present);
    }
  }
  return rows;
}

function appendChunk(builder: ChunkBuilder, source: ChunkSource, present: ReadonlyMap<string, number>): void {
  const base = builder.rows;
  const view = new ChunkView(new ChunkColumns(source, 0), plainColumns);
  builder.timeNs.append(view.timeNs);
  builder.arrival.append(view.arrival);
  appendMessages(builder, view.column({ kind: "message" }));
  for (const { role, key } of source.header.columns.all()) {
    if (role === "level") appendAttribute(builder.level, view.column({ kind: "level" }), base);
    else if (role === "attribute") {
      const attribute = getAttributeBuilder(builder, key);
      attribute.reserve(present.get(key)! - attribute.count);
      appendAttribute(attribute, view.column({ kind: "attribute", key }), base);
    } else if (role === "rest") appendOverflow(builder, view.overflow, base);
  }
  builder.rows += source.header.rows;
}

function appendMessages({ message, split }: ChunkBuilder, column: Column): void {
  if (column.kind === "message" && split !== undefined) split.append(column.messages);
  else if (column.kind === "message")
    for (let row = 0; row < column.rows; row++) message.pushBytes(column.messages.messageAt(row));
  else if (column.kind === "text" && split === undefined) message.append(column.text);
  else throw new Failure("damage", "column: messages are not as the header says");
}

function appendAttribute(attribute: AttributeBuilder, column: Column, base: number): void {
  switch (column.kind) {
    case "dictionary":
      appendCodes(attribute, column.codes, addTexts(attribute, column.values), base);
      break;
    case "text":
      appendTexts(attribute, column.text, column.valid, base);
      break;
    case "hex":
      appendIds(attribute, column, base);
      break;
    case "constant":
      appendConstant(attribute, column, base);
      break;
    case "number":
      appendNumbers(attribute, column, base);
      break;
    default:
      throw new Failure("damage", `column: an attribute cannot be ${column.kind}`);
  }
}

function appendConstant(attribute: AttributeBuilder, column: ColumnOf<"constant">, base: number): void {
  const { rows, value, valid } = column;
  const source = toByteSource(Buffer.from(value, "utf8"));
  const code = attribute.values.intern(source, 0, source.bytes.length);
  attribute.reserve(rows);
  for (let row = 0; row < rows; row++) if (isValid(valid, row)) attribute.push(base + row, code);
}

/** The texts of numbers are those that `columnText` prints. */
function appendNumbers(attribute: AttributeBuilder, column: ColumnOf<"number">, base: number): void {
  const { rows, values, valid } = column;
  const numbers = attribute.numbers();
  if (numbers !== undefined) {
    appendPacked(attribute, numbers, bytesOf(values), valid, base);
    return;
  }
  const texts = new TextBuilder();
  for (let row = 0; row < rows; row++) {
    if (isValid(valid, row)) texts.pushNumber(values[row]!);
    else texts.push("");
  }
  appendTexts(attribute, texts.finish(), valid, base);
}

/** Adds texts to the attribute's dictionary; returns the code of each. */
function addTexts({ values }: AttributeBuilder, texts: TextVector): Uint32Array {
  const source = toByteSource(texts.bytes);
  const codes = new Uint32Array(textCount(texts));
  for (let i = 0; i < codes.length; i++) {
    codes[i] = values.intern(source, texts.offsets[i]!, texts.offsets[i + 1]!);
  }
  return codes;
}

/** `codeOf[code]` is the attribute's code for a code of the column. Greater codes mean that the row has no value. */
function appendCodes(attribute: AttributeBuilder, codes: Codes, codeOf: Uint32Array, base: number): void {
  attribute.reserve(codes.length);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < codeOf.length) attribute.push(base + row, codeOf[code]!);
  }
}

function appendTexts(
  attribute: AttributeBuilder,
  texts: TextVector,
  valid: Bitmap | null,
  base: number,
): void {
  const source = toByteSource(texts.bytes);
  const { offsets } = texts;
  attribute.reserve(textCount(texts));
  for (let row = 0; row + 1 < offsets.length; row++) {
    if (!isValid(valid, row)) continue;
    attribute.push(base + row, attribute.values.intern(source, offsets[row]!, offsets[row + 1]!));
  }
}

function appendIds(attribute: AttributeBuilder, column: ColumnOf<"hex">, base: number): void {
  const { width, bytes, valid } = column;
  const ids = attribute.idsOf(width);
  if (ids === undefined) appendTexts(attribute, toHexText(column), valid, base);
  else appendPacked(attribute, ids, bytes, valid, base);
}

/** Adds values that lie one after the other, each as wide as those of the table. */
function appendPacked(
  attribute: AttributeBuilder,
  table: IdTable,
  { buffer, byteOffset, byteLength }: Uint8Array,
  valid: Bitmap | null,
  base: number,
): void {
  const words = new Uint32Array(buffer, byteOffset, byteLength >> 2);
  const wordsEach = table.width >> 2;
  const rows = words.length / wordsEach;
  attribute.reserve(rows);
  for (let row = 0; row < rows; row++)
    if (isValid(valid, row)) attribute.push(base + row, table.intern(words, row * wordsEach));
}

function toHexText({ rows, width, bytes }: ColumnOf<"hex">): TextVector {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  const offsets = new Uint32Array(rows + 1);
  for (let row = 0; row <= rows; row++) offsets[row] = row * width * 2;
  return { offsets, bytes: toPlainBytes(Buffer.from(text, "latin1")) };
}

/** Adds the attributes that have no column of their own. */
function appendOverflow(builder: ChunkBuilder, column: Column, base: number): void {
  for (let row = 0; row < column.rows; row++) {
    const pairs = columnText(column, row);
    if (pairs === undefined) continue;
    for (const [key, value] of parseOverflow(pairs))
      getAttributeBuilder(builder, key).pushText(base + row, value);
  }
}

/** Rows on their way to a chunk: columns that grow, then are put in order of time. */

import type { AttributeVector } from "../column/encoding.ts";
import { gatherText, growArray, TextBuilder, type TextVector } from "../vector/text.ts";
import { byteSource, TextTable } from "../vector/text-table.ts";

/** One attribute over the rows so far: rows that have it, ascending, and the code of each one's value. */
export class AttributeBuilder {
  readonly values = new TextTable();
  /** Rows that have it; the arrays are longer. */
  count = 0;
  rows = new Uint32Array(8);
  codes = new Uint32Array(8);
  /** The code of the value that the rows of a set have in common, and the number of the set (0: none yet). */
  sharedCode = 0;
  sharedSet = 0;

  /** Forgets all values, and keeps the room that they took. */
  clear(): void {
    this.values.clear();
    this.count = 0;
    this.sharedSet = 0;
  }

  /** Bytes that it takes up. */
  get byteLength(): number {
    return this.values.byteLength + this.rows.byteLength * 2;
  }

  /** A second value for the newest row takes the place of the first. */
  push(row: number, code: number): void {
    const { count } = this;
    if (count > 0 && this.rows[count - 1] === row) {
      this.codes[count - 1] = code;
      return;
    }
    if (count === this.rows.length) this.reserve(1);
    this.rows[count] = row;
    this.codes[count] = code;
    this.count = count + 1;
  }

  pushText(row: number, text: string): void {
    const source = byteSource(Buffer.from(text, "utf8"));
    this.push(row, this.values.codeOf(source, 0, source.bytes.length));
  }

  /** Makes room for more rows. */
  reserve(rows: number): void {
    const length = this.count + rows;
    if (length <= this.rows.length) return;
    this.rows = growArray(this.rows, Math.max(length, this.rows.length * 2));
    this.codes = growArray(this.codes, this.rows.length);
  }
}

/** Numbers that grow row by row. */
class NumberBuilder {
  length = 0;
  #numbers = new Float64Array(64);

  clear(): void {
    this.length = 0;
  }

  push(number: number): void {
    if (this.length === this.#numbers.length) this.reserve(1);
    this.#numbers[this.length++] = number;
  }

  append(numbers: Float64Array): void {
    this.reserve(numbers.length);
    this.#numbers.set(numbers, this.length);
    this.length += numbers.length;
  }

  finish(): Float64Array {
    return this.#numbers.subarray(0, this.length);
  }

  /** Makes room for more numbers. */
  reserve(count: number): void {
    if (this.length + count <= this.#numbers.length) return;
    const larger = new Float64Array(Math.max(this.length + count, this.#numbers.length * 2));
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

export interface ChunkBuilder {
  rows: number;
  /** Columns of attributes that an earlier use of the draft left, empty, by their keys. */
  spareAttributes: Map<string, AttributeBuilder>;
  /** Nanoseconds since the start of the partition's day. */
  timeNs: NumberBuilder;
  arrival: NumberBuilder;
  level: AttributeBuilder;
  message: TextBuilder;
  attributes: Map<string, AttributeBuilder>;
}

export function createChunkBuilder(): ChunkBuilder {
  return {
    rows: 0,
    spareAttributes: new Map(),
    timeNs: new NumberBuilder(),
    arrival: new NumberBuilder(),
    level: new AttributeBuilder(),
    message: new TextBuilder(),
    attributes: new Map(),
  };
}

/** Drafts that take up more are not kept, nor columns beyond so many. */
const spareBytesMax = 8 * 1024 * 1024;
const spareAttributesMax = 256;

/** Empties a draft whose rows are encoded; false where it takes up too much to be kept for other rows. */
export function clearChunkBuilder(draft: ChunkBuilder): boolean {
  const { spareAttributes, attributes } = draft;
  let byteLength = draft.message.roomBytes + draft.level.byteLength;
  for (const [key, attribute] of attributes) {
    attribute.clear();
    spareAttributes.set(key, attribute);
  }
  for (const attribute of spareAttributes.values()) byteLength += attribute.byteLength;
  if (byteLength > spareBytesMax || spareAttributes.size > spareAttributesMax) return false;
  attributes.clear();
  draft.rows = 0;
  draft.timeNs.clear();
  draft.arrival.clear();
  draft.level.clear();
  draft.message.clear();
  return true;
}

export function getAttributeBuilder(draft: ChunkBuilder, key: string): AttributeBuilder {
  let attribute = draft.attributes.get(key);
  if (attribute === undefined) {
    attribute = draft.spareAttributes.get(key) ?? new AttributeBuilder();
    draft.attributes.set(key, attribute);
  }
  return attribute;
}

/** Places of the rows in order of time, ties by arrival; undefined where they stand in order already. */
export function sortByTime(timeNs: Float64Array, arrival: Float64Array): Uint32Array | undefined {
  let sorted = true;
  for (let row = 1; row < timeNs.length && sorted; row++) {
    const difference = timeNs[row]! - timeNs[row - 1]! || arrival[row]! - arrival[row - 1]!;
    sorted = difference >= 0;
  }
  if (sorted) return undefined;
  const order = new Uint32Array(timeNs.length);
  for (let row = 0; row < order.length; row++) order[row] = row;
  return order.sort((a, b) => timeNs[a]! - timeNs[b]! || arrival[a]! - arrival[b]!);
}

/** The attribute over all rows, put in order; codes of rows that lack it are -1. */
export function toDenseAttribute(
  attribute: AttributeBuilder,
  rows: number,
  placeOf: Uint32Array | undefined,
): AttributeVector {
  const codes = new Int32Array(rows);
  // Every row has it once: they stand in order.
  if (attribute.count === rows && placeOf === undefined) codes.set(attribute.codes.subarray(0, rows));
  else scatterCodes(attribute, codes, placeOf);
  return { values: attribute.values.texts(), hashes: attribute.values.hashes(), codes };
}

function scatterCodes(
  attribute: AttributeBuilder,
  codes: Int32Array,
  placeOf: Uint32Array | undefined,
): void {
  if (attribute.count < codes.length) codes.fill(-1);
  for (let i = 0; i < attribute.count; i++) {
    const row = attribute.rows[i]!;
    codes[placeOf === undefined ? row : placeOf[row]!] = attribute.codes[i]!;
  }
}

/** order[place] = row turned into place[row]. */
export function invertOrder(order: Uint32Array): Uint32Array {
  const places = new Uint32Array(order.length);
  for (let place = 0; place < order.length; place++) places[order[place]!] = place;
  return places;
}

export function reorderNumbers(values: Float64Array, order: Uint32Array | undefined): Float64Array {
  if (order === undefined) return values;
  const result = new Float64Array(order.length);
  for (let place = 0; place < order.length; place++) result[place] = values[order[place]!]!;
  return result;
}

export function reorderText(text: TextVector, order: Uint32Array | undefined): TextVector {
  return order === undefined ? text : gatherText(text, order);
}

/** Rows on their way to a chunk: columns that grow, then are put in order of time. */

import type { AttributeVector } from "./encoding.ts";
import { gatherText, grown, TextDraft, type TextVector } from "./text.ts";
import { byteSource, TextTable } from "./texttable.ts";

/** One attribute over the rows so far: rows that have it, ascending, and the code of each one's value. */
export class AttributeDraft {
  readonly values = new TextTable();
  /** Rows that have it; the arrays are longer. */
  count = 0;
  rows = new Uint32Array(8);
  codes = new Uint32Array(8);

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
    this.rows = grown(this.rows, Math.max(length, this.rows.length * 2));
    this.codes = grown(this.codes, this.rows.length);
  }
}

/** Numbers that grow row by row. */
class NumberDraft {
  length = 0;
  #numbers = new Float64Array(64);

  push(number: number): void {
    if (this.length === this.#numbers.length) this.#reserve(1);
    this.#numbers[this.length++] = number;
  }

  append(numbers: Float64Array): void {
    this.#reserve(numbers.length);
    this.#numbers.set(numbers, this.length);
    this.length += numbers.length;
  }

  finish(): Float64Array {
    return this.#numbers.subarray(0, this.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#numbers.length) return;
    const larger = new Float64Array(Math.max(this.length + count, this.#numbers.length * 2));
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

export interface ChunkDraft {
  rows: number;
  /** Nanoseconds since the start of the partition's day. */
  timeNs: NumberDraft;
  arrival: NumberDraft;
  level: AttributeDraft;
  message: TextDraft;
  attributes: Map<string, AttributeDraft>;
}

export function emptyDraft(): ChunkDraft {
  return {
    rows: 0,
    timeNs: new NumberDraft(),
    arrival: new NumberDraft(),
    level: new AttributeDraft(),
    message: new TextDraft(),
    attributes: new Map(),
  };
}

export function attributeOf(draft: ChunkDraft, key: string): AttributeDraft {
  let attribute = draft.attributes.get(key);
  if (attribute === undefined) {
    attribute = new AttributeDraft();
    draft.attributes.set(key, attribute);
  }
  return attribute;
}

/** Places of the rows in order of time, ties by arrival; undefined where they stand in order already. */
export function timeOrder(timeNs: Float64Array, arrival: Float64Array): Uint32Array | undefined {
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
export function denseAttribute(
  attribute: AttributeDraft,
  rows: number,
  placeOf: Uint32Array | undefined,
): AttributeVector {
  const codes = new Int32Array(rows).fill(-1);
  for (let i = 0; i < attribute.count; i++) {
    const row = attribute.rows[i]!;
    codes[placeOf === undefined ? row : placeOf[row]!] = attribute.codes[i]!;
  }
  return { values: attribute.values.texts(), hashes: attribute.values.hashes(), codes };
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

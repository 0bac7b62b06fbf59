/** The chunk builder: collects rows into growing columns, and helpers that put the columns in order of time. */

import type { AttributeVector } from "../column/encoding.ts";
import { float64Of } from "../files/column-payload.ts";
import type { SplitMessagesBuilder } from "../template/split-messages.ts";
import { growArray } from "../vector/arrays.ts";
import { IdTable } from "../vector/id-table.ts";
import { gatherText, TextBuilder, type TextVector } from "../vector/text.ts";
import { TextTable, toByteSource } from "../vector/text-table.ts";

/**
 * The column of one attribute so far: the rows that have it, ascending, and the dictionary code of each one's value.
 */
export class AttributeBuilder {
  readonly #texts = new TextTable();
  /** The values in place of texts, where all of them came as ids of one width or as numbers. */
  #packed: IdTable | undefined;
  #areNumbers = false;
  /** Number of rows that have it; the arrays below are longer. */
  count = 0;
  rows = new Uint32Array(8);
  codes = new Uint32Array(8);

  /** The values as texts. Ids and numbers become texts with the same codes. */
  get values(): TextTable {
    if (this.#packed !== undefined) {
      const { offsets, bytes } = this.#packedTexts(this.#packed);
      const source = toByteSource(bytes);
      for (let code = 0; code < this.#packed.size; code++)
        this.#texts.intern(source, offsets[code]!, offsets[code + 1]!);
      this.#packed = undefined;
    }
    return this.#texts;
  }

  /** The values as ids of this width, to which more are added; undefined where some have another form. */
  idsOf(width: number): IdTable | undefined {
    return this.#packedOf(width, false);
  }

  /** The values as the bytes of 64-bit floats, to which more are added; undefined where some have another form. */
  numbers(): IdTable | undefined {
    return this.#packedOf(Float64Array.BYTES_PER_ELEMENT, true);
  }

  /** What an `AttributeVector` says of the values. */
  finishValues(): Omit<AttributeVector, "codes"> {
    if (this.#packed === undefined) return { values: this.#texts.texts(), hashes: this.#texts.hashes() };
    const values = this.#packedTexts(this.#packed);
    const ids = this.#packed.packed();
    return this.#areNumbers ? { values, numbers: float64Of(ids.bytes) } : { values, ids };
  }

  #packedOf(width: number, areNumbers: boolean): IdTable | undefined {
    if (this.#packed === undefined && this.#texts.size === 0 && IdTable.canHold(width)) {
      this.#packed = new IdTable(width);
      this.#packed.reserve(this.rows.length);
      this.#areNumbers = areNumbers;
    }
    return this.#packed?.width === width && this.#areNumbers === areNumbers ? this.#packed : undefined;
  }

  #packedTexts(table: IdTable): TextVector {
    if (!this.#areNumbers) return table.texts();
    const texts = new TextBuilder();
    for (const number of float64Of(table.packed().bytes)) texts.pushNumber(number);
    return texts.finish();
  }

  /**
   * Adds a value for a row. A second value for the newest row replaces the first. Throws an Error where the row is before
   * the newest one: what reads the column relies on ascending rows.
   */
  push(row: number, code: number): void {
    const { count } = this;
    if (count > 0 && this.rows[count - 1]! >= row) {
      if (this.rows[count - 1] !== row) throw new Error(`row ${row} is before row ${this.rows[count - 1]}`);
      this.codes[count - 1] = code;
      return;
    }
    if (count === this.rows.length) this.reserve(1);
    this.rows[count] = row;
    this.codes[count] = code;
    this.count = count + 1;
  }

  pushText(row: number, text: string): void {
    const source = toByteSource(Buffer.from(text, "utf8"));
    this.push(row, this.values.intern(source, 0, source.bytes.length));
  }

  /** Makes room for more rows. */
  reserve(rows: number): void {
    const length = this.count + rows;
    if (length <= this.rows.length) return;
    this.rows = growArray(this.rows, Math.max(length, this.rows.length * 2));
    this.codes = growArray(this.codes, this.rows.length);
  }
}

/** A growing column of numbers. */
class NumberBuilder {
  length = 0;
  #numbers = new Float64Array(64);

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
    const capacity = Math.max(this.length + count, this.#numbers.length * 2);
    this.#numbers = growArray(this.#numbers, capacity);
  }
}

/** Rows in columns, in the order in which they were added. */
export interface ChunkBuilder {
  rows: number;
  /** Nanoseconds since the start of the partition's day. */
  timeNs: NumberBuilder;
  /** Arrival numbers, or row numbers within a batch. */
  arrival: NumberBuilder;
  level: AttributeBuilder;
  message: TextBuilder;
  /** The messages in place of `message`, where all rows come from chunks that store them split. */
  split: SplitMessagesBuilder | undefined;
  attributes: Map<string, AttributeBuilder>;
}

export function createChunkBuilder(): ChunkBuilder {
  return {
    rows: 0,
    timeNs: new NumberBuilder(),
    arrival: new NumberBuilder(),
    level: new AttributeBuilder(),
    message: new TextBuilder(),
    split: undefined,
    attributes: new Map(),
  };
}

/** The column of an attribute key, added where there is none yet. */
export function getAttributeBuilder(builder: ChunkBuilder, key: string): AttributeBuilder {
  let attribute = builder.attributes.get(key);
  if (attribute === undefined) {
    attribute = new AttributeBuilder();
    builder.attributes.set(key, attribute);
  }
  return attribute;
}

/**
 * The rows in order of time, ties by arrival: order[position] = row. Undefined where they are in order already. Parts are
 * in order by themselves, so runs of rows in order are merged, until there is one.
 */
export function sortByTime(timeNs: Float64Array, arrival: Float64Array): Uint32Array | undefined {
  const isBefore = (a: number, b: number) =>
    timeNs[a]! < timeNs[b]! || (timeNs[a]! === timeNs[b]! && arrival[a]! < arrival[b]!);
  const rows = timeNs.length;
  let order = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) order[row] = row;
  let runs = findRuns(order, isBefore);
  if (runs.length <= 2) return undefined;
  let merged = new Uint32Array(rows);
  while (runs.length > 2) {
    for (let i = 0; i + 1 < runs.length; i += 2) {
      const end = runs[i + 2] ?? rows;
      mergeRuns(order, merged, { from: runs[i]!, middle: runs[i + 1]!, to: end }, isBefore);
    }
    [order, merged] = [merged, order];
    runs = [...runs.filter((_, i) => i % 2 === 0 && i < runs.length - 1), rows];
  }
  return order;
}

type IsBefore = (row: number, other: number) => boolean;

/** Where each run of rows in order begins, and the end. */
function findRuns(order: Uint32Array, isBefore: IsBefore): number[] {
  const runs = [0];
  for (let at = 1; at < order.length; at++) if (isBefore(order[at]!, order[at - 1]!)) runs.push(at);
  return [...runs, order.length];
}

/** Writes the runs [from, middle) and [middle, to) as one, at the same place. */
function mergeRuns(
  order: Uint32Array,
  merged: Uint32Array,
  { from, middle, to }: { from: number; middle: number; to: number },
  isBefore: IsBefore,
): void {
  let [a, b] = [from, middle];
  for (let at = from; at < to; at++) {
    const takesSecond = b < to && (a >= middle || isBefore(order[b]!, order[a]!));
    merged[at] = takesSecond ? order[b++]! : order[a++]!;
  }
}

/**
 * A code for each of `rows` rows, -1 where a row lacks the attribute. `positions[row]` is the position of a row in the
 * result; undefined leaves the order as it is.
 */
export function toDenseAttribute(
  attribute: AttributeBuilder,
  rows: number,
  positions: Uint32Array | undefined,
): AttributeVector {
  const codes = new Int32Array(rows);
  // Every row has one value, in order of rows.
  if (attribute.count === rows && positions === undefined) codes.set(attribute.codes.subarray(0, rows));
  else scatterCodes(attribute, codes, positions);
  return { ...attribute.finishValues(), codes };
}

function scatterCodes(
  attribute: AttributeBuilder,
  codes: Int32Array,
  positions: Uint32Array | undefined,
): void {
  if (attribute.count < codes.length) codes.fill(-1);
  for (let i = 0; i < attribute.count; i++) {
    const row = attribute.rows[i]!;
    codes[positions === undefined ? row : positions[row]!] = attribute.codes[i]!;
  }
}

/** Turns order[position] = row into positions[row] = position. */
export function invertOrder(order: Uint32Array): Uint32Array {
  const positions = new Uint32Array(order.length);
  for (let position = 0; position < order.length; position++) positions[order[position]!] = position;
  return positions;
}

/** The values in the order order[position] = row; undefined leaves them as they are. */
export function reorderNumbers(values: Float64Array, order: Uint32Array | undefined): Float64Array {
  if (order === undefined) return values;
  const result = new Float64Array(order.length);
  for (let position = 0; position < order.length; position++) result[position] = values[order[position]!]!;
  return result;
}

/** As `reorderNumbers`, for texts. */
export function reorderText(text: TextVector, order: Uint32Array | undefined): TextVector {
  return order === undefined ? text : gatherText(text, order);
}

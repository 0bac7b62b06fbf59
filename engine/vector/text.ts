/** Vectors of UTF-8 text in Arrow's layout. */
import { growArray } from "./arrays.ts";

/**
 * Texts in Arrow's layout: row i is bytes[offsets[i], offsets[i + 1]). There is one offset more than there are rows,
 * and the first need not be 0.
 */
export interface TextVector {
  offsets: Uint32Array;
  bytes: Uint8Array;
}

/** The text of one row, decoded. `row` is from 0 to the number of rows less one, and is not checked. */
export function textAt(vector: TextVector, row: number): string {
  return decodeText(vector.bytes, vector.offsets[row]!, vector.offsets[row + 1]!);
}

/**
 * Decodes bytes[from, to). Buffer decodes here because, unlike TextDecoder, it accepts views of shared memory and keeps
 * a leading byte order mark.
 */
export function decodeText(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("utf8");
}

/**
 * The texts of the rows [from, to). Where all are ASCII, one decoded string is cut into them: a substring costs next to
 * nothing.
 */
export function textsAt(vector: TextVector, from: number, to: number): string[] {
  const { offsets, bytes } = vector;
  const start = offsets[from]!;
  const decoded = decodeText(bytes, start, offsets[to]!);
  const texts: string[] = [];
  if (decoded.length !== offsets[to]! - start) {
    // Some character takes several bytes, so offsets into the bytes are none into the string.
    for (let row = from; row < to; row++) texts.push(textAt(vector, row));
    return texts;
  }
  for (let row = from, at = 0; row < to; row++) {
    const end = offsets[row + 1]! - start;
    texts.push(decoded.slice(at, end));
    at = end;
  }
  return texts;
}

/** The texts of the rows [from, to) as rows from 0 on; no text is copied. */
export function cutTexts({ offsets, bytes }: TextVector, from: number, to: number): TextVector {
  return { offsets: offsets.subarray(from, to + 1), bytes };
}

export function textCount(vector: TextVector): number {
  return vector.offsets.length - 1;
}

/** A text vector that grows row by row. */
export class TextBuilder {
  rows = 0;
  // Small at first: a batch may have rows of thousands of days, each with builders of its own.
  #offsets = new Uint32Array(64);
  #bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  #byteLength = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Makes room for more rows, and for their texts. */
  reserve(rows: number, byteLength: number): void {
    this.#reserve(byteLength);
    const offsets = this.rows + rows + 1;
    if (offsets > this.#offsets.length) this.#offsets = growArray(this.#offsets, offsets);
  }

  /** All texts so far, one after the other. The view is valid until the next text is added. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Where the text of a row begins, which is where that of the row before ends. */
  startOf(row: number): number {
    return this.#offsets[row]!;
  }

  push(text: string): void {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    this.#reserve(text.length * 3);
    this.#byteLength += this.#bytes.write(text, this.#byteLength, "utf8");
    this.#endRow();
  }

  pushBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength);
    this.#bytes.set(bytes, this.#byteLength);
    this.#byteLength += bytes.byteLength;
    this.#endRow();
  }

  /** Appends source[from, to) as one row. */
  pushRange(source: Buffer, from: number, to: number): void {
    this.#reserve(to - from);
    source.copy(this.#bytes, this.#byteLength, from, to);
    this.#byteLength += to - from;
    this.#endRow();
  }

  /** Appends the text that JavaScript prints for a number. */
  pushNumber(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      this.push(String(value));
      return;
    }
    let digits = 1;
    for (let bound = 10; value >= bound; bound *= 10) digits++;
    this.#reserve(digits);
    this.#byteLength += digits;
    let at = this.#byteLength;
    let rest = value;
    for (; rest > 0x7fffffff; digits--) {
      const tenth = Math.floor(rest / 10);
      this.#bytes[--at] = 48 + rest - tenth * 10;
      rest = tenth;
    }
    // Dividing an integer of 32 bits takes a fraction of the time.
    for (let integer = rest | 0; digits > 0; digits--) {
      const tenth = (integer / 10) | 0;
      this.#bytes[--at] = 48 + integer - tenth * 10;
      integer = tenth;
    }
    this.#endRow();
  }

  /** Appends every row of another vector. */
  append(vector: TextVector): void {
    const rows = textCount(vector);
    const from = vector.offsets[0]!;
    const to = vector.offsets[rows]!;
    this.#reserve(to - from);
    this.#bytes.set(vector.bytes.subarray(from, to), this.#byteLength);
    const shift = this.#byteLength - from;
    this.#byteLength += to - from;
    if (this.rows + rows >= this.#offsets.length) {
      this.#offsets = growArray(this.#offsets, Math.max(this.#offsets.length * 2, this.rows + rows + 1));
    }
    for (let row = 1; row <= rows; row++) this.#offsets[this.rows + row] = vector.offsets[row]! + shift;
    this.rows += rows;
  }

  /**
   * As `finish`, with a copy of the bytes that has no spare room after it: a vector that is sent to another thread is
   * copied with all of its buffer.
   */
  finishExact(): TextVector {
    const { offsets, bytes } = this.finish();
    return { offsets, bytes: bytes.slice() };
  }

  /** The texts. Their bytes are a view of the builder's memory. */
  finish(): TextVector {
    return {
      offsets: this.#offsets.slice(0, this.rows + 1),
      bytes: new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#byteLength),
    };
  }

  #endRow(): void {
    this.rows++;
    if (this.rows >= this.#offsets.length) this.#offsets = growArray(this.#offsets, this.#offsets.length * 2);
    this.#offsets[this.rows] = this.#byteLength;
  }

  #reserve(byteLength: number): void {
    if (this.#byteLength + byteLength <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#byteLength + byteLength));
    this.#bytes.copy(larger, 0, 0, this.#byteLength);
    this.#bytes = larger;
  }
}

/** A vector of one text a row. */
export function toTextVector(values: readonly string[]): TextVector {
  const builder = new TextBuilder();
  for (const value of values) builder.push(value);
  return builder.finish();
}

/** The texts of the rows `places`, in that order. A negative place gives an empty text. */
export function gatherText(text: TextVector, places: ArrayLike<number>): TextVector {
  const offsets = new Uint32Array(places.length + 1);
  let byteLength = 0;
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!;
    if (place >= 0) byteLength += text.offsets[place + 1]! - text.offsets[place]!;
    offsets[i + 1] = byteLength;
  }
  const bytes = Buffer.allocUnsafeSlow(byteLength);
  const source = Buffer.from(text.bytes.buffer, text.bytes.byteOffset, text.bytes.byteLength);
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!;
    if (place >= 0) source.copy(bytes, offsets[i]!, text.offsets[place]!, text.offsets[place + 1]!);
  }
  return { offsets, bytes: toPlainBytes(bytes) };
}

/** The same bytes as a plain Uint8Array. The `slice` of a Buffer is a view; that of any other array is a copy. */
export function toPlainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The same bytes as a Buffer. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

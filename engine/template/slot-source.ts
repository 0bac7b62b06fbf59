/** Decoding of slots: the values of variables as text again. */
import { Failure } from "../failure.ts";
import { addSplitIntegers } from "../kernels/byte-stream-split.ts";
import { longLength } from "./slot-sink.ts";

/** Reads the streams that slots were written to, in the same order. */
export class SlotSource {
  readonly data: Uint8Array;
  readonly lengths: Uint8Array;
  readonly longLengths: Uint32Array;
  readonly text: Uint8Array;
  at = 0;
  /** Texts read so far. */
  textCount = 0;
  #longAt = 0;
  #textAt = 0;

  constructor(parts: { data: Uint8Array; lengths: Uint8Array; longLengths: Uint32Array; text: Uint8Array }) {
    this.data = parts.data;
    this.lengths = parts.lengths;
    this.longLengths = parts.longLengths;
    this.text = parts.text;
  }

  readByte(): number {
    const byte = this.data[this.at++];
    if (byte === undefined) throw makeTruncatedFailure();
    return byte;
  }

  readBytes(byteLength: number): Uint8Array {
    const from = this.at;
    this.at += byteLength;
    if (this.at > this.data.byteLength) throw makeTruncatedFailure();
    return this.data.subarray(from, this.at);
  }

  /** Reads `count` numbers that `writeNumbers` wrote. */
  readNumbers(count: number): Float64Array {
    const head = this.readBytes(8);
    const base = new DataView(head.buffer, head.byteOffset, 8).getFloat64(0, true);
    const width = this.readByte();
    const values = new Float64Array(count).fill(base);
    addSplitIntegers(this.readBytes(width * count), width, values);
    return values;
  }

  /** Appends the next `count` texts to `target`. */
  copyTexts(count: number, target: TextTarget): void {
    const from = this.#textAt;
    for (let i = 0; i < count; i++) {
      let length = this.lengths[this.textCount++];
      if (length === longLength) length = this.longLengths[this.#longAt++];
      if (length === undefined) throw makeTruncatedFailure();
      this.#textAt += length;
      target.endValue(target.byteLength + this.#textAt - from);
    }
    if (this.#textAt > this.text.byteLength) throw makeTruncatedFailure();
    target.append(this.text.subarray(from, this.#textAt));
  }
}

/** The decoded texts of a group. Text i ends at offsets[i + 1]. */
export class TextTarget {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  count = 0;
  byteLength = 0;

  constructor(offsets: Uint32Array, bytes: Uint8Array) {
    this.offsets = offsets;
    this.bytes = bytes;
  }

  /** Ends the next text at byte `at`. Throws Failure "damage" where there is no room for it. */
  endValue(at: number): void {
    if (this.count + 1 >= this.offsets.length || at > this.bytes.byteLength) throw makeTruncatedFailure();
    this.offsets[++this.count] = at;
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.byteLength);
    this.byteLength += bytes.byteLength;
  }
}

/** Decodes a slot of kind `digits`: fills the digits of each number into the shape, from the right. */
export function decodeDigits(source: SlotSource, count: number, target: TextTarget): void {
  const length = source.readByte();
  const shape = source.readBytes(length);
  const values = source.readNumbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    const from = target.byteLength;
    target.endValue(from + length);
    let number = values[row]!;
    for (let i = length - 1; i >= 0; i--) {
      if (shape[i] !== 48) {
        bytes[from + i] = shape[i]!;
        continue;
      }
      const quotient = Math.floor(number / 10);
      bytes[from + i] = 48 + number - quotient * 10;
      number = quotient;
    }
    target.byteLength = from + length;
  }
}

/** Decodes a slot of kind `integer`. */
export function decodeInteger(source: SlotSource, count: number, target: TextTarget): void {
  source.readByte();
  const values = source.readNumbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    let number = values[row]!;
    const end = target.byteLength + countDigits(number);
    target.endValue(end);
    for (let at = end - 1; at >= target.byteLength; at--) {
      const quotient = Math.floor(number / 10);
      bytes[at] = 48 + number - quotient * 10;
      number = quotient;
    }
    target.byteLength = end;
  }
}

function countDigits(number: number): number {
  let digits = 1;
  for (let bound = 10; number >= bound; bound *= 10) digits++;
  return digits;
}

/** The lower-case hexadecimal digits as ASCII. */
const hexDigits = Uint8Array.from({ length: 16 }, (_, value) => (value < 10 ? 48 + value : 87 + value));

/** Decodes a slot of kind `hex`. */
export function decodeHex(source: SlotSource, count: number, target: TextTarget): void {
  const width = source.readByte();
  const data = source.readBytes(width * count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) target.endValue(target.byteLength + (row + 1) * width * 2);
  for (const byte of data) {
    bytes[target.byteLength++] = hexDigits[byte >> 4]!;
    bytes[target.byteLength++] = hexDigits[byte & 15]!;
  }
}

export function makeTruncatedFailure(): Failure {
  return new Failure("damage", "message: variables cut short");
}

/** The values of slots, read back as text. */
import { Failure } from "../failure.ts";
import { addSplitIntegers } from "../kernels/byte-stream-split.ts";
import { longLength } from "./slot-sink.ts";

/** Reads what slots were written to, in the same order. */
export class SlotSource {
  readonly data: Uint8Array;
  readonly lengths: Uint8Array;
  readonly longs: Uint32Array;
  readonly text: Uint8Array;
  at = 0;
  /** Texts taken so far. */
  texts = 0;
  #longs = 0;
  #textAt = 0;

  constructor(parts: { data: Uint8Array; lengths: Uint8Array; longs: Uint32Array; text: Uint8Array }) {
    this.data = parts.data;
    this.lengths = parts.lengths;
    this.longs = parts.longs;
    this.text = parts.text;
  }

  byte(): number {
    const byte = this.data[this.at++];
    if (byte === undefined) throw cutShort();
    return byte;
  }

  take(byteLength: number): Uint8Array {
    const from = this.at;
    this.at += byteLength;
    if (this.at > this.data.byteLength) throw cutShort();
    return this.data.subarray(from, this.at);
  }

  /** `count` numbers that writeNumbers wrote. */
  numbers(count: number): Float64Array {
    const head = this.take(8);
    const base = new DataView(head.buffer, head.byteOffset, 8).getFloat64(0, true);
    const width = this.byte();
    const values = new Float64Array(count).fill(base);
    addSplitIntegers(this.take(width * count), width, values);
    return values;
  }

  /** Copies `count` texts behind those that stand in `target` already. */
  copyTexts(count: number, target: TextTarget): void {
    const from = this.#textAt;
    for (let i = 0; i < count; i++) {
      let length = this.lengths[this.texts++];
      if (length === longLength) length = this.longs[this.#longs++];
      if (length === undefined) throw cutShort();
      this.#textAt += length;
      target.end(target.byteLength + this.#textAt - from);
    }
    if (this.#textAt > this.text.byteLength) throw cutShort();
    target.append(this.text.subarray(from, this.#textAt));
  }
}

/** Values as text, as they are decoded: `bytes` of value i end at offsets[i + 1]. */
export class TextTarget {
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  count = 0;
  byteLength = 0;

  constructor(offsets: Uint32Array, bytes: Uint8Array) {
    this.offsets = offsets;
    this.bytes = bytes;
  }

  /** Notes where the next value ends. */
  end(at: number): void {
    if (this.count + 1 >= this.offsets.length || at > this.bytes.byteLength) throw cutShort();
    this.offsets[++this.count] = at;
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.byteLength);
    this.byteLength += bytes.byteLength;
  }
}

export function decodeDigits(source: SlotSource, count: number, target: TextTarget): void {
  const length = source.byte();
  const shape = source.take(length);
  const values = source.numbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    const from = target.byteLength;
    target.end(from + length);
    let number = values[row]!;
    for (let i = length - 1; i >= 0; i--) {
      if (shape[i] !== 48) {
        bytes[from + i] = shape[i]!;
        continue;
      }
      const rest = Math.floor(number / 10);
      bytes[from + i] = 48 + number - rest * 10;
      number = rest;
    }
    target.byteLength = from + length;
  }
}

export function decodeInteger(source: SlotSource, count: number, target: TextTarget): void {
  source.byte();
  const values = source.numbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    let number = values[row]!;
    const end = target.byteLength + digitsOf(number);
    target.end(end);
    for (let at = end - 1; at >= target.byteLength; at--) {
      const rest = Math.floor(number / 10);
      bytes[at] = 48 + number - rest * 10;
      number = rest;
    }
    target.byteLength = end;
  }
}

function digitsOf(number: number): number {
  let digits = 1;
  for (let bound = 10; number >= bound; bound *= 10) digits++;
  return digits;
}

const hexDigits = Uint8Array.from({ length: 16 }, (_, value) => (value < 10 ? 48 + value : 87 + value));

export function decodeHex(source: SlotSource, count: number, target: TextTarget): void {
  const width = source.byte();
  const data = source.take(width * count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) target.end(target.byteLength + (row + 1) * width * 2);
  for (const byte of data) {
    bytes[target.byteLength++] = hexDigits[byte >> 4]!;
    bytes[target.byteLength++] = hexDigits[byte & 15]!;
  }
}

export function cutShort(): Failure {
  return new Failure("damage", "message: variables cut short");
}

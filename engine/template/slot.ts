/** The values of one slot of one template over its rows: written by what they are, read back as text. */
import { Failure } from "../failure.ts";

/** Part of the format. */
export const SlotKind = {
  /** Every row has the same value. */
  constant: 1,
  /** Few values, a code a row. */
  dictionary: 2,
  /** Values of one length that differ in their digits alone: the digits as one number. */
  digits: 3,
  /** Decimal integers without leading zeros. */
  integer: 4,
  /** Lower-case hexadecimal of one even length. */
  hex: 5,
  text: 6,
  /** The value of an attribute of the same row. */
  attribute: 7,
} as const;

/** Classes of characters that a slot's values hold: a needle with a class that is missing cannot lie in it. */
export const CharClass = { digit: 1, lowerHex: 2, lower: 4, upper: 8, mark: 16, other: 32 } as const;

const classOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[0-9]/.test(character)) return CharClass.digit;
  if (/[a-f]/.test(character)) return CharClass.lowerHex;
  if (/[g-z]/.test(character)) return CharClass.lower;
  if (/[A-Z]/.test(character)) return CharClass.upper;
  return /[._-]/.test(character) ? CharClass.mark : CharClass.other;
});

export function classesOf(bytes: Uint8Array, from: number, to: number): number {
  let classes = 0;
  for (let at = from; at < to; at++) classes |= classOf[bytes[at]!]!;
  return classes;
}

/** Values as ranges of bytes; the first `count` entries of `starts` and `ends`. */
export interface SlotValues {
  bytes: Uint8Array;
  starts: Uint32Array;
  ends: Uint32Array;
  count: number;
}

/** What slots are written to: data of every kind, and texts as lengths and bytes. */
export interface SlotSinks {
  data: ByteSink;
  texts: TextSink;
}

/** Bytes that grow. */
export class ByteSink {
  #bytes = new Uint8Array(1 << 16);
  length = 0;

  push(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = byte;
  }

  append(bytes: Uint8Array, from = 0, to = bytes.byteLength): void {
    this.#reserve(to - from);
    // A call into the runtime costs more than a few bytes do.
    if (to - from > 32) this.#bytes.set(bytes.subarray(from, to), this.length);
    else for (let at = from, target = this.length; at < to; at++) this.#bytes[target++] = bytes[at]!;
    this.length += to - from;
  }

  float64(value: number): void {
    this.append(new Uint8Array(Float64Array.of(value).buffer));
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #reserve(byteLength: number): void {
    if (this.length + byteLength <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + byteLength));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}

/** A length of 255 stands for one that is among the long ones. */
const longLength = 255;

export class TextSink {
  readonly lengths = new ByteSink();
  readonly longs: number[] = [];
  readonly bytes = new ByteSink();

  push(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length >= longLength) this.longs.push(length);
    this.lengths.push(Math.min(length, longLength));
    this.bytes.append(bytes, from, to);
  }
}

/** Digits in a row that a float64 holds exactly. */
const exactDigits = 15;
const dictionaryMax = 255;
/** Fewer values are text unless all are equal: a shape of their own would outweigh them. */
const shapedMin = 32;

/** Writes the values and returns the kind. */
export function encodeSlot(values: SlotValues, classes: number, sinks: SlotSinks): number {
  const { count } = values;
  if (count > 1 && allEqual(values)) {
    sinks.texts.push(values.bytes, values.starts[0]!, values.ends[0]!);
    return SlotKind.constant;
  }
  if (count >= shapedMin) {
    if (encodeFew(values, sinks)) return SlotKind.dictionary;
    if (encodeDigits(values, sinks.data)) return SlotKind.digits;
    if (encodeInteger(values, classes, sinks.data)) return SlotKind.integer;
    if (encodeHex(values, classes, sinks.data)) return SlotKind.hex;
  }
  const { bytes, starts, ends } = values;
  for (let i = 0; i < count; i++) sinks.texts.push(bytes, starts[i]!, ends[i]!);
  return SlotKind.text;
}

function allEqual(values: SlotValues): boolean {
  for (let i = 1; i < values.count; i++) if (!equalValues(values, 0, i)) return false;
  return true;
}

function equalValues({ bytes, starts, ends }: SlotValues, a: number, b: number): boolean {
  const first = starts[a]!;
  const second = starts[b]!;
  const length = ends[a]! - first;
  if (ends[b]! - second !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[first + i] !== bytes[second + i]) return false;
  return true;
}

const tableSlots = 1024;
const table = new Int16Array(tableSlots);
const firstOf = new Uint32Array(dictionaryMax);
let codes = new Uint8Array(1024);

/** A dictionary where values repeat eight times on average: u8 number of values less one, then the codes. */
function encodeFew(values: SlotValues, sinks: SlotSinks): boolean {
  const { count, bytes, starts, ends } = values;
  const most = Math.min(dictionaryMax, count >> 3);
  if (codes.length < count) codes = new Uint8Array(count * 2);
  table.fill(-1);
  let distinct = 0;
  for (let i = 0; i < count; i++) {
    let hash = 0;
    for (let at = starts[i]!; at < ends[i]!; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    let place = (hash ^ (hash >>> 15)) & (tableSlots - 1);
    while (table[place]! >= 0 && !equalValues(values, firstOf[table[place]!]!, i))
      place = (place + 1) & (tableSlots - 1);
    if (table[place]! < 0) {
      if (distinct === most) return false;
      firstOf[distinct] = i;
      table[place] = distinct++;
    }
    codes[i] = table[place]!;
  }
  for (let code = 0; code < distinct; code++)
    sinks.texts.push(bytes, starts[firstOf[code]!]!, ends[firstOf[code]!]!);
  sinks.data.push(distinct - 1);
  sinks.data.append(codes, 0, count);
  return true;
}

let numbers = new Float64Array(1024);

function roomForNumbers(count: number): Float64Array {
  if (numbers.length < count) numbers = new Float64Array(count * 2);
  return numbers;
}

/** u8 length, the shape (a value with each digit as "0"), numbers. */
function encodeDigits({ bytes, starts, ends, count }: SlotValues, data: ByteSink): boolean {
  const start = starts[0]!;
  const length = ends[0]! - start;
  if (length > 64) return false;
  const shape = bytes.slice(start, start + length);
  let digits = 0;
  for (let i = 0; i < length; i++) {
    if (!isDigit(shape[i]!)) continue;
    shape[i] = 48;
    digits++;
  }
  if (digits > exactDigits) return false;
  const parsed = roomForNumbers(count);
  for (let row = 0; row < count; row++) {
    const at = starts[row]!;
    if (ends[row]! - at !== length) return false;
    let number = 0;
    for (let i = 0; i < length; i++) {
      const byte = bytes[at + i]!;
      if (shape[i] !== 48) {
        if (byte !== shape[i]) return false;
      } else {
        if (!isDigit(byte)) return false;
        number = number * 10 + byte - 48;
      }
    }
    parsed[row] = number;
  }
  data.push(length);
  data.append(shape);
  writeNumbers(parsed, count, data);
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

/** u8 digits of the longest, numbers. */
function encodeInteger(values: SlotValues, classes: number, data: ByteSink): boolean {
  const { bytes, starts, ends, count } = values;
  if (classes !== CharClass.digit) return false;
  const parsed = roomForNumbers(count);
  let longest = 0;
  for (let row = 0; row < count; row++) {
    const from = starts[row]!;
    const length = ends[row]! - from;
    if (length > exactDigits || (bytes[from] === 48 && length > 1)) return false;
    if (length > longest) longest = length;
    let number = 0;
    for (let at = from; at < from + length; at++) number = number * 10 + bytes[at]! - 48;
    parsed[row] = number;
  }
  data.push(longest);
  writeNumbers(parsed, count, data);
  return true;
}

/** u8 bytes of a value, the bytes. */
function encodeHex(values: SlotValues, classes: number, data: ByteSink): boolean {
  const { bytes, starts, ends, count } = values;
  if ((classes & ~(CharClass.digit | CharClass.lowerHex)) !== 0) return false;
  const length = ends[0]! - starts[0]!;
  if (length % 2 !== 0 || length > 510) return false;
  for (let row = 1; row < count; row++) if (ends[row]! - starts[row]! !== length) return false;
  data.push(length / 2);
  for (let row = 0; row < count; row++) {
    for (let at = starts[row]!; at < ends[row]!; at += 2)
      data.push((nibble(bytes[at]!) << 4) | nibble(bytes[at + 1]!));
  }
  return true;
}

function nibble(digit: number): number {
  return digit < 58 ? digit - 48 : digit - 87;
}

/** Non-negative whole numbers below 2^53: float64 base, u8 width, then offsets from the base, least significant bytes first. */
function writeNumbers(values: Float64Array, count: number, data: ByteSink): void {
  let base = values[0]!;
  let largest = base;
  for (let row = 1; row < count; row++) {
    if (values[row]! < base) base = values[row]!;
    if (values[row]! > largest) largest = values[row]!;
  }
  const width = bytesFor(largest - base);
  data.float64(base);
  data.push(width);
  for (let row = 0; row < count; row++) values[row] = values[row]! - base;
  // Byte planes: the high bytes, which change little, lie together.
  for (let plane = 0; plane < width; plane++) {
    for (let row = 0; row < count; row++) {
      const rest = Math.floor(values[row]! / 256);
      data.push(values[row]! - rest * 256);
      values[row] = rest;
    }
  }
}

function bytesFor(range: number): number {
  let width = 0;
  for (let bound = 1; bound <= range; bound *= 256) width++;
  return width;
}

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
    let factor = 1;
    for (let plane = 0; plane < width; plane++, factor *= 256) {
      const bytes = this.take(count);
      for (let row = 0; row < count; row++) values[row] = values[row]! + bytes[row]! * factor;
    }
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

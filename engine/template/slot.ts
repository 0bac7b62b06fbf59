/** The values of one slot of one template over its rows: encoded by what they are, decoded to text when a search must look at them. */
import { Failure } from "../failure.ts";
import type { TextVector } from "../text.ts";

/** Part of the format. */
const SlotKind = {
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
} as const;

/** Classes of characters that a slot's values hold: a needle with a class that is missing cannot lie in it. */
export const CharClass = { digit: 1, lowerHex: 2, lower: 4, upper: 8, other: 16 } as const;

const classOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[0-9]/.test(character)) return CharClass.digit;
  if (/[a-f]/.test(character)) return CharClass.lowerHex;
  if (/[g-z]/.test(character)) return CharClass.lower;
  if (/[A-Z]/.test(character)) return CharClass.upper;
  return CharClass.other;
});

export function classesOf(bytes: Uint8Array, from: number, to: number): number {
  let classes = 0;
  for (let at = from; at < to; at++) classes |= classOf[bytes[at]!]!;
  return classes;
}

/** What a slot's values can be, told before any is read. */
interface SlotStamp {
  classes: number;
  lengthMin: number;
  lengthMax: number;
}

export interface EncodedSlot {
  kind: number;
  stamp: SlotStamp;
  data: Uint8Array;
}

/** Digits in a row that a float64 holds exactly. */
const exactDigits = 15;
const dictionaryMax = 255;

function stampOf(values: TextVector): SlotStamp {
  const { offsets, bytes } = values;
  const stamp = { classes: 0, lengthMin: 0xffffffff, lengthMax: 0 };
  for (let i = 0; i + 1 < offsets.length; i++) {
    const length = offsets[i + 1]! - offsets[i]!;
    if (length < stamp.lengthMin) stamp.lengthMin = length;
    if (length > stamp.lengthMax) stamp.lengthMax = length;
  }
  stamp.classes = classesOf(bytes, offsets[0]!, offsets.at(-1)!);
  return stamp;
}

export function encodeSlot(values: TextVector): EncodedSlot {
  const stamp = stampOf(values);
  const encoded =
    encodeFew(values) ??
    encodeDigits(values, stamp) ??
    encodeInteger(values, stamp) ??
    encodeHex(values, stamp);
  return encoded === undefined
    ? { kind: SlotKind.text, stamp, data: encodeTexts(values) }
    : { ...encoded, stamp };
}

type Encoded = Omit<EncodedSlot, "stamp">;

/** Constant, or a dictionary where values repeat eight times on average. */
function encodeFew(values: TextVector): Encoded | undefined {
  const rows = values.offsets.length - 1;
  const most = Math.min(dictionaryMax, Math.max(1, rows >> 3));
  const codeOf = new Map<string, number>();
  const codes = new Uint8Array(rows);
  const { offsets, bytes } = values;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let row = 0; row < rows; row++) {
    const value = buffer.toString("latin1", offsets[row]!, offsets[row + 1]!);
    let code = codeOf.get(value);
    if (code === undefined) {
      if (codeOf.size === most) return undefined;
      code = codeOf.size;
      codeOf.set(value, code);
    }
    codes[row] = code;
  }
  const distinct = [...codeOf.keys()].map((value) => Buffer.from(value, "latin1"));
  if (distinct.length === 1) return { kind: SlotKind.constant, data: distinct[0]! };
  const texts = writeTexts(
    distinct.map((value) => value.byteLength),
    Buffer.concat(distinct),
  );
  return {
    kind: SlotKind.dictionary,
    data: Buffer.concat([uint32(distinct.length), uint32(texts.length), texts, codes]),
  };
}

/** Shape: the first value with each digit as "0". */
function encodeDigits(values: TextVector, stamp: SlotStamp): Encoded | undefined {
  const { offsets, bytes } = values;
  const length = stamp.lengthMax;
  if (stamp.lengthMin !== length || length > 64) return undefined;
  const start = offsets[0]!;
  const isDigit = Array.from(bytes.subarray(start, start + length), (byte) => byte >= 48 && byte <= 57);
  if (isDigit.filter(Boolean).length > exactDigits) return undefined;
  const rows = offsets.length - 1;
  const numbers = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let number = 0;
    const at = offsets[row]!;
    for (let i = 0; i < length; i++) {
      const byte = bytes[at + i]!;
      if (!isDigit[i]) {
        if (byte !== bytes[start + i]) return undefined;
      } else {
        if (byte < 48 || byte > 57) return undefined;
        number = number * 10 + byte - 48;
      }
    }
    numbers[row] = number;
  }
  const shape = Uint8Array.from(bytes.subarray(start, start + length), (byte, i) => (isDigit[i] ? 48 : byte));
  return {
    kind: SlotKind.digits,
    data: Buffer.concat([Uint8Array.of(length), shape, writeNumbers(numbers)]),
  };
}

function encodeInteger(values: TextVector, stamp: SlotStamp): Encoded | undefined {
  const { offsets, bytes } = values;
  if (stamp.classes !== CharClass.digit || stamp.lengthMax > exactDigits) return undefined;
  const rows = offsets.length - 1;
  const numbers = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    const from = offsets[row]!;
    const to = offsets[row + 1]!;
    if (bytes[from] === 48 && to - from > 1) return undefined;
    let number = 0;
    for (let at = from; at < to; at++) number = number * 10 + bytes[at]! - 48;
    numbers[row] = number;
  }
  return { kind: SlotKind.integer, data: writeNumbers(numbers) };
}

function encodeHex(values: TextVector, stamp: SlotStamp): Encoded | undefined {
  const { offsets, bytes } = values;
  const length = stamp.lengthMax;
  if ((stamp.classes & ~(CharClass.digit | CharClass.lowerHex)) !== 0) return undefined;
  if (stamp.lengthMin !== length || length % 2 !== 0 || length > 510) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    "latin1",
    offsets[0],
    offsets.at(-1),
  );
  return { kind: SlotKind.hex, data: Buffer.concat([Uint8Array.of(length / 2), Buffer.from(text, "hex")]) };
}

function encodeTexts(values: TextVector): Uint8Array {
  const { offsets, bytes } = values;
  const lengths = Array.from({ length: offsets.length - 1 }, (_, row) => offsets[row + 1]! - offsets[row]!);
  return writeTexts(lengths, bytes.subarray(offsets[0]!, offsets.at(-1)!));
}

/** Values as text, in row order. Throws Failure "damage" where the data is not what encodeSlot writes. */
export function decodeSlot(kind: number, data: Uint8Array, rows: number): TextVector {
  switch (kind) {
    case SlotKind.constant:
      return repeated(data, rows);
    case SlotKind.dictionary:
      return decodeDictionary(data, rows);
    case SlotKind.digits:
      return decodeDigits(data, rows);
    case SlotKind.integer:
      return decodeInteger(data, rows);
    case SlotKind.hex:
      return decodeHex(data, rows);
    case SlotKind.text:
      return readTexts(data, rows).vector;
    default:
      throw new Failure("damage", `message: unknown kind of slot ${kind}`);
  }
}

function repeated(value: Uint8Array, rows: number): TextVector {
  const offsets = new Uint32Array(rows + 1);
  const bytes = new Uint8Array(rows * value.byteLength);
  for (let row = 0; row < rows; row++) {
    bytes.set(value, row * value.byteLength);
    offsets[row + 1] = (row + 1) * value.byteLength;
  }
  return { offsets, bytes };
}

function decodeDictionary(data: Uint8Array, rows: number): TextVector {
  const view = viewOf(data);
  const count = view.getUint32(0, true);
  const textBytes = view.getUint32(4, true);
  const { vector: values } = readTexts(data.subarray(8, 8 + textBytes), count);
  const codes = data.subarray(8 + textBytes, 8 + textBytes + rows);
  const offsets = new Uint32Array(rows + 1);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    const code = codes[row]!;
    at += values.offsets[code + 1]! - values.offsets[code]!;
    offsets[row + 1] = at;
  }
  const bytes = new Uint8Array(at);
  for (let row = 0; row < rows; row++) {
    const code = codes[row]!;
    const from = values.offsets[code]!;
    const to = values.offsets[code + 1]!;
    for (let i = from, target = offsets[row]!; i < to; i++, target++) bytes[target] = values.bytes[i]!;
  }
  return { offsets, bytes };
}

function decodeDigits(data: Uint8Array, rows: number): TextVector {
  const length = data[0]!;
  const shape = data.subarray(1, 1 + length);
  const numbers = readNumbers(data.subarray(1 + length), rows);
  const { offsets, bytes } = repeated(shape, rows);
  for (let row = 0; row < rows; row++) {
    let number = numbers[row]!;
    for (let i = length - 1, at = row * length + length - 1; i >= 0; i--, at--) {
      if (shape[i] !== 48) continue;
      const rest = Math.floor(number / 10);
      bytes[at] = 48 + number - rest * 10;
      number = rest;
    }
  }
  return { offsets, bytes };
}

function decodeInteger(data: Uint8Array, rows: number): TextVector {
  const numbers = readNumbers(data, rows);
  const offsets = new Uint32Array(rows + 1);
  const bytes = Buffer.alloc(rows * exactDigits);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    let number = numbers[row]!;
    let end = at + digitsOf(number);
    offsets[row + 1] = end;
    const next = end;
    do {
      const rest = Math.floor(number / 10);
      bytes[--end] = 48 + number - rest * 10;
      number = rest;
    } while (end > at);
    at = next;
  }
  return { offsets, bytes: bytes.subarray(0, at) };
}

function digitsOf(number: number): number {
  let digits = 1;
  for (let bound = 10; number >= bound; bound *= 10) digits++;
  return digits;
}

function decodeHex(data: Uint8Array, rows: number): TextVector {
  const length = data[0]! * 2;
  const text = Buffer.from(data.buffer, data.byteOffset + 1, data.byteLength - 1).toString("hex");
  const offsets = Uint32Array.from({ length: rows + 1 }, (_, row) => row * length);
  return { offsets, bytes: Buffer.from(text, "latin1") };
}

/** Non-negative whole numbers below 2^53: float64 base, u8 width, then offsets from the base (width 8: float64). */
function writeNumbers(numbers: Float64Array): Uint8Array {
  let base = numbers[0]!;
  let largest = base;
  for (const number of numbers) {
    if (number < base) base = number;
    if (number > largest) largest = number;
  }
  const range = largest - base;
  const width = range === 0 ? 0 : range <= 0xff ? 1 : range <= 0xffff ? 2 : range <= 0xffffffff ? 4 : 8;
  const data = Buffer.alloc(9 + numbers.length * width);
  data.writeDoubleLE(base, 0);
  data[8] = width;
  // Byte planes: the high bytes, which change little, lie together.
  for (let row = 0; row < numbers.length; row++) {
    let offset = numbers[row]! - base;
    for (let plane = 0; plane < width; plane++) {
      const rest = Math.floor(offset / 256);
      data[9 + plane * numbers.length + row] = offset - rest * 256;
      offset = rest;
    }
  }
  return data;
}

function readNumbers(data: Uint8Array, rows: number): Float64Array {
  const base = viewOf(data).getFloat64(0, true);
  const width = data[8]!;
  if (data.byteLength !== 9 + rows * width) throw new Failure("damage", "message: numbers cut short");
  const numbers = new Float64Array(rows).fill(base);
  let factor = 1;
  for (let plane = 0; plane < width; plane++, factor *= 256) {
    const from = 9 + plane * rows;
    for (let row = 0; row < rows; row++) numbers[row] = numbers[row]! + data[from + row]! * factor;
  }
  return numbers;
}

/** u8 width of a length, lengths, bytes. */
export function writeTexts(lengths: readonly number[], bytes: Uint8Array): Uint8Array {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const width = longest <= 0xff ? 1 : longest <= 0xffff ? 2 : 4;
  const data = Buffer.alloc(1 + lengths.length * width + bytes.byteLength);
  data[0] = width;
  for (const [i, length] of lengths.entries()) data.writeUIntLE(length, 1 + i * width, width);
  data.set(bytes, 1 + lengths.length * width);
  return data;
}

export function readTexts(data: Uint8Array, rows: number): { vector: TextVector; end: number } {
  const width = data[0]!;
  const offsets = new Uint32Array(rows + 1);
  let at = 1;
  let total = 0;
  for (let row = 0; row < rows; row++, at += width) {
    let length = data[at]!;
    if (width > 1) length |= data[at + 1]! << 8;
    if (width > 2) length = (length | (data[at + 2]! << 16) | (data[at + 3]! << 24)) >>> 0;
    total += length;
    offsets[row + 1] = total;
  }
  const end = at + total;
  if (end > data.byteLength) throw new Failure("damage", "message: text cut short");
  return { vector: { offsets, bytes: data.subarray(at, end) }, end };
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

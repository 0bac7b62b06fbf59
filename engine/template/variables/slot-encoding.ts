/**
 * Encodings of the values of one slot. A slot is the place of a variable in a template; it has a value in each of the
 * template's rows. The encoding is chosen by what the values are.
 */
import { splitIntegers } from "../../kernels/byte-stream-split.ts";
import { SlotKind } from "../../kernels/decoding.ts";
import type { ByteSink, SlotSinks } from "./slot-sink.ts";

/**
 * Classes of characters, one bit for each. A slot has the classes of all characters in its values, so a needle with a
 * character of another class cannot lie in one of them.
 */
export const CharClass = { digit: 1, lowerHex: 2, lower: 4, upper: 8, mark: 16, other: 32 } as const;

const classOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[0-9]/.test(character)) return CharClass.digit;
  if (/[a-f]/.test(character)) return CharClass.lowerHex;
  if (/[g-z]/.test(character)) return CharClass.lower;
  if (/[A-Z]/.test(character)) return CharClass.upper;
  return /[._-]/.test(character) ? CharClass.mark : CharClass.other;
});

/** The classes of the characters in bytes[from, to). */
export function classesOf(bytes: Uint8Array, from: number, to: number): number {
  let classes = 0;
  for (let at = from; at < to; at++) classes |= classOf[bytes[at]!]!;
  return classes;
}

/** Values as ranges of bytes: value i is bytes[starts[i], ends[i]). Only the first `count` entries are in use. */
export interface SlotValues {
  bytes: Uint8Array;
  starts: Uint32Array;
  ends: Uint32Array;
  count: number;
}

/** A float64 represents every whole number of up to this many digits exactly. */
const exactDigits = 15;
const dictionaryMax = 255;
/**
 * Fewer values than this are stored as text unless all are equal: the parameters of another encoding would outweigh
 * them.
 */
const encodedValuesMin = 32;

/** Writes the values and returns the kind of encoding. */
export function encodeSlot(values: SlotValues, classes: number, sinks: SlotSinks): number {
  const { count } = values;
  if (count > 1 && areAllEqual(values)) {
    sinks.texts.push(values.bytes, values.starts[0]!, values.ends[0]!);
    return SlotKind.constant;
  }
  if (count >= encodedValuesMin) {
    if (encodeDictionary(values, sinks)) return SlotKind.dictionary;
    if (encodeDigits(values, sinks.data)) return SlotKind.digits;
    if (encodeInteger(values, classes, sinks.data)) return SlotKind.integer;
    if (encodeHex(values, classes, sinks.data)) return SlotKind.hex;
  }
  const { bytes, starts, ends } = values;
  for (let i = 0; i < count; i++) sinks.texts.push(bytes, starts[i]!, ends[i]!);
  return SlotKind.text;
}

function areAllEqual(values: SlotValues): boolean {
  for (let i = 1; i < values.count; i++) if (!areEqual(values, 0, i)) return false;
  return true;
}

function areEqual({ bytes, starts, ends }: SlotValues, a: number, b: number): boolean {
  const first = starts[a]!;
  const second = starts[b]!;
  const length = ends[a]! - first;
  if (ends[b]! - second !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[first + i] !== bytes[second + i]) return false;
  return true;
}

const tableLength = 1024;
const dictionaryTable = new Int16Array(tableLength);
const firstOfCode = new Uint32Array(dictionaryMax);
let codeScratch = new Uint8Array(1024);

/**
 * Encodes values that repeat at least eight times on average as a dictionary. Writes the number of distinct values less
 * one (u8), then the codes. Returns false and writes nothing where there are too many distinct values.
 */
function encodeDictionary(values: SlotValues, sinks: SlotSinks): boolean {
  const { count, bytes, starts, ends } = values;
  const distinctMax = Math.min(dictionaryMax, count >> 3);
  if (codeScratch.length < count) codeScratch = new Uint8Array(count * 2);
  dictionaryTable.fill(-1);
  let distinct = 0;
  for (let i = 0; i < count; i++) {
    let hash = 0;
    for (let at = starts[i]!; at < ends[i]!; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    let tableSlot = (hash ^ (hash >>> 15)) & (tableLength - 1);
    while (
      dictionaryTable[tableSlot]! >= 0 &&
      !areEqual(values, firstOfCode[dictionaryTable[tableSlot]!]!, i)
    )
      tableSlot = (tableSlot + 1) & (tableLength - 1);
    if (dictionaryTable[tableSlot]! < 0) {
      if (distinct === distinctMax) return false;
      firstOfCode[distinct] = i;
      dictionaryTable[tableSlot] = distinct++;
    }
    codeScratch[i] = dictionaryTable[tableSlot]!;
  }
  for (let code = 0; code < distinct; code++)
    sinks.texts.push(bytes, starts[firstOfCode[code]!]!, ends[firstOfCode[code]!]!);
  sinks.data.push(distinct - 1);
  sinks.data.append(codeScratch, 0, count);
  return true;
}

let numberScratch = new Float64Array(1024);

/** Returns `numberScratch`, with room for at least `count` numbers. */
function reserveNumbers(count: number): Float64Array {
  if (numberScratch.length < count) numberScratch = new Float64Array(count * 2);
  return numberScratch;
}

/**
 * Encodes values that share a shape (a value with each digit replaced by "0"). Writes the length (u8), the shape, then
 * each value's digits as a number. Returns false and writes nothing where the values do not share a shape, or the shape
 * is too long.
 */
function encodeDigits({ bytes, starts, ends, count }: SlotValues, data: ByteSink): boolean {
  const start = starts[0]!;
  const length = ends[0]! - start;
  if (length > 64) return false;
  const shape = Uint8Array.from(bytes.subarray(start, start + length));
  let digits = 0;
  for (let i = 0; i < length; i++) {
    if (!isDigit(shape[i]!)) continue;
    shape[i] = 48;
    digits++;
  }
  if (digits > exactDigits) return false;
  const parsed = reserveNumbers(count);
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
  writeNumbers(parsed.subarray(0, count), data);
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

/**
 * Encodes decimal integers. Writes the number of digits of the longest (u8), then the numbers. Returns false and writes
 * nothing where some value is no decimal integer, has leading zeros or is too long.
 */
function encodeInteger(values: SlotValues, classes: number, data: ByteSink): boolean {
  const { bytes, starts, ends, count } = values;
  if (classes !== CharClass.digit) return false;
  const parsed = reserveNumbers(count);
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
  writeNumbers(parsed.subarray(0, count), data);
  return true;
}

/**
 * Encodes lower-case hexadecimal numbers. Writes the number of bytes of each (u8), then the bytes. Returns false and
 * writes nothing where the values are no such numbers of the same even length.
 */
function encodeHex(values: SlotValues, classes: number, data: ByteSink): boolean {
  const { bytes, starts, ends, count } = values;
  if ((classes & ~(CharClass.digit | CharClass.lowerHex)) !== 0) return false;
  const length = ends[0]! - starts[0]!;
  if (length % 2 !== 0 || length > 510) return false;
  for (let row = 1; row < count; row++) if (ends[row]! - starts[row]! !== length) return false;
  data.push(length / 2);
  for (let row = 0; row < count; row++) {
    for (let at = starts[row]!; at < ends[row]!; at += 2)
      data.push((parseHexDigit(bytes[at]!) << 4) | parseHexDigit(bytes[at + 1]!));
  }
  return true;
}

function parseHexDigit(digit: number): number {
  return digit < 58 ? digit - 48 : digit - 87;
}

/**
 * Writes non-negative whole numbers below 2^53: the least of them as the base (float64), the bytes of a difference
 * (u8), then the difference of each number from the base, byte-stream split. Overwrites `values`.
 */
function writeNumbers(values: Float64Array, data: ByteSink): void {
  const base = values.reduce((least, value) => Math.min(least, value));
  for (let row = 0; row < values.length; row++) values[row] = values[row]! - base;
  const { width, bytes } = splitIntegers(values);
  data.float64(base);
  data.push(width);
  data.append(bytes);
}

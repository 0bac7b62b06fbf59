/** Encodings of the values of one slot, as template/variables/slot-encoding.ts defines them. */
import { reserveBlock } from "../batch/blocks.ts";
import { fastHash } from "../batch/texttable.ts";
import { sameBytes } from "../bytes.ts";
import { appendBytes, extendSink, pushByte, pushWord } from "./sinks.ts";

export const kindConstant: u32 = 1;
export const kindDictionary: u32 = 2;
const kindDigits: u32 = 3;
const kindInteger: u32 = 4;
const kindHex: u32 = 5;
const kindText: u32 = 6;

export const digitClass: u32 = 1;
export const lowerHexClass: u32 = 2;
export const lowerClass: u32 = 4;
export const upperClass: u32 = 8;
export const markClass: u32 = 16;
export const otherClass: u32 = 32;

const exactDigits: u32 = 15;
const dictionaryMax: u32 = 255;
const encodedValuesMin: u32 = 32;
const longLength: u32 = 255;
const tableLength: u32 = 1024;

/** The values of the slot: the bytes of all of them, one after the other, and where each begins and the last ends. */
let bytes: usize = 0;
let offsets: usize = 0;
let count: u32 = 0;
/** Room for a number, or a code, for each value. */
let numbers: usize = 0;
let codes: usize = 0;
/** The codes + 1 of a dictionary by the hash of the value, and the first value of each code. */
let table: usize = 0;
let firsts: usize = 0;
let shape: usize = 0;

/** Called first for each chunk, whose slots have at most `rows` values. */
export function beginSlots(rows: u32): void {
  numbers = reserveBlock((<usize>rows) << 3);
  codes = reserveBlock(rows);
  table = reserveBlock(tableLength << 1);
  firsts = reserveBlock(dictionaryMax << 2);
  shape = reserveBlock(64);
}

@inline
export function valueCount(): u32 {
  return count;
}
@inline
export function valueAt(i: u32): usize {
  return bytes + load<u32>(offsets + ((<usize>i) << 2));
}
@inline
export function valueEnd(i: u32): usize {
  return bytes + load<u32>(offsets + ((<usize>i) << 2), 4);
}

/** Takes the values of a slot. */
export function takeValues(valueBytes: usize, valueOffsets: usize, values: u32): void {
  bytes = valueBytes;
  offsets = valueOffsets;
  count = values;
}

/** Chooses the encoding of the values, writes them to the streams, and returns the kind of the encoding. */
export function encodeValues(classes: u32, data: usize, lengths: usize, longLengths: usize, texts: usize): u32 {
  if (count > 1 && areAllEqual()) {
    pushText(0, lengths, longLengths, texts);
    return kindConstant;
  }
  if (count >= encodedValuesMin) {
    if (encodeDictionary(data, lengths, longLengths, texts)) return kindDictionary;
    if (encodeDigits(data)) return kindDigits;
    if (classes == digitClass && encodeIntegers(data)) return kindInteger;
    if ((classes & ~(digitClass | lowerHexClass)) == 0 && encodeHex(data)) return kindHex;
  }
  for (let i: u32 = 0; i < count; i++) pushText(i, lengths, longLengths, texts);
  return kindText;
}

@inline
function pushText(i: u32, lengths: usize, longLengths: usize, texts: usize): void {
  const at = valueAt(i);
  const length = <u32>(valueEnd(i) - at);
  if (length >= longLength) pushWord(longLengths, length);
  pushByte(lengths, min<u32>(length, longLength));
  appendBytes(texts, at, length);
}

@inline
function areEqual(a: u32, b: u32): bool {
  const at = valueAt(a);
  const other = valueAt(b);
  const length = <u32>(valueEnd(a) - at);
  return <u32>(valueEnd(b) - other) == length && sameBytes(at, other, length);
}

function areAllEqual(): bool {
  for (let i: u32 = 1; i < count; i++) if (!areEqual(0, i)) return false;
  return true;
}

/** Writes the number of distinct values less one, then a code for each value. False, with nothing written, where they are too many. */
function encodeDictionary(data: usize, lengths: usize, longLengths: usize, texts: usize): bool {
  const distinctMax = min<u32>(dictionaryMax, count >> 3);
  memory.fill(table, 0, tableLength << 1);
  let distinct: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = valueAt(i);
    let slot = fastHash(at, <u32>(valueEnd(i) - at)) & (tableLength - 1);
    let code: u32 = load<u16>(table + (slot << 1));
    while (code != 0 && !areEqual(load<u32>(firsts + ((code - 1) << 2)), i)) {
      slot = (slot + 1) & (tableLength - 1);
      code = load<u16>(table + (slot << 1));
    }
    if (code == 0) {
      if (distinct == distinctMax) return false;
      store<u32>(firsts + (distinct << 2), i);
      code = ++distinct;
      store<u16>(table + (slot << 1), code);
    }
    store<u8>(codes + i, code - 1);
  }
  for (let code: u32 = 0; code < distinct; code++)
    pushText(load<u32>(firsts + (code << 2)), lengths, longLengths, texts);
  pushByte(data, distinct - 1);
  appendBytes(data, codes, count);
  return true;
}

@inline
function isDigit(byte: u32): bool {
  return byte - 0x30 < 10;
}

/** Values that share a shape, a value with each digit replaced by 0. Writes its length, the shape, then each value's digits as a number. */
function encodeDigits(data: usize): bool {
  const first = valueAt(0);
  const length = <u32>(valueEnd(0) - first);
  if (length > 64) return false;
  let digits: u32 = 0;
  for (let i: u32 = 0; i < length; i++) {
    const byte: u32 = load<u8>(first + i);
    if (isDigit(byte)) digits++;
    store<u8>(shape + i, isDigit(byte) ? 0x30 : byte);
  }
  if (digits > exactDigits) return false;
  for (let row: u32 = 0; row < count; row++) {
    const at = valueAt(row);
    if (<u32>(valueEnd(row) - at) != length) return false;
    let number: u64 = 0;
    for (let i: u32 = 0; i < length; i++) {
      const byte: u32 = load<u8>(at + i);
      if (load<u8>(shape + i) != 0x30) {
        if (byte != load<u8>(shape + i)) return false;
      } else {
        if (!isDigit(byte)) return false;
        number = number * 10 + (byte - 0x30);
      }
    }
    store<u64>(numbers + ((<usize>row) << 3), number);
  }
  pushByte(data, length);
  appendBytes(data, shape, length);
  writeNumbers(data);
  return true;
}

/** Decimal integers without leading zeros. Writes the digits of the longest, then the numbers. */
function encodeIntegers(data: usize): bool {
  let longest: u32 = 0;
  for (let row: u32 = 0; row < count; row++) {
    const from = valueAt(row);
    const end = valueEnd(row);
    const length = <u32>(end - from);
    if (length > exactDigits || (load<u8>(from) == 0x30 && length > 1)) return false;
    if (length > longest) longest = length;
    let number: u64 = 0;
    for (let at = from; at < end; at++) number = number * 10 + (load<u8>(at) - 0x30);
    store<u64>(numbers + ((<usize>row) << 3), number);
  }
  pushByte(data, longest);
  writeNumbers(data);
  return true;
}

/** Lower-case hexadecimal numbers of the same even length. Writes the bytes of each, then the bytes. */
function encodeHex(data: usize): bool {
  const length = <u32>(valueEnd(0) - valueAt(0));
  if ((length & 1) != 0 || length > 510) return false;
  for (let row: u32 = 1; row < count; row++) if (<u32>(valueEnd(row) - valueAt(row)) != length) return false;
  pushByte(data, length >> 1);
  let to = extendSink(data, count * (length >> 1));
  for (let row: u32 = 0; row < count; row++) {
    const end = valueEnd(row);
    for (let at = valueAt(row); at < end; at += 2) {
      store<u8>(to++, (hexDigit(load<u8>(at)) << 4) | hexDigit(load<u8>(at, 1)));
    }
  }
  return true;
}

@inline
function hexDigit(digit: u32): u32 {
  return digit < 58 ? digit - 48 : digit - 87;
}

/**
 * Writes the least number (float64), the width in bytes of the largest difference from it (u8), then the difference of
 * each number from the least, byte-stream split: the lowest byte of each first.
 */
function writeNumbers(data: usize): void {
  let least: u64 = u64.MAX_VALUE;
  let largest: u64 = 0;
  const end = numbers + ((<usize>count) << 3);
  for (let at = numbers; at < end; at += 8) {
    const number = load<u64>(at);
    if (number < least) least = number;
    if (number > largest) largest = number;
  }
  store<f64>(extendSink(data, 8), <f64>least);
  let width: u32 = 0;
  for (let rest = largest - least; rest != 0; rest >>= 8) width++;
  pushByte(data, width);
  let to = extendSink(data, count * width);
  for (let stream: u32 = 0; stream < width; stream++) {
    for (let at = numbers; at < end; at += 8) store<u8>(to++, (load<u64>(at) - least) >> (stream << 3));
  }
}

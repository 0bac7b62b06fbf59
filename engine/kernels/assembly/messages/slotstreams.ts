/** The streams in which the values of variables are stored, slot by slot, and how their numbers are written as texts. */
import { operandAt } from "../layout.ts";

/** The kinds of slots; part of the format. */
export const constantKind: u8 = 1;
export const dictionaryKind: u8 = 2;
export const digitsKind: u8 = 3;
export const integerKind: u8 = 4;
export const hexKind: u8 = 5;
export const textKind: u8 = 6;
export const attributeKind: u8 = 7;
export const repeatedKind: u8 = 8;

export const textPerRow: u32 = 0xffffffff;
export const sharedText: u32 = 0xfffffffe;
/** Where numbers are written before they become texts. */
export const numbersAt: usize = operandAt + 128;
export const numbersAtOnce: u32 = 4096;
/** Returned for streams that end too early. */
export const cutShort: u32 = 0xffffffff;

/** The streams that are read, how far, and the vectors that are written. `…End` is the address after the last byte. */
@unmanaged
export class SlotDecoding {
  data: u32;
  dataEnd: u32;
  lengths: u32;
  lengthsEnd: u32;
  longLengths: u32;
  longLengthsEnd: u32;
  text: u32;
  textEnd: u32;
  /** Where text i ends is written to entry i + 1. */
  offsets: u32;
  /** The number of texts that there is room for, and that there are. */
  textsMax: u32;
  texts: u32;
  bytes: u32;
  bytesMax: u32;
  byteLength: u32;
  firstTexts: u32;
  valuePlaces: u32;
  codes: u32;
  codesMax: u32;
  codesLength: u32;
  /** A search is for the texts [searchFrom, searchTo). */
  searchFrom: u32;
  searchTo: u32;
}

/** Where the caller writes the fields above, four bytes each. */
export const slotDecodingAt: usize = operandAt;

/** Takes bytes from the data; false where there are fewer. They begin at `into.data` less their number. */
@inline
export function takeData(into: SlotDecoding, byteLength: u64): bool {
  if (byteLength > <u64>(into.dataEnd - into.data)) return false;
  into.data += <u32>byteLength;
  return true;
}

/**
 * Reads the lengths of the next `count` texts. Writes the offset at which each of them ends, as u32, to the address `ends`; the
 * first begins at offset `from`. Returns the sum of the lengths; -1 where lengths are missing or the sum is above `room`.
 */
export function takeLengths(into: SlotDecoding, count: u32, ends: usize, from: u32, room: u32): i64 {
  if (count > into.lengthsEnd - into.lengths) return -1;
  let sum: u64 = 0;
  for (let i: usize = 0; i < count; i++) {
    let length = <u32>load<u8>(<usize>into.lengths + i);
    if (length == 255) {
      if (into.longLengths >= into.longLengthsEnd) return -1;
      length = load<u32>(into.longLengths);
      into.longLengths += 4;
    }
    sum += length;
    if (sum > <u64>room) return -1;
    store<u32>(ends + (i << 2), from + <u32>sum);
  }
  into.lengths += count;
  return <i64>sum;
}

@inline
export function hexDigit(value: u32): u32 {
  return value + (value < 10 ? 48 : 87);
}

/** Reads the base and the width of a list of numbers; the streams follow them. Returns the width, or -1. */
@inline
export function takeNumbers(into: SlotDecoding, rows: u32): i32 {
  if (!takeData(into, 9)) return -1;
  const width = <i32>load<u8>(<usize>into.data - 1);
  return width <= 7 && takeData(into, <u64>width * <u64>rows) ? width : -1;
}

/** Writes a text that equals `shape` but for its digits, which are those of the number. */
@inline
export function writeShape(shape: usize, length: u32, number: u64, target: usize): void {
  for (let i = <usize>length; i > 0; ) {
    i--;
    const byte = load<u8>(shape + i);
    if (byte != 48) {
      store<u8>(target + i, byte);
      continue;
    }
    const quotient = divideByTen(number);
    store<u8>(target + i, <u8>(48 + <u32>(number - quotient * 10)));
    number = quotient;
  }
}

/** Writes the digits of a number so that they end before `end`. */
@inline
export function writeDigits(number: u64, length: u32, end: usize): void {
  for (let i: u32 = 0; i < length; i++) {
    const quotient = divideByTen(number);
    store<u8>(--end, <u8>(48 + <u32>(number - quotient * 10)));
    number = quotient;
  }
}

@inline
export function countDigits(number: u64): u32 {
  let digits: u32 = 1;
  for (let bound: u64 = 10; number >= bound && digits < 19; bound *= 10) digits++;
  return digits;
}

/** A division of 32 bits is a multiplication for the compiler, one of 64 bits is not. */
@inline
function divideByTen(number: u64): u64 {
  return number <= 0xffffffff ? <u64>(<u32>number / 10) : number / 10;
}

/** Decodes the values of variables into texts, slot by slot. */
import { operandAt } from "../layout.ts";
import { joinIntegers } from "../streams.ts";

/** The kinds of slots; part of the format. */
const constantKind: u8 = 1;
const dictionaryKind: u8 = 2;
const digitsKind: u8 = 3;
const integerKind: u8 = 4;
const hexKind: u8 = 5;
const textKind: u8 = 6;
const attributeKind: u8 = 7;
const repeatedKind: u8 = 8;

const textPerRow: u32 = 0xffffffff;
const sharedText: u32 = 0xfffffffe;
/** Where numbers are written before they become texts. */
const numbersAt: usize = operandAt + 128;
const numbersAtOnce: u32 = 4096;
/** Returned for streams that end too early. */
const cutShort: u32 = 0xffffffff;

/** The streams that are read, how far, and the vectors that are written. `…End` is the address behind the last byte. */
@unmanaged
class SlotDecoding {
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
  codeStarts: u32;
  codes: u32;
  codesMax: u32;
  codesLength: u32;
}

/** Where the caller writes the fields above, four bytes each. */
export const slotDecodingAt: usize = operandAt;

/**
 * Decodes the slots [from, to). `kinds` and `counts` have the kind of each slot and the number of its rows. Returns
 * `to`, or the number of a slot that repeats an attribute, which the caller decodes, or `cutShort`.
 */
export function decodeSlots(kinds: usize, counts: usize, from: u32, to: u32): u32 {
  const into = changetype<SlotDecoding>(slotDecodingAt);
  for (let slot: usize = from; slot < to; slot++) {
    store<u32>(<usize>into.firstTexts + (slot << 2), into.texts);
    store<u32>(<usize>into.codeStarts + (slot << 2), textPerRow);
    const kind = load<u8>(kinds + slot);
    if (kind == attributeKind) return <u32>slot;
    if (!decodeSlot(into, kind, slot, load<u32>(counts + (slot << 2)))) return cutShort;
  }
  return to;
}

function decodeSlot(into: SlotDecoding, kind: u8, slot: usize, rows: u32): bool {
  if (kind == constantKind) {
    store<u32>(<usize>into.codeStarts + (slot << 2), sharedText);
    return copyTexts(into, 1);
  }
  if (kind == dictionaryKind) {
    store<u32>(<usize>into.codeStarts + (slot << 2), into.codesLength);
    return copyDictionary(into, rows);
  }
  if (kind == repeatedKind) {
    if (!takeData(into, 2)) return false;
    store<u32>(<usize>into.codeStarts + (slot << 2), load<u16>(into.data - 2));
    return true;
  }
  if (kind == digitsKind) return decodeDigits(into, rows);
  if (kind == integerKind) return decodeIntegers(into, rows);
  if (kind == hexKind) return decodeHex(into, rows);
  return kind == textKind && copyTexts(into, rows);
}

/** Takes bytes from the data; false where there are fewer. They begin at `into.data` less their number. */
@inline
function takeData(into: SlotDecoding, byteLength: u64): bool {
  if (byteLength > <u64>(into.dataEnd - into.data)) return false;
  into.data += <u32>byteLength;
  return true;
}

/** Whether there is room for so many more texts of so many bytes together. */
@inline
function hasRoom(into: SlotDecoding, texts: u32, byteLength: u64): bool {
  return texts <= into.textsMax - into.texts && byteLength <= <u64>(into.bytesMax - into.byteLength);
}

@inline
function endText(into: SlotDecoding): void {
  store<u32>(<usize>into.offsets + (<usize>++into.texts << 2), into.byteLength);
}

function copyTexts(into: SlotDecoding, count: u32): bool {
  if (count > into.lengthsEnd - into.lengths || !hasRoom(into, count, 0)) return false;
  let sum: u64 = 0;
  const room = min(into.bytesMax - into.byteLength, into.textEnd - into.text);
  let offset = <usize>into.offsets + (<usize>into.texts << 2);
  for (let i: u32 = 0; i < count; i++) {
    let length = <u32>load<u8>(<usize>into.lengths + i);
    if (length == 255) {
      if (into.longLengths >= into.longLengthsEnd) return false;
      length = load<u32>(into.longLengths);
      into.longLengths += 4;
    }
    sum += length;
    if (sum > <u64>room) return false;
    offset += 4;
    store<u32>(offset, into.byteLength + <u32>sum);
  }
  memory.copy(<usize>into.bytes + into.byteLength, into.text, <usize>sum);
  into.lengths += count;
  into.text += <u32>sum;
  into.byteLength += <u32>sum;
  into.texts += count;
  return true;
}

function copyDictionary(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, <u64>rows + 1) || rows > into.codesMax - into.codesLength) return false;
  const from = <usize>(into.data - rows);
  const last = load<u8>(from - 1);
  for (let row: usize = 0; row < rows; row++) if (load<u8>(from + row) > last) return false;
  memory.copy(<usize>into.codes + into.codesLength, from, rows);
  into.codesLength += rows;
  return copyTexts(into, <u32>last + 1);
}

function decodeHex(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const width = <u32>load<u8>(<usize>into.data - 1);
  const bytes = <u64>width * <u64>rows;
  if (!takeData(into, bytes) || !hasRoom(into, rows, bytes * 2)) return false;
  let from = <usize>into.data - <usize>bytes;
  let target = <usize>into.bytes + into.byteLength;
  for (let row: u32 = 0; row < rows; row++) {
    for (const end = from + width; from < end; from++, target += 2) {
      const byte = <u32>load<u8>(from);
      store<u16>(target, <u16>(hexDigit(byte >> 4) | (hexDigit(byte & 15) << 8)));
    }
    into.byteLength += width * 2;
    endText(into);
  }
  return true;
}

@inline
function hexDigit(value: u32): u32 {
  return value + (value < 10 ? 48 : 87);
}

/** Reads the base and the width of a list of numbers; the streams follow them. Returns the width, or -1. */
@inline
function takeNumbers(into: SlotDecoding, rows: u32): i32 {
  if (!takeData(into, 9)) return -1;
  const width = <i32>load<u8>(<usize>into.data - 1);
  return width <= 7 && takeData(into, <u64>width * <u64>rows) ? width : -1;
}

function decodeDigits(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const length = <u32>load<u8>(<usize>into.data - 1);
  if (!takeData(into, length)) return false;
  const shape = <usize>into.data - length;
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasRoom(into, rows, <u64>length * <u64>rows)) return false;
  const streams = <usize>into.data - <usize>width * rows;
  const base = load<f64>(streams - 9);
  for (let done: u32 = 0; done < rows; done += numbersAtOnce) {
    const some = min(rows - done, numbersAtOnce);
    joinIntegers(streams + done, rows, width, some, base, numbersAt);
    for (let row: usize = 0; row < some; row++) {
      const target = <usize>into.bytes + into.byteLength;
      writeShape(shape, length, <u64>load<f64>(numbersAt + (row << 3)), target);
      into.byteLength += length;
      endText(into);
    }
  }
  return true;
}

/** Writes a text that equals `shape` but for its digits, which are those of the number. */
@inline
function writeShape(shape: usize, length: u32, number: u64, target: usize): void {
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

function decodeIntegers(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasRoom(into, rows, 0)) return false;
  const streams = <usize>into.data - <usize>width * rows;
  const base = load<f64>(streams - 9);
  for (let done: u32 = 0; done < rows; done += numbersAtOnce) {
    const some = min(rows - done, numbersAtOnce);
    joinIntegers(streams + done, rows, width, some, base, numbersAt);
    for (let row: usize = 0; row < some; row++) {
      const number = <u64>load<f64>(numbersAt + (row << 3));
      const length = countDigits(number);
      if (<u64>length > <u64>(into.bytesMax - into.byteLength)) return false;
      into.byteLength += length;
      writeDigits(number, length, <usize>into.bytes + into.byteLength);
      endText(into);
    }
  }
  return true;
}

/** Writes the digits of a number so that they end before `end`. */
@inline
function writeDigits(number: u64, length: u32, end: usize): void {
  for (let i: u32 = 0; i < length; i++) {
    const quotient = divideByTen(number);
    store<u8>(--end, <u8>(48 + <u32>(number - quotient * 10)));
    number = quotient;
  }
}

@inline
function countDigits(number: u64): u32 {
  let digits: u32 = 1;
  for (let bound: u64 = 10; number >= bound && digits < 19; bound *= 10) digits++;
  return digits;
}

/** A division of 32 bits is a multiplication for the compiler, one of 64 bits is not. */
@inline
function divideByTen(number: u64): u64 {
  return number <= 0xffffffff ? <u64>(<u32>number / 10) : number / 10;
}

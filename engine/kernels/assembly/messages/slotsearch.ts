/**
 * Searches the values of variables for the needle, slot by slot, in the streams in which they are stored. Values that are
 * stored as numbers are never made into texts: the digits that a place of the needle would have are computed.
 */
import { foldAt, needleAt, table0 } from "../layout.ts";
import { setRowBit } from "../rows.ts";
import { joinIntegers } from "../streams.ts";
import { findRowsFrom, needleLength } from "../text.ts";
import {
  attributeKind,
  constantKind,
  countDigits,
  cutShort,
  dictionaryKind,
  digitsKind,
  hexDigit,
  hexKind,
  integerKind,
  numbersAt,
  repeatedKind,
  SlotDecoding,
  sharedText,
  slotDecodingAt,
  takeData,
  takeLengths,
  takeNumbers,
  textKind,
  textPerRow,
} from "./slotstreams.ts";

/** Texts that are searched at once, and how many bytes they may have that are made of numbers. */
const textsAtOnce: u32 = 1024;
const bytesAtOnce: u32 = 65536;
/** Where the ends of these texts lie, and after them their bytes. */
const offsetsAt: usize = table0;
const textsAt: usize = offsetsAt + 8192;
/**
 * Where the places lie that the needle can have among the digits of a number: 10 to the number of digits after it, and 10 to
 * the number of its own digits, as float64.
 */
const placesAt: usize = textsAt;
const placeBytes: usize = 16;

/** How many of the last texts that `into.texts` counts are not searched yet: texts of several slots are searched in one call. */
let waiting: u32 = 0;

/**
 * Searches the slots [from, to). `kinds` and `counts` have the kind of each slot and the number of its rows; `found` has a
 * bit for each text that decoding would make, all 0. Texts outside of [searchFrom, searchTo) are searched only together with
 * texts inside. The caller has written the streams and the other fields of `SlotDecoding`; `codes` is where the data begins. Returns `to`, or the number of a slot that repeats an attribute, which the caller
 * searches, or `cutShort`.
 */
export function searchSlots(kinds: usize, counts: usize, from: u32, to: u32, found: usize): u32 {
  const into = changetype<SlotDecoding>(slotDecodingAt);
  waiting = 0;
  for (let slot: usize = from; slot < to; slot++) {
    store<u32>(<usize>into.firstTexts + (slot << 2), into.texts);
    store<u32>(<usize>into.valuePlaces + (slot << 2), textPerRow);
    const kind = load<u8>(kinds + slot);
    if (kind == attributeKind) return searchWaiting(into, found) ? <u32>slot : cutShort;
    if (!searchSlot(into, kind, slot, load<u32>(counts + (slot << 2)), found)) return cutShort;
  }
  return searchWaiting(into, found) ? to : cutShort;
}

function searchSlot(into: SlotDecoding, kind: u8, slot: usize, rows: u32, found: usize): bool {
  if (kind == constantKind) {
    store<u32>(<usize>into.valuePlaces + (slot << 2), sharedText);
    return addTexts(into, 1, found);
  }
  if (kind == dictionaryKind) {
    if (!takeData(into, <u64>rows + 1)) return false;
    const codes = <usize>(into.data - rows);
    store<u32>(<usize>into.valuePlaces + (slot << 2), <u32>codes - into.codes);
    return addTexts(into, <u32>load<u8>(codes - 1) + 1, found);
  }
  if (kind == textKind) return addTexts(into, rows, found);
  if (kind == repeatedKind) {
    if (!takeData(into, 2)) return false;
    store<u32>(<usize>into.valuePlaces + (slot << 2), load<u16>(into.data - 2));
    return true;
  }
  // The texts that are made of numbers come between those that wait and later ones.
  if (!searchWaiting(into, found)) return false;
  if (kind == digitsKind) return searchDigits(into, rows, found);
  if (kind == integerKind) return searchIntegers(into, rows, found);
  return kind == hexKind && searchHex(into, rows, found);
}

@inline
function hasBits(into: SlotDecoding, texts: u32): bool {
  return texts <= into.textsMax - into.texts;
}

/** Whether some of the texts [first, first + count) are in [searchFrom, searchTo). */
@inline
function isWanted(into: SlotDecoding, first: u32, count: u32): bool {
  return first < into.searchTo && first + count > into.searchFrom;
}

/** Adds texts to those that wait. */
@inline
function addTexts(into: SlotDecoding, count: u32, found: usize): bool {
  if (!hasBits(into, count)) return false;
  into.texts += count;
  waiting += count;
  return waiting < textsAtOnce || searchWaiting(into, found);
}

/** Searches the texts that wait. */
function searchWaiting(into: SlotDecoding, found: usize): bool {
  const count = waiting;
  waiting = 0;
  store<u32>(offsetsAt, 0);
  for (let done: u32 = 0; done < count; done += textsAtOnce) {
    const some = min(count - done, textsAtOnce);
    const sum = takeLengths(into, some, offsetsAt + 4, 0, into.textEnd - into.text);
    if (sum < 0) return false;
    const first = into.texts - count + done;
    if (isWanted(into, first, some)) findRowsFrom(into.text, offsetsAt, some, found, first);
    into.text += <u32>sum;
  }
  return true;
}

@inline
function isDigit(byte: u8): bool {
  return byte >= 48 && byte <= 57;
}

/** Whether the needle has no bytes but digits and, with `letters`, the letters from a to f. */
function isNumeral(letters: bool): bool {
  const length = <usize>needleLength();
  for (let i: usize = 0; i < length; i++) {
    const byte = load<u8>(needleAt + i);
    if (isDigit(byte) || (letters && byte >= 97 && byte <= 102)) continue;
    return false;
  }
  return true;
}

/** The number that the needle's digits make. */
function digitsOfNeedle(): f64 {
  const length = <usize>needleLength();
  let value: f64 = 0;
  for (let i: usize = 0; i < length; i++) {
    const byte = load<u8>(needleAt + i);
    if (isDigit(byte)) value = value * 10 + <f64>(byte - 48);
  }
  return value;
}

function powerOfTen(exponent: u32): f64 {
  let power: f64 = 1;
  for (let i: u32 = 0; i < exponent; i++) power *= 10;
  return power;
}

/** Notes that some digits of a number are to be the needle's: `digits` of them, with `behind` others after them. */
@inline
function notePlace(place: usize, behind: u32, digits: u32): void {
  store<f64>(placesAt + place * placeBytes, powerOfTen(behind));
  store<f64>(placesAt + place * placeBytes, powerOfTen(digits), 8);
}

/**
 * Sets the bits of numbers that have the needle's digits, `wanted`, in one of the places; `bit` is that of the first number.
 * A number must have `digitsMin` digits before what is after the place; 0 where numbers have leading zeros.
 */
function markNumbers(count: u32, places: usize, wanted: f64, found: usize, bit: u32, digitsMin: u32): void {
  const numbersEnd = numbersAt + (<usize>count << 3);
  // A second number for the last pair.
  store<f64>(numbersEnd, 0);
  const all = f64x2.splat(wanted);
  for (let place: usize = 0; place < places; place++) {
    const power = load<f64>(placesAt + place * placeBytes);
    const powers = f64x2.splat(power);
    const digits = f64x2.splat(load<f64>(placesAt + place * placeBytes, 8));
    for (let at = numbersAt; at < numbersEnd; at += 16) {
      // Numbers of up to 15 digits: no quotient is rounded up to a whole number.
      const quotients = f64x2.floor(f64x2.div(v128.load(at), powers));
      const rest = f64x2.sub(quotients, f64x2.mul(f64x2.floor(f64x2.div(quotients, digits)), digits));
      const equal = f64x2.eq(rest, all);
      if (!v128.any_true(equal)) continue;
      const lanes = <u32>i64x2.bitmask(equal);
      for (let lane: usize = 0; lane < 2; lane++) {
        const number = at + (lane << 3);
        if (((lanes >> <u32>lane) & 1) == 0 || number >= numbersEnd) continue;
        if (digitsMin == 0 || hasDigits(load<f64>(number), power, digitsMin))
          setRowBit(found, bit + <u32>((number - numbersAt) >> 3));
      }
    }
  }
}

/** Whether a number divided by a power of ten has so many digits; 0 has a digit only where nothing was divided. */
function hasDigits(number: f64, power: f64, digitsMin: u32): bool {
  const quotient = <u64>Math.floor(number / power);
  return countDigits(quotient) >= digitsMin && (quotient > 0 || power == 1);
}

/**
 * Notes where the needle can lie in a text that equals a shape but for its digits. Returns the number of places; -1 where
 * every such text holds the needle.
 */
function findPlaces(shape: usize, length: u32): i32 {
  const needle = needleLength();
  let places: i32 = 0;
  for (let at: u32 = 0; at + needle <= length; at++) {
    if (!fitsShape(shape + at, needle)) continue;
    const digits = countZeros(shape + at, needle);
    if (digits == 0) return -1;
    notePlace(places++, countZeros(shape + at + needle, length - at - needle), digits);
  }
  return places;
}

function fitsShape(shape: usize, length: u32): bool {
  for (let i: usize = 0; i < length; i++) {
    const byte = load<u8>(shape + i);
    const wanted = load<u8>(needleAt + i);
    if (byte == 48 ? !isDigit(wanted) : (byte | load<u8>(foldAt + i)) != wanted) return false;
  }
  return true;
}

/** How many digits a part of a shape has. */
function countZeros(shape: usize, length: u32): u32 {
  let zeros: u32 = 0;
  for (let i: usize = 0; i < length; i++) if (load<u8>(shape + i) == 48) zeros++;
  return zeros;
}

function searchDigits(into: SlotDecoding, rows: u32, found: usize): bool {
  if (!takeData(into, 1)) return false;
  const length = <u32>load<u8>(<usize>into.data - 1);
  if (!takeData(into, length)) return false;
  const shape = <usize>into.data - length;
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasBits(into, rows)) return false;
  if (isWanted(into, into.texts, rows)) {
    const places = findPlaces(shape, length);
    if (places < 0) for (let row: u32 = 0; row < rows; row++) setRowBit(found, into.texts + row);
    if (places > 0) searchNumbers(into, rows, width, places, found, 0);
  }
  into.texts += rows;
  return true;
}

function searchIntegers(into: SlotDecoding, rows: u32, found: usize): bool {
  if (!takeData(into, 1)) return false;
  const longest = <u32>load<u8>(<usize>into.data - 1);
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasBits(into, rows)) return false;
  const needle = needleLength();
  if (needle <= longest && isWanted(into, into.texts, rows) && isNumeral(false)) {
    for (let behind: u32 = 0; behind <= longest - needle; behind++) notePlace(behind, behind, needle);
    searchNumbers(into, rows, width, longest - needle + 1, found, needle);
  }
  into.texts += rows;
  return true;
}

/** Searches the numbers of a slot, whose streams were taken last; see `markNumbers`. */
function searchNumbers(
  into: SlotDecoding,
  rows: u32,
  width: i32,
  places: usize,
  found: usize,
  digitsMin: u32,
): void {
  const streams = <usize>into.data - <usize>width * rows;
  const base = load<f64>(streams - 9);
  const wanted = digitsOfNeedle();
  for (let done: u32 = 0; done < rows; done += textsAtOnce) {
    const some = min(rows - done, textsAtOnce);
    if (!isWanted(into, into.texts + done, some)) continue;
    joinIntegers(streams + done, rows, width, some, base, numbersAt);
    markNumbers(some, places, wanted, found, into.texts + done, digitsMin);
  }
}

function searchHex(into: SlotDecoding, rows: u32, found: usize): bool {
  if (!takeData(into, 1)) return false;
  const width = <u32>load<u8>(<usize>into.data - 1);
  const bytes = <u64>width * <u64>rows;
  if (!takeData(into, bytes) || !hasBits(into, rows)) return false;
  const length = width * 2;
  if (needleLength() <= length && isWanted(into, into.texts, rows) && isNumeral(true)) {
    const from = <usize>into.data - <usize>bytes;
    const atOnce = min(bytesAtOnce / length, textsAtOnce);
    for (let i: u32 = 0; i <= min(rows, atOnce); i++) store<u32>(offsetsAt + (<usize>i << 2), i * length);
    for (let done: u32 = 0; done < rows; done += atOnce) {
      const some = min(rows - done, atOnce);
      if (!isWanted(into, into.texts + done, some)) continue;
      writeHex(from + <usize>done * width, <usize>some * width);
      findRowsFrom(textsAt, offsetsAt, some, found, into.texts + done);
    }
  }
  into.texts += rows;
  return true;
}

/** Writes bytes as hexadecimal digits to `textsAt`. */
function writeHex(from: usize, byteLength: usize): void {
  const digits = i8x16(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102);
  const low = i8x16.splat(15);
  let at: usize = 0;
  for (; at + 16 <= byteLength; at += 16) {
    const bytes = v128.load(from + at);
    const firsts = i8x16.swizzle(digits, i8x16.shr_u(bytes, 4));
    const seconds = i8x16.swizzle(digits, v128.and(bytes, low));
    const target = textsAt + (at << 1);
    v128.store(
      target,
      i8x16.shuffle(firsts, seconds, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
    );
    v128.store(
      target,
      i8x16.shuffle(firsts, seconds, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
      16,
    );
  }
  for (; at < byteLength; at++) {
    const byte = <u32>load<u8>(from + at);
    store<u16>(textsAt + (at << 1), <u16>(hexDigit(byte >> 4) | (hexDigit(byte & 15) << 8)));
  }
}

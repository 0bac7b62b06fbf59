/** Strings, literals and numbers of JSON, read from their bytes. Strings are decoded in place. */
import { backslash, minus, newline, point, quote, zero } from "./jsonchars.ts";

const letterU: u32 = 0x75;

/** Decimals of more digits may be printed otherwise than they were sent. */
export const exactDigits: u32 = 15;
/** Integers keep all of their digits; longer ones are left to the caller. */
const integerDigitsMax: u32 = 300;
/** A number below 1 with more zeros than this after the point is printed by JavaScript with an exponent, as in 1e-7. */
const leadingZerosMax: u32 = 5;

/** Where the row that is read ends. */
let rowTo: usize = 0;
/** Where the text of the string or literal that was read last ends; 0 for null. */
let textTo: usize = 0;

/** What lies at `to` or after is not read as part of the row. */
@inline
export function setRowEnd(to: usize): void {
  rowTo = to;
}

@inline
export function rowEnd(): usize {
  return rowTo;
}

/** Says that the value that was read last is the text up to `to`. */
@inline
export function setTextEnd(to: usize): void {
  textTo = to;
}

@inline
export function endOfText(): usize {
  return textTo;
}

@inline
function isBlank(byte: u32): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

@inline
export function skipBlank(from: usize): usize {
  let at = from;
  while (at < rowTo && isBlank(load<u8>(at))) at++;
  return at;
}

/** Reads a string, a literal or null. Returns the address after it, or 0. */
export function readScalar(at: usize): usize {
  if (load<u8>(at) == quote) return readString(at);
  textTo = 0;
  const word = load<u32>(at);
  if (word == 0x6c6c_756e) return at + 4;
  textTo = readLiteral(at, word);
  return textTo;
}

/** Reads a boolean, or a number in the form in which JavaScript prints it. */
function readLiteral(at: usize, word: u32): usize {
  if (word == 0x6575_7274) return at + 4;
  if (word == 0x736c_6166 && load<u8>(at, 4) == 0x65) return at + 5;
  return readNumber(at);
}

/** Reads a number in the form in which JavaScript prints it. Returns the address after it, or 0. */
@inline
export function readNumber(at: usize): usize {
  const isNegative = load<u8>(at) == minus;
  const from = isNegative ? at + 1 : at;
  const end = digitsEnd(from);
  const count = <u32>(end - from);
  if (count == 0 || count > integerDigitsMax) return 0;
  const isZero = load<u8>(from) == zero;
  if (isZero && count > 1) return 0;
  if (end < rowTo && load<u8>(end) == point) return readFraction(end + 1, count, isZero);
  return isZero && isNegative ? 0 : end;
}

/** Reads the digits after the point of a decimal with so many digits before it; `isZero`: they are a zero. */
@inline
function readFraction(from: usize, before: u32, isZero: bool): usize {
  const end = digitsEnd(from);
  if (end == from || before + <u32>(end - from) > exactDigits || load<u8>(end - 1) == zero) return 0;
  if (!isZero) return end;
  let at = from;
  while (load<u8>(at) == zero) at++;
  return <u32>(at - from) > leadingZerosMax ? 0 : end;
}

@inline
export function digitsEnd(from: usize): usize {
  let at = from;
  while (at < rowTo && load<u8>(at) - zero < 10) at++;
  return at;
}

@inline
export function numberAt(from: usize, to: usize): f64 {
  let number: u64 = 0;
  for (let at = from; at < to; at++) number = number * 10 + (load<u8>(at) - zero);
  return <f64>number;
}

/** The address of the first byte from `at` that is a quote, a backslash or a control character; of none, after the row. */
@inline
export function skipPlain(from: usize): usize {
  const quotes = i8x16.splat(<i8>quote);
  const backslashes = i8x16.splat(<i8>backslash);
  const spaces = i8x16.splat(0x20);
  for (let at = from; at < rowTo; at += 16) {
    const bytes = v128.load(at);
    const special = v128.or(
      v128.or(i8x16.eq(bytes, quotes), i8x16.eq(bytes, backslashes)),
      i8x16.lt_u(bytes, spaces),
    );
    const found = i8x16.bitmask(special);
    if (found != 0) return at + ctz(found);
  }
  return rowTo;
}

/** The address of the closing quote of a string without escapes, or 0. */
@inline
export function findPlainEnd(from: usize): usize {
  const at = skipPlain(from);
  return at < rowTo && load<u8>(at) == quote ? at : 0;
}

/** Reads the string whose quote is at `at`, and decodes it in place. Returns the address after it, or 0. */
export function readString(at: usize): usize {
  if (load<u8>(at) != quote) return 0;
  const end = skipPlain(at + 1);
  if (end >= rowTo) return 0;
  textTo = end;
  const byte = load<u8>(end);
  if (byte == quote) return end + 1;
  return byte == backslash ? decodeRest(end) : 0;
}

/** Decodes a string from its first escape on. Returns the address after the string, or 0. */
function decodeRest(from: usize): usize {
  let at = from;
  let to = from;
  while (at < rowTo) {
    const plainTo = skipPlain(at);
    // What lies after the row stays as it is.
    if (plainTo >= rowTo) return 0;
    const length = plainTo - at;
    memory.copy(to, at, length);
    to += length;
    at = plainTo;
    const byte = load<u8>(at);
    if (byte == quote) {
      textTo = to;
      return at + 1;
    }
    if (byte != backslash) return 0;
    const character = escapeOf(load<u8>(at, 1));
    if (character != 0) {
      store<u8>(to++, character);
      at += 2;
      continue;
    }
    if (load<u8>(at, 1) != letterU) return 0;
    let point = hexUnit(at + 2);
    at += 6;
    if (point >= 0xd800 && point <= 0xdfff) {
      const isPair = point < 0xdc00 && load<u8>(at) == backslash && load<u8>(at, 1) == letterU;
      const low = isPair ? hexUnit(at + 2) : -1;
      if (low < 0xdc00 || low > 0xdfff) return 0;
      point = 0x10000 + ((point - 0xd800) << 10) + low - 0xdc00;
      at += 6;
    }
    if (point < 0) return 0;
    to = writePoint(to, point);
  }
  return 0;
}

/** The character for a letter after a backslash; 0 where the letter is no escape, or is `u`. */
@inline
function escapeOf(letter: u32): u8 {
  switch (letter) {
    case 0x22:
    case 0x5c:
    case 0x2f:
      return <u8>letter;
    case 0x62:
      return 0x08;
    case 0x66:
      return 0x0c;
    case 0x6e:
      return 0x0a;
    case 0x72:
      return 0x0d;
    case 0x74:
      return 0x09;
    default:
      return 0;
  }
}

/** The value of four hexadecimal digits, or -1. */
function hexUnit(at: usize): i32 {
  let unit: i32 = 0;
  for (let i: usize = 0; i < 4; i++) {
    const byte: u32 = load<u8>(at + i);
    const letter = (byte | 0x20) - 0x61;
    if (byte - zero < 10) unit = (unit << 4) + (byte - zero);
    else if (letter < 6) unit = (unit << 4) + letter + 10;
    else return -1;
  }
  return unit;
}

/** Writes a code point as UTF-8; returns the address after it. No escape is shorter than what it stands for. */
function writePoint(to: usize, point: i32): usize {
  if (point < 0x80) {
    store<u8>(to, point);
    return to + 1;
  }
  if (point < 0x800) {
    store<u8>(to, 0xc0 | (point >> 6));
    store<u8>(to, 0x80 | (point & 0x3f), 1);
    return to + 2;
  }
  if (point < 0x10000) {
    store<u8>(to, 0xe0 | (point >> 12));
    store<u8>(to, 0x80 | ((point >> 6) & 0x3f), 1);
    store<u8>(to, 0x80 | (point & 0x3f), 2);
    return to + 3;
  }
  store<u8>(to, 0xf0 | (point >> 18));
  store<u8>(to, 0x80 | ((point >> 12) & 0x3f), 1);
  store<u8>(to, 0x80 | ((point >> 6) & 0x3f), 2);
  store<u8>(to, 0x80 | (point & 0x3f), 3);
  return to + 4;
}

/** Where a line ends: at its line feed, or at `to`. */
@inline
export function findLineEnd(from: usize, to: usize): usize {
  const lineEnd = i8x16.splat(<i8>newline);
  for (let at = from; at < to; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), lineEnd));
    if (found == 0) continue;
    const end = at + ctz(found);
    return end < to ? end : to;
  }
  return to;
}

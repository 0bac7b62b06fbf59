/** Reads rows of samples from JSON lines. The members of a row that are neither its time nor its value are its alias. */
import {
  backslash,
  closingBrace,
  closingBracket,
  colon,
  comma,
  minus,
  openingBrace,
  openingBracket,
  point,
  quote,
  zero,
} from "./jsonchars.ts";
import {
  addSampleRow,
  addToKey,
  beginKey,
  clearSampleRows,
  directNumber,
  dropKey,
  findAlias,
  hasKey,
  sampleRows,
  sampleRowsMax,
} from "./samplerows.ts";
import {
  base,
  beginLines,
  beginReading,
  hasLine,
  rowFrom,
  rowsRead,
  rowTo,
  setRow,
  takeLine,
} from "./jsonlines.ts";
import { digitsEnd, exactDigits, findPlainEnd, numberAt, readNumber, skipBlank } from "./jsontext.ts";
import { readAnyMillis, readNanos } from "./jsontimes.ts";
import { timeNanos, timeSeconds } from "./rowtime.ts";
import { atEnd, atRowsMax, atStagedRow, atUnusualRow } from "./stops.ts";

/** As `atStagedRow`, but the caller has to read the value, too. */
const atStagedText: i32 = 4;

/** Bits of the members that are not part of the alias. */
const seenMillis: u32 = 1;
const seenValue: u32 = 2;
const seenNanos: u32 = 4;
let seen: u32 = 0;

let kind: u32 = 0;

let alias: i32 = -1;
let value: f64 = 0;
let valueFrom: usize = 0;
let valueTo: usize = 0;
/** Whether `value` is that of the text. */
let isValueRead: bool = false;

/** Begins to read rows at `from`; places count from `source`. Aliases are of this kind. */
export function beginSampleLines(source: usize, from: usize, kindOfAliases: u32): void {
  beginLines(source, from);
  kind = kindOfAliases;
}

/** Of the staged row: its alias, its time and its value, or where the text of its value is. */
export function stagedAlias(): i32 {
  return alias;
}
export function stagedSeconds(): f64 {
  return timeSeconds();
}
export function stagedNanos(): f64 {
  return timeNanos();
}
export function stagedValue(): f64 {
  return value;
}
export function stagedValueFrom(): u32 {
  return <u32>(valueFrom - base);
}
export function stagedValueTo(): u32 {
  return <u32>(valueTo - base);
}

/**
 * Reads the lines up to `to`, at most `most` rows, and appends rows of known series to the vectors of samples. Returns what
 * it stopped at; the next call continues after that.
 */
export function readSampleLines(to: usize, most: u32): i32 {
  beginReading();
  clearSampleRows();
  while (hasLine(to)) {
    if (rowsRead() == most || sampleRows() == sampleRowsMax) return atRowsMax;
    if (!takeLine(to)) continue;
    const found = takeRow();
    if (found != atEnd) return found;
  }
  return atEnd;
}

/** As `readSampleLines` for the row at [from, to). */
export function readSampleRow(from: usize, to: usize): i32 {
  clearSampleRows();
  setRow(from, to);
  return takeRow();
}

function takeRow(): i32 {
  seen = 0;
  beginKey(kind);
  const end = readMembers(skipBlank(rowFrom));
  const hasBoth = seen == (seenMillis | seenValue) || seen == (seenNanos | seenValue);
  if (end == 0 || skipBlank(end) != rowTo || !hasBoth) {
    dropKey();
    return atUnusualRow;
  }
  alias = hasKey() ? findAlias() : -1;
  if (alias < 0) return atUnusualRow;
  if (!isValueRead) return atStagedText;
  const number = directNumber(alias);
  if (number == 0 || !addSampleRow(number, timeSeconds(), timeNanos(), value)) return atStagedRow;
  return atEnd;
}

/** Reads the members of the row at `at`. Returns the address after it; 0 where the caller has to read the row. */
function readMembers(at: usize): usize {
  if (at >= rowTo || load<u8>(at) != openingBrace) return 0;
  let member = skipBlank(at + 1);
  while (member < rowTo) {
    if (load<u8>(member) != quote) return 0;
    const keyTo = findPlainEnd(member + 1);
    if (keyTo == 0) return 0;
    const colonAt = skipBlank(keyTo + 1);
    if (colonAt >= rowTo || load<u8>(colonAt) != colon) return 0;
    const valueAt = skipBlank(colonAt + 1);
    if (valueAt >= rowTo) return 0;
    const end = readMember(member, <u32>(keyTo - member - 1), valueAt);
    if (end == 0) return 0;
    member = skipBlank(end);
    if (member >= rowTo) return 0;
    const byte = load<u8>(member);
    if (byte == closingBrace) return member + 1;
    if (byte != comma) return 0;
    member = skipBlank(member + 1);
  }
  return 0;
}

/** Reads the member whose quoted key of that length begins at `from` and whose value is at `at`. Returns the address after it, or 0. */
function readMember(from: usize, length: u32, at: usize): usize {
  const name = load<u64>(from, 1);
  // The names, eight letters a word.
  if (length == 5 && (name & 0xff_ffff_ffff) == 0x65_756c_6176) return readValue(at);
  if (length == 9 && name == 0x6d61_7473_656d_6974 && load<u8>(from, 9) == 0x70) return isFirst(seenMillis) ? readAnyMillis(at) : 0;
  if (length == 12 && name == 0x7869_6e55_656d_6974 && load<u32>(from, 9) == 0x6f6e_614e)
    return isFirst(seenNanos) ? readNanos(at) : 0;
  const end = skipValue(at);
  if (end != 0) addToKey(from, <u32>(end - from), comma);
  return end;
}

@inline
function isFirst(member: u32): bool {
  if ((seen & member) != 0) return false;
  seen |= member;
  return true;
}

/** Reads a number of digits and a point, or leaves it to the caller where JavaScript might print it otherwise. */
function readValue(at: usize): usize {
  if (!isFirst(seenValue)) return 0;
  const isNegative = load<u8>(at) == minus;
  const from = isNegative ? at + 1 : at;
  const pointAt = digitsEnd(from);
  let end = pointAt;
  while (end < rowTo && (load<u8>(end) - zero < 10 || load<u8>(end) == point)) end++;
  valueFrom = at;
  valueTo = end;
  const decimals = pointAt < end ? <u32>(end - pointAt - 1) : 0;
  isValueRead = <u32>(pointAt - from) + decimals <= exactDigits && readNumber(at) == end;
  if (!isValueRead) return end > at ? end : 0;
  const digits = decimals == 0 ? numberAt(from, end) : numberAt(from, pointAt) * powerOfTen(decimals) + numberAt(pointAt + 1, end);
  const magnitude = digits / powerOfTen(decimals);
  value = isNegative ? -magnitude : magnitude;
  return end;
}

/** Exact for the powers that are asked for: up to fifteen. */
@inline
function powerOfTen(exponent: u32): f64 {
  let power: f64 = 1;
  for (let i: u32 = 0; i < exponent; i++) power *= 10;
  return power;
}

/** The address after the value at `at`, which is not checked: a row like it was parsed before. 0 where it has no end. */
function skipValue(at: usize): usize {
  if (load<u8>(at) == quote) return skipString(at + 1);
  let depth: u32 = 0;
  for (let place = at; place < rowTo; place++) {
    const byte = load<u8>(place);
    if (byte == quote) {
      const end = skipString(place + 1);
      if (end == 0) return 0;
      place = end - 1;
    } else if (byte == openingBrace || byte == openingBracket) depth++;
    else if (byte == closingBrace || byte == closingBracket) {
      if (depth == 0) return place;
      if (--depth == 0) return place + 1;
    } else if (byte == comma && depth == 0) return place;
  }
  return 0;
}

/** The address after the closing quote of the string whose text begins at `from`; 0 without one. */
function skipString(from: usize): usize {
  const end = findPlainEnd(from);
  if (end != 0) return end + 1;
  for (let at = from; at < rowTo; at++) {
    const byte = load<u8>(at);
    if (byte == backslash) at++;
    else if (byte == quote) return at + 1;
  }
  return 0;
}

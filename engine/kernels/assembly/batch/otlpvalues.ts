/**
 * The attributes and texts of a record of OTLP. Texts that are stored in another form than they were sent are written
 * after the body, where the caller gives room for those of one record.
 */
import { keysOfBatchMax, setting } from "./admission.ts";
import { addAttribute } from "./attributes.ts";
import { attributesOffset } from "./batchrows.ts";
import { reserveZeros, stagedRowAt } from "./blocks.ts";
import { guessAfter, guessKeyOffset, guessLengthOffset, isFirstInside, learnKey, numberKey, setGuess } from "./keys.ts";
import { bytesTo, readLength, readVarint, skipField, varint } from "./protofields.ts";
import { setTime } from "./rowtime.ts";
import { sameBytes } from "../bytes.ts";
import { integerBytesMax, writeInteger } from "../decimals.ts";
import { isUtf8 } from "../utf8.ts";

/** Tags of the fields of a KeyValue, and of an AnyValue. */
const keyTag: u32 = 0x0a;
const valueTag: u32 = 0x12;
const stringTag: u32 = 0x0a;
const booleanTag: u32 = 0x10;
const integerTag: u32 = 0x18;
const doubleTag: u32 = 0x21;
const arrayTag: u32 = 0x2a;
const mapTag: u32 = 0x32;
const bytesTag: u32 = 0x3a;

/** Bytes of ids. */
export const traceIdBytes: u32 = 16;
export const spanIdBytes: u32 = 8;

const nanosOfSecond: u64 = 1_000_000_000;
/** The words, the first letter lowest. */
export const trueWord: u64 = 0x6575_7274;
const falseWord: u64 = 0x65_736c_6166;

/** Records with more attributes of their own are left to the caller. */
const attributesMax: u32 = 1024;

/** Attributes are in no object. */
const noParent: i32 = -1;

/** Ranges count from here. */
export let base: usize = 0;
/** Attributes with keys below this number are left to the caller: the keys are those of the signal's own. */
let reservedKeys: i32 = 0;
/** The numbers of the keys of attributes that come from fields of records. */
let fieldKeys: usize = 0;
const fieldKeysMax: u32 = 16;
let rowNumber: u32 = 0;
/** The number of the key of the last attribute, plus 1; 0 at the beginning of a record. */
let lastKey: u32 = 0;
/** The room for the texts of one record, from `roomFrom` to `roomTo`; those before `written` are taken. */
let roomFrom: usize = 0;
let roomTo: usize = 0;
let written: usize = 0;

/** Whether the value that was read last is any; if so, where its text begins and ends. */
export let hasValue: bool = false;
export let valueFrom: usize = 0;
export let valueTo: usize = 0;

/** Called first in each batch. */
export function beginValues(reserved: u32): void {
  reservedKeys = reserved;
  fieldKeys = reserveZeros(fieldKeysMax << 2);
  rowNumber = 0;
}

/** Says under which attribute key, by its number, a field of the record is stored. */
export function noteFieldKey(field: u32, key: u32): void {
  learnKey(key);
  store<u32>(fieldKeys + (field << 2), key);
}

@inline
export function fieldKey(field: u32): u32 {
  return load<u32>(fieldKeys + (field << 2));
}

/** Says where the body is that is read from now on, and where there is room for texts. */
@inline
export function setPlaces(source: usize, from: usize, to: usize): void {
  base = source;
  roomFrom = from;
  roomTo = to;
}

/** Called first for each record. */
@inline
export function beginRecord(): void {
  rowNumber++;
  lastKey = 0;
  written = roomFrom;
}

export function recordNumber(): u32 {
  return rowNumber;
}

/** Reserves so many bytes for a text of the record. Returns their address; 0 where there is no room left. */
@inline
export function takeRoom(length: u32): usize {
  if (roomTo - written < length) return 0;
  const at = written;
  written = at + length;
  return at;
}

/** Adds an attribute to the staged row. False where the row has its key already, or has `attributesMax` attributes. */
@inline
export function put(key: u32, from: usize, to: usize): bool {
  if (load<u32>(stagedRowAt, attributesOffset) == attributesMax) return false;
  return isFirstInside(key, rowNumber) && addAttribute(key, <u32>(from - base), <u32>(to - base));
}

/** Puts a text as it was sent; an empty text is none. */
@inline
export function putText(key: u32, from: usize, to: usize): bool {
  return from == to || (isUtf8(from, to) && put(key, from, to));
}

/** Puts the decimal digits of a number. */
export function putInteger(key: u32, number: i64): bool {
  const at = takeRoom(integerBytesMax);
  return at != 0 && put(key, at, writeInteger(at, number));
}

/** Puts a word of up to eight letters, the first one lowest. */
export function putWord(key: u32, letters: u64): bool {
  const at = takeRoom(8);
  return at != 0 && put(key, at, writeWord(at, letters));
}

/** Puts the hexadecimal digits of `length` bytes, a multiple of eight. */
export function putHex(key: u32, from: usize, length: u32): bool {
  const at = takeRoom(length << 1);
  if (at == 0) return false;
  for (let done: usize = 0; done < length; done += 8) {
    const sent = v128.load_ext<u8>(from + done);
    // The upper half of each byte comes first.
    const halves = v128.and(v128.or(i16x8.shr_u(sent, 4), i16x8.shl(sent, 8)), i8x16.splat(0x0f));
    v128.store(at + (done << 1), i8x16.swizzle(hexDigits(), halves));
  }
  return put(key, at, at + (length << 1));
}

@inline
function hexDigits(): v128 {
  return i8x16(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66);
}

/** Whether the bytes are an id of that length, a multiple of eight; one of zeros is none. */
@inline
export function isId(from: usize, to: usize, length: u32): bool {
  if (<u32>(to - from) != length) return false;
  for (let at = from; at < to; at += 8) if (load<u64>(at) != 0) return true;
  return false;
}

/** Makes nanoseconds since the epoch the time of the row. */
@inline
export function setNanos(nanoseconds: u64): void {
  setTime(<f64>(nanoseconds / nanosOfSecond), <f64>(nanoseconds % nanosOfSecond));
}

/** Writes a word of up to eight letters, the first one lowest, and zeros after it. Returns the address after the word. */
@inline
export function writeWord(at: usize, letters: u64): usize {
  store<u64>(at, letters);
  return at + 8 - (<usize>clz(letters) >> 3);
}

/** Reads the AnyValue at [from, end). Of several values the last one counts. False where the caller has to read it. */
export function readValue(from: usize, end: usize): bool {
  hasValue = false;
  let at = from;
  while (at < end) {
    at = readVarint(at, end);
    if (at == 0) return false;
    const tag = <u32>varint;
    const isScalar = tag == stringTag || tag == integerTag || tag == booleanTag;
    at = isScalar ? readScalar(tag, at, end) : isNested(tag) ? 0 : skipField(tag, at, end);
    if (at == 0) return false;
    if (isScalar) hasValue = true;
  }
  return true;
}

@inline
function isNested(tag: u32): bool {
  return tag == doubleTag || tag == arrayTag || tag == mapTag || tag == bytesTag;
}

/** Reads a string, integer or boolean. Returns the address after it, or 0. */
@inline
function readScalar(tag: u32, at: usize, end: usize): usize {
  if (tag == stringTag) {
    valueFrom = readLength(at, end);
    valueTo = bytesTo;
    return valueFrom != 0 && isUtf8(valueFrom, valueTo) ? valueTo : 0;
  }
  const next = readVarint(at, end);
  valueFrom = takeRoom(integerBytesMax);
  if (next == 0 || valueFrom == 0) return 0;
  if (tag == integerTag) valueTo = writeInteger(valueFrom, varint);
  else valueTo = writeWord(valueFrom, varint == 0 ? falseWord : trueWord);
  return next;
}

/** Reads the KeyValue at [from, end) into the staged row. False where the caller has to read it. */
export function readAttribute(from: usize, end: usize): bool {
  let keyFrom = from;
  let keyTo = from;
  let isGiven = false;
  let at = from;
  while (at < end) {
    at = readVarint(at, end);
    if (at == 0) return false;
    const tag = <u32>varint;
    if (tag != keyTag && tag != valueTag) {
      at = skipField(tag, at, end);
      if (at == 0) return false;
      continue;
    }
    at = readLength(at, end);
    if (at == 0) return false;
    const to = bytesTo;
    if (tag == keyTag) {
      keyFrom = at;
      keyTo = to;
    } else {
      if (!readValue(at, to)) return false;
      isGiven = hasValue;
    }
    at = to;
  }
  if (!isGiven) return true;
  const key = findKey(keyFrom, <u32>(keyTo - keyFrom));
  return key >= reservedKeys && put(key, valueFrom, valueTo);
}

/** The number of the key of an attribute, given now where it has none; -1 where the caller has to find it. */
@inline
function findKey(at: usize, length: u32): i32 {
  const guess = guessAfter(lastKey);
  const guessed: usize = load<u32>(guess);
  let key = load<i32>(guess, guessKeyOffset);
  // The address is 0 where no key is expected.
  if (guessed == 0 || load<u32>(guess, guessLengthOffset) != length || !sameBytes(guessed, at, length)) {
    if (!isUtf8(at, at + length)) return -1;
    key = numberKey(at, length, setting(keysOfBatchMax));
    if (key < 0) return -1;
    setGuess(lastKey, length, key, noParent);
  }
  lastKey = key + 1;
  return key;
}

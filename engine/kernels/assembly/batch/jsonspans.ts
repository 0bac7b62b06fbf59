/** The fields of a span in JSON: its ids, name, kind, status and times become attributes, after its own. */
import { exactNanosMax, writeMillis } from "../decimals.ts";
import { quote } from "./jsonchars.ts";
import { endOfText, readString } from "./jsontext.ts";
import { readNanos } from "./jsontimes.ts";
import { setTime, timeNanos, timeSeconds } from "./rowtime.ts";
import {
  clientWord,
  consumerWord,
  duration,
  errorWord,
  internalWord,
  kind,
  name,
  okWord,
  parentSpanId,
  producerWord,
  serverWord,
  spanId,
  spanKeys,
  statusCode,
  statusMessage,
  traceId,
  unsetWord,
} from "./spanfields.ts";

/** Fields beside those that become attributes: the times. */
const startTime: u32 = spanKeys;
const endTime: u32 = spanKeys + 1;
export const noSpanField: u32 = spanKeys + 2;

/** Bits of the fields that the span has. */
let seen: u32 = 0;
/** Where the text of each field begins and ends; both 0 where it has none. */
let texts: usize = 0;
let startSeconds: f64 = 0;
let startNanos: f64 = 0;
let endSeconds: f64 = 0;
let endNanos: f64 = 0;
/** Where the digits of the end time begin and end. The duration is written over them. */
let endFrom: usize = 0;
let endTo: usize = 0;

/** Called first in each batch, with room for two words a key. */
export function beginSpans(room: usize): void {
  texts = room;
}

@inline
export function beginSpan(): void {
  seen = 0;
  memory.fill(texts, 0, spanKeys << 3);
}

/** Where the text of a field begins and ends. */
@inline
export function spanTextFrom(key: u32): usize {
  return load<u32>(texts + (key << 3));
}
@inline
export function spanTextTo(key: u32): usize {
  return load<u32>(texts + (key << 3), 4);
}

/** The field of a name: a key, a time, or none. */
export function spanFieldOf(at: usize, length: u32): u32 {
  const word = load<u64>(at);
  switch (length) {
    case 4:
      if (<u32>word == 0x656d_616e) return name;
      return <u32>word == 0x646e_696b ? kind : noSpanField;
    case 6:
      return (word & 0xffff_ffff_ffff) == 0x6449_6e61_7073 ? spanId : noSpanField;
    case 7:
      return (word & 0xff_ffff_ffff_ffff) == 0x64_4965_6361_7274 ? traceId : noSpanField;
    case 10:
      return word == 0x6f43_7375_7461_7473 && load<u16>(at, 8) == 0x6564 ? statusCode : noSpanField;
    case 12:
      return word == 0x7053_746e_6572_6170 && load<u32>(at, 8) == 0x6449_6e61 ? parentSpanId : noSpanField;
    case 13:
      return word == 0x654d_7375_7461_7473 && (load<u64>(at, 8) & 0xff_ffff_ffff) == 0x65_6761_7373
        ? statusMessage
        : noSpanField;
    case 15:
      return word == 0x5565_6d69_5464_6e65 && (load<u64>(at, 8) & 0xff_ffff_ffff_ffff) == 0x6f_6e61_4e78_696e
        ? endTime
        : noSpanField;
    case 17:
      return word == 0x6d69_5474_7261_7473 && load<u64>(at, 8) == 0x6e61_4e78_696e_5565 && load<u8>(at, 16) == 0x6f
        ? startTime
        : noSpanField;
    default:
      return noSpanField;
  }
}

/** Reads the value of a field. Returns the address after it, or 0 where the caller has to read the span. */
export function readSpanField(field: u32, at: usize): usize {
  const bit: u32 = 1 << field;
  if ((seen & bit) != 0) return 0;
  seen |= bit;
  if (field == startTime) {
    const end = readNanos(at);
    startSeconds = timeSeconds();
    startNanos = timeNanos();
    return end;
  }
  return field == endTime ? readEndTime(at) : readSpanText(field, at);
}

function readEndTime(at: usize): usize {
  const end = readNanos(at);
  endSeconds = timeSeconds();
  endNanos = timeNanos();
  const isQuoted = load<u8>(at) == quote;
  endFrom = isQuoted ? at + 1 : at;
  endTo = isQuoted ? end - 1 : end;
  return end;
}

function readSpanText(field: u32, at: usize): usize {
  const end = readString(at);
  if (end == 0) return 0;
  const from = at + 1;
  const to = endOfText();
  const length = <u32>(to - from);
  if (!isValid(field, from, length)) return 0;
  if (length == 0) return end;
  store<u32>(texts + (field << 3), from);
  store<u32>(texts + (field << 3), to, 4);
  return end;
}

/** Whether the text of a field is as it is stored. */
@inline
function isValid(field: u32, from: usize, length: u32): bool {
  switch (field) {
    case traceId:
      return isId(from, length, 32);
    case spanId:
      return isId(from, length, 16);
    case parentSpanId:
      return length == 0 || isId(from, length, 16);
    case kind:
      return isKind(from, length);
    case statusCode:
      return isStatus(from, length);
    default:
      return true;
  }
}

/** Whether the text is so many lower-case hexadecimal digits, not all of them zeros. */
function isId(from: usize, length: u32, digits: u32): bool {
  if (length != digits) return false;
  let isZero = true;
  for (let at = from; at < from + digits; at += 16) {
    const bytes = v128.load(at);
    const isDecimal = i8x16.le_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(9));
    const isLetter = i8x16.le_u(i8x16.sub(bytes, i8x16.splat(0x61)), i8x16.splat(5));
    if (!i8x16.all_true(v128.or(isDecimal, isLetter))) return false;
    if (!i8x16.all_true(i8x16.eq(bytes, i8x16.splat(0x30)))) isZero = false;
  }
  return !isZero;
}

@inline
function wordAt(from: usize, length: u32): u64 {
  return load<u64>(from) & (length >= 8 ? u64.MAX_VALUE : ((<u64>1) << ((<u64>length) << 3)) - 1);
}

/** Whether the text is a kind of spans: internal, server, client, producer or consumer. */
function isKind(from: usize, length: u32): bool {
  const word = wordAt(from, length);
  if (length == 6) return word == serverWord || word == clientWord;
  if (length != 8) return false;
  return word == internalWord || word == producerWord || word == consumerWord;
}

/** Whether the text is a status: unset, ok or error. */
function isStatus(from: usize, length: u32): bool {
  const word = wordAt(from, length);
  if (length == 2) return word == okWord;
  return length == 5 && (word == unsetWord || word == errorWord);
}

/** Ends a span, whose time is that of its start. False where the caller has to read it. */
export function endSpan(): bool {
  const required: u32 = (1 << traceId) | (1 << spanId) | (1 << startTime);
  if ((seen & required) != required) return false;
  setTime(startSeconds, startNanos);
  return (seen & (1 << endTime)) == 0 || writeDuration();
}

/** Writes the milliseconds from start to end over the end time. False where they are not exact, or do not fit. */
function writeDuration(): bool {
  const nanoseconds = (endSeconds - startSeconds) * 1e9 + endNanos - startNanos;
  if (nanoseconds < 0 || nanoseconds >= <f64>exactNanosMax) return false;
  const to = writeMillis(endFrom, endTo, <u64>nanoseconds);
  if (to == 0) return false;
  store<u32>(texts + (duration << 3), endFrom);
  store<u32>(texts + (duration << 3), to, 4);
  return true;
}

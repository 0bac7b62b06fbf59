/** Reads a span of OTLP that has neither events nor links. */
import {
  fieldKey,
  isId,
  put,
  putHex,
  putInteger,
  putText,
  putWord,
  readAttribute,
  setNanos,
  spanIdBytes,
  takeRoom,
  traceIdBytes,
  trueWord,
} from "./otlpvalues.ts";
import { bytesTo, readLength, readVarint, skipField, varint } from "./protofields.ts";
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
  statusCode,
  statusMessage,
  traceId,
  unsetWord,
} from "./spanfields.ts";
import { exactNanosMax, writeMillis } from "../decimals.ts";

/** Tags of fields. */
const traceIdTag: u32 = 0x0a;
const spanIdTag: u32 = 0x12;
const traceStateTag: u32 = 0x1a;
const parentSpanIdTag: u32 = 0x22;
const nameTag: u32 = 0x2a;
const kindTag: u32 = 0x30;
const startTag: u32 = 0x39;
const endTag: u32 = 0x41;
const attributeTag: u32 = 0x4a;
const droppedAttributesTag: u32 = 0x50;
const eventTag: u32 = 0x5a;
const droppedEventsTag: u32 = 0x60;
const linkTag: u32 = 0x6a;
const droppedLinksTag: u32 = 0x70;
const statusTag: u32 = 0x7a;
/** And of those of a status. */
const messageTag: u32 = 0x12;
const codeTag: u32 = 0x18;

/** Fields that become attributes with other keys than a span's first, in the order in which the caller says these. */
const traceStateField: u32 = 0;
const droppedAttributesField: u32 = 1;
const droppedEventsField: u32 = 2;
const droppedLinksField: u32 = 3;
const endsBeforeStartField: u32 = 4;

const zeroWord: u64 = 0x30;
/** Digits and point of milliseconds. */
const millisBytesMax: u32 = 20;

/** Nanoseconds since the epoch; 0 where the span has no such time. */
let start: u64 = 0;
let endTime: u64 = 0;
let droppedAttributes: u32 = 0;
let droppedEvents: u32 = 0;
let droppedLinks: u32 = 0;
let hasTraceId: bool = false;
let hasSpanId: bool = false;

/** Reads the span at [from, end) into the staged row. False where the caller has to read it. */
export function readSpan(from: usize, end: usize): bool {
  start = 0;
  endTime = 0;
  droppedAttributes = 0;
  droppedEvents = 0;
  droppedLinks = 0;
  hasTraceId = false;
  hasSpanId = false;
  let at = from;
  while (at < end) {
    at = readVarint(at, end);
    if (at == 0) return false;
    const tag = <u32>varint;
    at = isOfBytes(tag) ? readBytesField(tag, at, end) : readField(tag, at, end);
    if (at == 0) return false;
  }
  return endSpan();
}

@inline
function isOfBytes(tag: u32): bool {
  return (tag & 7) == 2;
}

/** Reads the value of a field. Returns the address after it, or 0. */
@inline
function readField(tag: u32, at: usize, end: usize): usize {
  const next = skipField(tag, at, end);
  if (next == 0) return 0;
  const number = <u32>varint;
  switch (tag) {
    case startTag:
      start = load<u64>(at);
      break;
    case endTag:
      endTime = load<u64>(at);
      break;
    case kindTag:
      return putKind(number) ? next : 0;
    case droppedAttributesTag:
      droppedAttributes = number;
      break;
    case droppedEventsTag:
      droppedEvents = number;
      break;
    case droppedLinksTag:
      droppedLinks = number;
      break;
  }
  return next;
}

/** The same, for a field of bytes. */
@inline
function readBytesField(tag: u32, at: usize, end: usize): usize {
  const from = readLength(at, end);
  const to = bytesTo;
  return from != 0 && readBytes(tag, from, to) ? to : 0;
}

function readBytes(tag: u32, from: usize, to: usize): bool {
  switch (tag) {
    case attributeTag:
      return readAttribute(from, to);
    case traceIdTag:
      hasTraceId = isId(from, to, traceIdBytes) && putHex(traceId, from, traceIdBytes);
      return hasTraceId;
    case spanIdTag:
      hasSpanId = isId(from, to, spanIdBytes) && putHex(spanId, from, spanIdBytes);
      return hasSpanId;
    case parentSpanIdTag:
      return from == to || (isId(from, to, spanIdBytes) && putHex(parentSpanId, from, spanIdBytes));
    case nameTag:
      return putText(name, from, to);
    case traceStateTag:
      return putText(fieldKey(traceStateField), from, to);
    case statusTag:
      return readStatus(from, to);
    case eventTag:
    case linkTag:
      return false;
    default:
      return true;
  }
}

function readStatus(from: usize, end: usize): bool {
  let code: u32 = 0;
  let at = from;
  while (at < end) {
    at = readVarint(at, end);
    if (at == 0) return false;
    const tag = <u32>varint;
    const next = skipField(tag, at, end);
    if (next == 0) return false;
    if (tag == codeTag) code = <u32>varint;
    // The number that was read last is the length of the message.
    else if (tag == messageTag && !putText(statusMessage, next - <u32>varint, next)) return false;
    at = next;
  }
  switch (code) {
    case 0:
      return putWord(statusCode, unsetWord);
    case 1:
      return putWord(statusCode, okWord);
    case 2:
      return putWord(statusCode, errorWord);
    default:
      return false;
  }
}

/** Kinds by their numbers; 0 says none. */
function putKind(number: u32): bool {
  switch (number) {
    case 0:
      return true;
    case 1:
      return putWord(kind, internalWord);
    case 2:
      return putWord(kind, serverWord);
    case 3:
      return putWord(kind, clientWord);
    case 4:
      return putWord(kind, producerWord);
    case 5:
      return putWord(kind, consumerWord);
    default:
      return false;
  }
}

/** Adds what is known at the end of the span, whose time is that of its start. */
@inline
function endSpan(): bool {
  if (!hasTraceId || !hasSpanId || start == 0) return false;
  setNanos(start);
  return (
    (endTime == 0 || putDuration()) &&
    putCount(droppedAttributesField, droppedAttributes) &&
    putCount(droppedEventsField, droppedEvents) &&
    putCount(droppedLinksField, droppedLinks)
  );
}

/** Puts the milliseconds from start to end. */
function putDuration(): bool {
  if (endTime < start) return putWord(duration, zeroWord) && putWord(fieldKey(endsBeforeStartField), trueWord);
  const nanoseconds = endTime - start;
  const at = takeRoom(millisBytesMax);
  if (at == 0 || nanoseconds >= exactNanosMax) return false;
  return put(duration, at, writeMillis(at, at + millisBytesMax, nanoseconds));
}

@inline
function putCount(field: u32, count: u32): bool {
  return count == 0 || putInteger(fieldKey(field), count);
}

/** Reads a log record of OTLP. */
import { setArrivalTime } from "./admission.ts";
import { levelFromOffset, levelToOffset, messageFromOffset, messageToOffset } from "./batchrows.ts";
import { stagedRowAt } from "./blocks.ts";
import {
  base,
  fieldKey,
  hasValue,
  isId,
  putHex,
  putInteger,
  putText,
  readAttribute,
  readValue,
  setNanos,
  spanIdBytes,
  takeRoom,
  traceIdBytes,
  valueFrom,
  valueTo,
  writeWord,
} from "./otlpvalues.ts";
import { bytesTo, readLength, readVarint, skipField, varint } from "./protofields.ts";
import { isUtf8 } from "../utf8.ts";

/** Tags of fields. */
const timeTag: u32 = 0x09;
const severityNumberTag: u32 = 0x10;
const severityTextTag: u32 = 0x1a;
const bodyTag: u32 = 0x2a;
const attributeTag: u32 = 0x32;
const droppedTag: u32 = 0x38;
const traceIdTag: u32 = 0x4a;
const spanIdTag: u32 = 0x52;
const observedTimeTag: u32 = 0x59;
const eventNameTag: u32 = 0x62;

/** Fields that become attributes, in the order in which the caller says their keys. */
const traceIdField: u32 = 0;
const spanIdField: u32 = 1;
const eventNameField: u32 = 2;
const droppedField: u32 = 3;

const severitiesMax: u32 = 24;

/** Nanoseconds since the epoch; 0 where the record has no such time. */
let time: u64 = 0;
let observedTime: u64 = 0;
let severity: u32 = 0;
let dropped: u32 = 0;

/** Reads the record at [from, end) into the staged row. False where the caller has to read it. */
export function readLog(from: usize, end: usize): bool {
  time = 0;
  observedTime = 0;
  severity = 0;
  dropped = 0;
  let at = from;
  while (at < end) {
    at = readVarint(at, end);
    if (at == 0) return false;
    at = readField(<u32>varint, at, end);
    if (at == 0) return false;
  }
  return endLog();
}

/** Reads the value of a field. Returns the address after it, or 0. */
@inline
function readField(tag: u32, at: usize, end: usize): usize {
  switch (tag) {
    case attributeTag:
    case severityTextTag:
    case bodyTag:
    case traceIdTag:
    case spanIdTag:
    case eventNameTag: {
      const from = readLength(at, end);
      const to = bytesTo;
      return from != 0 && readBytes(tag, from, to) ? to : 0;
    }
    case timeTag:
      if (end - at < 8) return 0;
      time = load<u64>(at);
      return at + 8;
    case observedTimeTag:
      if (end - at < 8) return 0;
      observedTime = load<u64>(at);
      return at + 8;
    case severityNumberTag: {
      const next = readVarint(at, end);
      severity = <u32>varint;
      return next;
    }
    case droppedTag: {
      const next = readVarint(at, end);
      dropped = <u32>varint;
      return next;
    }
    default:
      return skipField(tag, at, end);
  }
}

/** Reads the bytes of a field. False where the caller has to read the record. */
@inline
function readBytes(tag: u32, from: usize, to: usize): bool {
  switch (tag) {
    case attributeTag:
      return readAttribute(from, to);
    case bodyTag:
      if (!readValue(from, to)) return false;
      if (hasValue) stageMessage(valueFrom, valueTo);
      return true;
    case severityTextTag:
      stageLevel(from, to);
      return isUtf8(from, to);
    case eventNameTag:
      return putText(fieldKey(eventNameField), from, to);
    case traceIdTag:
      return !isId(from, to, traceIdBytes) || putHex(fieldKey(traceIdField), from, traceIdBytes);
    default:
      return !isId(from, to, spanIdBytes) || putHex(fieldKey(spanIdField), from, spanIdBytes);
  }
}

@inline
function stageMessage(from: usize, to: usize): void {
  store<u32>(stagedRowAt, <u32>(from - base), messageFromOffset);
  store<u32>(stagedRowAt, <u32>(to - base), messageToOffset);
}

@inline
function stageLevel(from: usize, to: usize): void {
  store<u32>(stagedRowAt, <u32>(from - base), levelFromOffset);
  store<u32>(stagedRowAt, <u32>(to - base), levelToOffset);
}

/** Adds what is known at the end of the record. */
@inline
function endLog(): bool {
  const hasLevel = load<u32>(stagedRowAt, levelFromOffset) != load<u32>(stagedRowAt, levelToOffset);
  if (!hasLevel && severity > 0 && severity <= severitiesMax) {
    const at = takeRoom(8);
    if (at == 0) return false;
    stageLevel(at, writeWord(at, severityWord((severity - 1) >> 2)));
  }
  if (dropped > 0 && !putInteger(fieldKey(droppedField), dropped)) return false;
  if (time != 0) setNanos(time);
  else if (observedTime != 0) setNanos(observedTime);
  else setArrivalTime();
  return true;
}

/** The names of the ranges of severities, from the least severe: the first letter is the lowest. */
function severityWord(range: u32): u64 {
  switch (range) {
    case 0:
      return 0x65_6361_7274;
    case 1:
      return 0x67_7562_6564;
    case 2:
      return 0x6f66_6e69;
    case 3:
      return 0x6e72_6177;
    case 4:
      return 0x72_6f72_7265;
    default:
      return 0x6c_6174_6166;
  }
}

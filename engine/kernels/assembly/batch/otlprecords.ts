/**
 * Reads the records of a scope of OTLP in protobuf into the columns of a batch. Records of the usual shape are read here:
 * their attributes are strings, integers and booleans, each with another key. Records of any other shape are left to
 * the caller, as are those for which the batch's policy may have more to say than its bounds.
 */
import { beginSettings, formOfRows, isPlainlyAdmitted, spanForm, stageTime } from "./admission.ts";
import { addAttribute, clearAttributes, hasKeyOfPolicy } from "./attributes.ts";
import { addRow, attributesOffset, sharedFromOffset, stagedSetOffset } from "./batchrows.ts";
import { reserveBlock, stagedFromAt, stagedKeysAt, stagedRowAt, stagedToAt } from "./blocks.ts";
import { beginKeys, isInside, learnKey } from "./keys.ts";
import { readLog } from "./otlplogs.ts";
import { readSpan } from "./otlpspans.ts";
import { base, beginRecord, beginValues, noteFieldKey, recordNumber, setPlaces } from "./otlpvalues.ts";
import { bytesTo, readLength, readVarint, skipField, varint } from "./protofields.ts";
import { atEnd, atRowsMax, atStagedRow, atUnusualRow } from "./stops.ts";

/** Tag of the records of a scope. */
const recordTag: u32 = 0x12;

/** Attributes that a scope's records share, at most so many: of each the key, and where its value begins and ends. */
export const sharedMax: u32 = 1024;
const sharedBytes: usize = 12;
let shared: usize = 0;
let sharedCount: usize = 0;
let sharedSet: u32 = 0;

/** Where the next field begins. */
let next: usize = 0;
/** Records that the present call of `readRecords` added. */
let read: u32 = 0;

/** Called first in each batch. Returns where its settings are written. Keys below `reserved` are the signal's own. */
export function beginRecords(reserved: u32): usize {
  beginKeys();
  for (let key: u32 = 0; key < reserved; key++) learnKey(key);
  beginValues(reserved);
  shared = reserveBlock(<usize>sharedMax * sharedBytes);
  sharedCount = 0;
  return beginSettings();
}

/** Says under which attribute key, by its number, a field of the record is stored. */
export function setFieldKey(field: u32, key: u32): void {
  noteFieldKey(field, key);
}

/** Makes the attributes of the staged row, at most `sharedMax`, those that the records share which are read from now on. */
export function shareStaged(): void {
  sharedCount = load<u32>(stagedRowAt, attributesOffset);
  sharedSet = load<u32>(stagedRowAt, stagedSetOffset);
  for (let i: usize = 0; i < sharedCount; i++) {
    const key = load<u32>(stagedKeysAt + (i << 2));
    learnKey(key);
    const entry = shared + i * sharedBytes;
    store<u32>(entry, key);
    store<u32>(entry, load<u32>(stagedFromAt + (i << 2)), 4);
    store<u32>(entry, load<u32>(stagedToAt + (i << 2)), 8);
  }
}

/**
 * Reads the records among the fields at [from, to), at most `most`. Returns what it stopped at. Ranges count from `source`;
 * a record's texts may be written to [room, roomTo).
 */
export function readRecords(source: usize, from: usize, to: usize, room: usize, roomTo: usize, most: u32): i32 {
  setPlaces(source, room, roomTo);
  next = from;
  read = 0;
  while (next < to) {
    let at = readVarint(next, to);
    if (at == 0) return atUnusualRow;
    const tag = <u32>varint;
    if (tag != recordTag) {
      at = skipField(tag, at, to);
      if (at == 0) return atUnusualRow;
      next = at;
      continue;
    }
    if (read == most) return atRowsMax;
    at = readLength(at, to);
    const end = bytesTo;
    if (at == 0 || !stageRecord(at, end)) return atUnusualRow;
    next = end;
    if (hasKeyOfPolicy() || !isPlainlyAdmitted(base)) return atStagedRow;
    addRow(base);
    read++;
  }
  return atEnd;
}

/** Records that the last call added. */
export function recordsRead(): u32 {
  return read;
}

/** Where the fields begin that were not read: with the record that the caller has to read, or after the staged one. */
export function nextRecord(): u32 {
  return <u32>(next - base);
}

/** Stages the record at [from, to). False where the caller has to read it. */
@inline
function stageRecord(from: usize, to: usize): bool {
  beginRecord();
  clearAttributes();
  memory.fill(stagedRowAt, 0, 64);
  if (!(formOfRows() == spanForm ? readSpan(from, to) : readLog(from, to))) return false;
  addShared();
  stageTime();
  return true;
}

/** Adds the shared attributes that the record does not have itself. There is room for them. */
@inline
function addShared(): void {
  store<u32>(stagedRowAt, load<u32>(stagedRowAt, attributesOffset), sharedFromOffset);
  store<u32>(stagedRowAt, sharedSet, stagedSetOffset);
  const row = recordNumber();
  const end = shared + sharedCount * sharedBytes;
  for (let entry = shared; entry < end; entry += sharedBytes) {
    const key = load<u32>(entry);
    if (!isInside(key, row)) addAttribute(key, load<u32>(entry, 4), load<u32>(entry, 8));
  }
}

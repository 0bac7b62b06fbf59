/**
 * The fields of a document that Elasticsearch is sent: its time, its message, its level, and what names its service. Each
 * may have one of several names, of which the first that the document has is taken. All stay attributes but the time and
 * the message. Behind the attributes of its own the document gets its index, its id and its service's name.
 */
import { quote } from "../batch/jsonchars.ts";
import { attributesOffset, levelFromOffset, levelToOffset, messageFromOffset, messageToOffset } from "../batch/batchrows.ts";
import { stagedRowAt } from "../batch/blocks.ts";
import { addAttribute, removeAttribute } from "../batch/attributes.ts";
import { readDate } from "./dates.ts";
import { fieldShift, isInside, kindOf } from "../batch/keys.ts";
import { base } from "../batch/jsonlines.ts";
import { digitsEnd, exactDigits } from "../batch/jsontext.ts";
import { setMillis } from "../batch/jsontimes.ts";
import { timeSeconds } from "../batch/rowtime.ts";

/** The fields, by their numbers; the caller gives their names. 0 stands for none. */
const timeField: u32 = 1;
const messageField: u32 = 2;
const levelField: u32 = 3;
/** A level that is given as a number. The caller reads documents that have one. */
const levelNumberField: u32 = 4;
/** A document that has it is left to the caller. */
const unusualField: u32 = 5;
const serviceField: u32 = 6;
const namespaceField: u32 = 7;
/** What a service is named after that has no name of its own: a deployment, and so on down to a pod. */
const firstWorkloadField: u32 = 8;
const fieldsEnd: u32 = 14;
/** In the kind of a key a field stands above the number of its name, which is lower for names that are taken before others. */
const nameShift: u32 = 5;
const nameMask: u32 = 31;

/** For each field a bit for each of its names that the document has. */
let present: usize = 0;
/** For each name of a field: from and to of its text, and the number of its attribute. */
let values: usize = 0;
const valueBytes: usize = 12;
const valueToOffset: usize = 4;
const attributeOffset: usize = 8;
export const documentBytes: usize = (<usize>fieldsEnd << 2) + ((<usize>fieldsEnd << nameShift) * valueBytes);

/** The keys of what each document gets, and the texts of its index and its id, which are empty where it has none. */
let serviceKey: u32 = 0;
let indexKey: u32 = 0;
let idKey: u32 = 0;
let indexFrom: usize = 0;
let idFrom: usize = 0;
let idTo: usize = 0;
/** Where the room after the id ends, in which the names of services are written. */
let roomEnd: usize = 0;

/** Of milliseconds from here on the caller rounds the microseconds. */
const millisMax: f64 = 9e12;

/** Called first in each batch, with so much room as `documentBytes` says. */
export function beginDocuments(room: usize): void {
  present = room;
  values = room + (<usize>fieldsEnd << 2);
  setDocumentTexts(0, 0, 0, 0);
}

/** The keys under which each document has the name of its service, its index and its id. */
export function setDocumentKeys(service: u32, index: u32, id: u32): void {
  serviceKey = service;
  indexKey = index;
  idKey = id;
}

/**
 * The index of the documents that follow is the text from `index` to `id`, their id that from there to `end`. Behind it, to
 * `roomTo`, the names of their services may be written.
 */
export function setDocumentTexts(index: usize, id: usize, end: usize, roomTo: usize): void {
  indexFrom = index;
  idFrom = id;
  idTo = end;
  roomEnd = roomTo;
}

/** Whether documents have an id: the caller knows whether one with that id is stored. */
@inline
export function hasId(): bool {
  return idFrom < idTo;
}

@inline
export function beginDocument(): void {
  memory.fill(present, 0, <usize>fieldsEnd << 2);
}

@inline
function fieldOfKey(key: u32): u32 {
  return kindOf(key) >> (fieldShift + nameShift);
}

/** Whether an object under this key is left to the caller. */
@inline
export function isUnusualObject(key: u32): bool {
  const field = fieldOfKey(key);
  return field == timeField || field == unusualField;
}

/** Adds an attribute; `isOwn`: of the document itself, and not of an object in it. False where the caller has to read it. */
export function addDocumentValue(key: u32, from: u32, to: u32, isOwn: bool, isString: bool): bool {
  const field = fieldOfKey(key);
  if (field == 0) return addAttribute(key, from, to);
  if (field == unusualField) return false;
  const isAnywhere = field > messageField && from < to;
  if (!isAnywhere && !(isOwn && (field == timeField || (field == messageField && isString)))) return addAttribute(key, from, to);
  const name = (kindOf(key) >> fieldShift) & nameMask;
  const bits = present + (field << 2);
  store<u32>(bits, load<u32>(bits) | (1 << name));
  const value = valueOf(field, name);
  store<u32>(value, from);
  store<u32>(value, to, valueToOffset);
  store<u32>(value, load<u32>(stagedRowAt, attributesOffset), attributeOffset);
  // No other name comes before the first.
  return staysOut(field, name) || addAttribute(key, from, to);
}

@inline
function staysOut(field: u32, name: u32): bool {
  return field <= messageField && name == 0;
}

@inline
function valueOf(field: u32, name: u32): usize {
  return values + ((<usize>field << nameShift) + name) * valueBytes;
}

/** The value of a field under the first of its names; 0 where the document has none. */
@inline
function firstValue(field: u32): usize {
  const bits = load<u32>(present + (field << 2));
  return bits == 0 ? 0 : valueOf(field, ctz(bits));
}

@inline
export function hasDocumentTime(): bool {
  return firstValue(timeField) != 0;
}

/** Ends a document. False where the caller has to read it. */
export function endDocument(row: u32): bool {
  const time = firstValue(timeField);
  if (time != 0 && !readTime(base + load<u32>(time), base + load<u32>(time, valueToOffset))) return false;
  if (!takeLevel() || !findServiceName(row)) return false;
  const message = firstValue(messageField);
  if (message != 0) {
    store<u32>(stagedRowAt, load<u32>(message), messageFromOffset);
    store<u32>(stagedRowAt, load<u32>(message, valueToOffset), messageToOffset);
  }
  takeOut(time, message);
  return addOwnAttributes(row);
}

/** Reads a time: a date, or milliseconds since the epoch, as a number or its digits in a string. */
function readTime(from: usize, to: usize): bool {
  const end = digitsEnd(from);
  const isString = load<u8>(from - 1) == quote;
  if (end != to || to == from || to - from > exactDigits) return isString && readDate(from, to);
  setMillis(from, to);
  return timeSeconds() * 1000 < millisMax;
}

@inline
function takeLevel(): bool {
  const level = firstValue(levelField);
  if (level == 0) return firstValue(levelNumberField) == 0;
  store<u32>(stagedRowAt, load<u32>(level), levelFromOffset);
  store<u32>(stagedRowAt, load<u32>(level, valueToOffset), levelToOffset);
  return true;
}

/** Removes the attributes that became the time and the message. */
@inline
function takeOut(time: usize, message: usize): void {
  const timeAt = time == 0 || time == valueOf(timeField, 0) ? -1 : load<i32>(time, attributeOffset);
  const messageAt = message == 0 || message == valueOf(messageField, 0) ? -1 : load<i32>(message, attributeOffset);
  // The later one first, so that the other stays where it is.
  const later = max(timeAt, messageAt);
  const earlier = min(timeAt, messageAt);
  if (later >= 0) removeAttribute(later);
  if (earlier >= 0) removeAttribute(earlier);
}

/** Where the name of the service that the document gets begins and ends; both 0 where it gets none. */
let nameFrom: u32 = 0;
let nameTo: u32 = 0;

/** Finds the name of the service, where the document lacks it, or has it under another key. */
function findServiceName(row: u32): bool {
  nameFrom = 0;
  nameTo = 0;
  const service = firstValue(serviceField);
  if (service != 0) {
    if (isUnknown(base + load<u32>(service))) return false;
    if (isInside(serviceKey, row)) return true;
    nameFrom = load<u32>(service);
    nameTo = load<u32>(service, valueToOffset);
    return true;
  }
  const namespace = firstValue(namespaceField);
  if (namespace == 0) return true;
  // An empty name would have to give way.
  if (isInside(serviceKey, row)) return false;
  for (let field = firstWorkloadField; field < fieldsEnd; field++) {
    const workload = firstValue(field);
    if (workload != 0) return writeName(namespace, workload);
  }
  return true;
}

/** Whether the text begins with `unknown_`, as names do that stand for none. */
@inline
function isUnknown(at: usize): bool {
  return load<u64>(at) == 0x5f6e_776f_6e6b_6e75;
}

/** Writes `/k8s/<namespace>/<workload>` into the room after the document's id. False where it has no room. */
function writeName(namespace: usize, workload: usize): bool {
  const namespaceBytes = load<u32>(namespace, valueToOffset) - load<u32>(namespace);
  const workloadBytes = load<u32>(workload, valueToOffset) - load<u32>(workload);
  if (<f64>(idTo + 6) + <f64>namespaceBytes + <f64>workloadBytes > <f64>roomEnd) return false;
  store<u32>(idTo, 0x7338_6b2f);
  store<u8>(idTo, 0x2f, 4);
  memory.copy(idTo + 5, base + load<u32>(namespace), namespaceBytes);
  store<u8>(idTo + 5 + namespaceBytes, 0x2f);
  memory.copy(idTo + 6 + namespaceBytes, base + load<u32>(workload), workloadBytes);
  nameFrom = <u32>(idTo - base);
  nameTo = nameFrom + 6 + namespaceBytes + workloadBytes;
  return true;
}

/** Adds the index, the id and the name of the service. */
function addOwnAttributes(row: u32): bool {
  if (indexFrom < idFrom && !isInside(indexKey, row)) {
    if (!addAttribute(indexKey, <u32>(indexFrom - base), <u32>(idFrom - base))) return false;
  }
  if (hasId() && !addAttribute(idKey, <u32>(idFrom - base), <u32>(idTo - base))) return false;
  return nameTo == 0 || addAttribute(serviceKey, nameFrom, nameTo);
}

/**
 * Reads log rows from JSON lines into the columns of a batch. Rows of the usual shape are read here: an object with a
 * time, a level, a message, and strings, integers and booleans beside them and in `attributes`. Spans, and documents of
 * Elasticsearch, have fields of their own. Rows of any other shape are left to the caller, as are rows for which the
 * batch's policy may have more to say than its bounds.
 */
import {
  beginSettings,
  documentForm,
  formOfRows,
  isPlainlyAdmitted,
  keysOfBatchMax,
  lengthMax,
  membersMax,
  setArrivalTime,
  setting,
  spanForm,
  stageTime,
} from "./admission.ts";
import { addAttribute, clearAttributes, hasKeyOfPolicy } from "./attributes.ts";
import {
  addRow,
  attributesOffset,
  keyLength,
  levelFromOffset,
  levelToOffset,
  messageFromOffset,
  messageToOffset,
} from "./batchrows.ts";
import { reserveBlock, stagedRowAt } from "./blocks.ts";
import { addTopLevel, beginTopLevel, clearTopLevel, noteTopLevel } from "./jsontoplevel.ts";
import { closingBrace, colon, comma, openingBrace, openingBracket, quote, zero } from "./jsonchars.ts";
import {
  addDocumentValue,
  beginDocument,
  beginDocuments,
  documentBytes,
  endDocument,
  hasDocumentTime,
  hasId,
  isUnusualObject,
} from "../documents/documentfields.ts";
import {
  beginKeys,
  guessAfter,
  guessKeyOffset,
  guessLengthOffset,
  guessParentOffset,
  isFirstAtTopLevel,
  isFirstInside,
  kindOf,
  loggerKey,
  noteNullInside,
  numberKey,
  numberMember,
  otherSignalKey,
  setGuess,
} from "./keys.ts";
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
import { readList } from "./jsonlists.ts";
import {
  beginSpan,
  beginSpans,
  endSpan,
  noSpanField,
  readSpanField,
  spanFieldOf,
  spanTextFrom,
  spanTextTo,
} from "./jsonspans.ts";
import {
  endOfText,
  findPlainEnd,
  readScalar,
  readString,
  setTextEnd,
  skipBlank,
} from "./jsontext.ts";
import { readMillis, readNanos } from "./jsontimes.ts";
import { spanKeys } from "./spanfields.ts";
import { atEnd, atRowsMax, atStagedRow, atUnusualRow } from "./stops.ts";
import { sameBytes } from "../bytes.ts";

/** Objects that are nested deeper than this, or whose names are longer, are left to the caller. */
const depthMax: u32 = 16;
const objectNameBytesMax: u32 = 1024;

/** The form of the row that is read. */
let form: u32 = 0;

/** The number of the key that was read last, plus 1; 0 at the beginning of a row. */
let lastKey: u32 = 0;
/** Bits of what the keys at the top level say of the row. */
let kindsOfRow: u32 = 0;

let rowNumber: u32 = 0;

/** Bits of `seen`: the fields that the row has. */
const seenAttributes: u32 = 1;
const seenNanos: u32 = 2;
const seenMillis: u32 = 4;
const seenLevel: u32 = 8;
const seenMessage: u32 = 16;
let seen: u32 = 0;

/** Called first in each batch. Returns where its settings are written. */
export function beginJson(): usize {
  beginKeys();
  beginTopLevel();
  beginSpans(reserveBlock(<usize>spanKeys << 3));
  beginDocuments(reserveBlock(documentBytes));
  return beginSettings();
}

/** Begins to read rows at `from`, whose ranges count from `source`, into a batch that has just begun. */
export function beginRows(source: usize, from: usize): void {
  beginLines(source, from);
  rowNumber = 0;
}

/** Reads the lines up to `to`, at most `most` rows. Returns what it stopped at; the next call continues after that. */
export function readRows(to: usize, most: u32): i32 {
  beginReading();
  while (hasLine(to)) {
    if (rowsRead() == most) return atRowsMax;
    if (!takeLine(to)) continue;
    const found = takeRow();
    if (found != atEnd) return found;
  }
  return atEnd;
}

/** Reads the row at [from, to). Returns what it stopped at. */
export function readRow(from: usize, to: usize): i32 {
  setRow(from, to);
  return takeRow();
}

/** Reads the row, and adds it where its batch's policy has no more to say. Returns what to stop at, or `atEnd`. */
export function takeRow(): i32 {
  rowNumber++;
  if (!stageRow()) return atUnusualRow;
  if (hasKeyOfPolicy() || (form == documentForm && hasId()) || !isPlainlyAdmitted(base)) return atStagedRow;
  addRow(base);
  return atEnd;
}

/** Stages the row. False where the caller has to read it. */
function stageRow(): bool {
  seen = 0;
  clearAttributes();
  clearTopLevel();
  lastKey = 0;
  kindsOfRow = 0;
  memory.fill(stagedRowAt, 0, 64);
  form = formOfRows();
  if (form == spanForm) beginSpan();
  if (form == documentForm) beginDocument();
  if (<f64>(rowTo - rowFrom) > setting(lengthMax)) return false;
  const from = skipBlank(rowFrom);
  const end = form == documentForm ? readMembers(from, ofAttributes, 1) : readMembers(from, topLevel, 0);
  if (end == 0 || skipBlank(end) != rowTo || !endRow()) return false;
  if (<f64>load<u32>(stagedRowAt, attributesOffset) > setting(membersMax)) return false;
  // What a span has from its fields does not count.
  if (form == spanForm) {
    if (!endSpan() || !addSpanTexts()) return false;
  } else if (!hasTime()) setArrivalTime();
  stageTime();
  return true;
}

/** Ends a row whose members have been read. False where the caller has to read it. */
@inline
function endRow(): bool {
  return form == documentForm ? endDocument(rowNumber) : isOwnForm() && addTopLevel(rowNumber);
}

/** Whether the log row or document has a time of its own. Spans always have one. */
@inline
function hasTime(): bool {
  return form == documentForm ? hasDocumentTime() : (seen & (seenNanos | seenMillis)) != 0;
}

/**
 * Whose members are read: those of the row, of its `attributes`, or of an object in these (its key's number). All members
 * of a document are attributes.
 */
const topLevel: i32 = -2;
const ofAttributes: i32 = -1;

/**
 * Reads the members of the object at `at`. Returns the address after it, or 0. `depth`: the objects around it, without
 * the row.
 */
function readMembers(at: usize, parent: i32, depth: u32): usize {
  if (at >= rowTo || load<u8>(at) != openingBrace) return 0;
  let member = skipBlank(at + 1);
  if (member < rowTo && load<u8>(member) == closingBrace) return member + 1;
  while (member < rowTo) {
    if (load<u8>(member) != quote) return 0;
    member = parent == topLevel ? readField(member + 1) : readAttribute(member + 1, parent, depth);
    if (member == 0) return 0;
    member = skipBlank(member);
    if (member >= rowTo) return 0;
    const byte = load<u8>(member);
    if (byte == closingBrace) return member + 1;
    if (byte != comma) return 0;
    member = skipBlank(member + 1);
  }
  return 0;
}

@inline
function isNamed(at: usize, length: u32, first: u64, second: u64, nameLength: u32): bool {
  if (length != nameLength || load<u64>(at) != first) return false;
  const mask: u64 = ((<u64>1) << ((<u64>(nameLength - 8)) << 3)) - 1;
  return nameLength == 8 || (load<u64>(at, 8) & mask) == second;
}

/** Reads the member of the row whose key begins at `key`. Returns the address after its value, or 0. */
function readField(key: usize): usize {
  const keyTo = findPlainEnd(key);
  const at = findValue(keyTo);
  if (at == 0) return 0;
  const length = <u32>(keyTo - key);
  if (isNamed(key, length, 0x7475_6269_7274_7461, 0x7365, 10)) {
    return isFirst(seenAttributes) ? readMembers(at, ofAttributes, 1) : 0;
  }
  if (form == spanForm) {
    const field = spanFieldOf(key, length);
    return field == noSpanField ? readTopLevel(key, length, at) : readSpanField(field, at);
  }
  // The names, eight letters a word.
  if (isNamed(key, length, 0x6d61_7473_656d_6974, 0x70, 9)) return isFirst(seenMillis) ? readMillis(at, (seen & seenNanos) != 0) : 0;
  if (length == 7 && (load<u64>(key) & 0x00ff_ffff_ffff_ffff) == 0x0065_6761_7373_656d) {
    if (!isFirst(seenMessage)) return 0;
    const end = readString(at);
    store<u32>(stagedRowAt, <u32>(at + 1 - base), messageFromOffset);
    store<u32>(stagedRowAt, <u32>(endOfText() - base), messageToOffset);
    return end;
  }
  if (isNamed(key, length, 0x6576_656c_5f67_6f6c, 0x6c, 9)) {
    if (!isFirst(seenLevel)) return 0;
    const end = readString(at);
    store<u32>(stagedRowAt, <u32>(at + 1 - base), levelFromOffset);
    store<u32>(stagedRowAt, <u32>(endOfText() - base), levelToOffset);
    return end;
  }
  if (isNamed(key, length, 0x7869_6e55_656d_6974, 0x6f6e_614e, 12)) {
    // It is finer than `timestamp`, so it wins.
    return isFirst(seenNanos) ? readNanos(at) : 0;
  }
  return readTopLevel(key, length, at);
}

/** Reads an attribute at the top level of the row. Returns the address after its value, or 0. */
function readTopLevel(key: usize, length: u32, at: usize): usize {
  const number = numberKey(key, length, setting(keysOfBatchMax));
  if (number < 0) return 0;
  kindsOfRow |= kindOf(number);
  lastKey = number + 1;
  isAtTopLevel = true;
  const end = takeValue(number, at, 1);
  isAtTopLevel = false;
  return end;
}

/** Notes that the row has a field. False where it had it before. */
@inline
function isFirst(field: u32): bool {
  if ((seen & field) != 0) return false;
  seen |= field;
  return true;
}

/** Whether what is read is at the top level of the row, and not in its `attributes`. */
let isAtTopLevel: bool = false;

/** Reads an attribute whose key begins at `key`. Returns the address after its value, or 0. */
function readAttribute(key: usize, parent: i32, depth: u32): usize {
  const guess = guessAfter(lastKey);
  const length = load<u32>(guess, guessLengthOffset);
  let keyTo = key + length;
  let number = load<i32>(guess, guessKeyOffset);
  // The address is 0 where no key is expected.
  const isRight =
    load<u32>(guess) != 0 &&
    load<i32>(guess, guessParentOffset) == parent &&
    sameBytes(load<u32>(guess), key, length) &&
    load<u8>(keyTo) == quote;
  if (!isRight) {
    keyTo = findPlainEnd(key);
    if (keyTo == 0 || (form == documentForm && isDigit(load<u8>(key)))) return 0;
    const last = lastKey;
    number = numberMember(parent, key, <u32>(keyTo - key), setting(keysOfBatchMax));
    if (number < 0) return 0;
    setGuess(last, <u32>(keyTo - key), number, parent);
  }
  lastKey = number + 1;
  const at = findValue(keyTo);
  return at == 0 ? 0 : takeValue(number, at, depth);
}

/** JavaScript puts members first whose names are numbers. */
@inline
function isDigit(byte: u32): bool {
  return byte - zero < 10;
}

/** Reads the value of a key: one attribute, or an object, whose members become attributes. Returns the address after it, or 0. */
function takeValue(key: u32, at: usize, depth: u32): usize {
  // The caller gives an attribute another name that has the name of a span's own.
  if (form == spanForm && key < spanKeys) return 0;
  if (isAtTopLevel ? !isFirstAtTopLevel(key, rowNumber) : !isFirstInside(key, rowNumber)) return 0;
  const first = load<u8>(at);
  if (first == openingBrace) {
    if (form == documentForm && isUnusualObject(key)) return 0;
    if (!isAtTopLevel) noteNullInside(key, rowNumber);
    return depth < depthMax && keyLength(key) <= objectNameBytesMax ? readMembers(at, key, depth + 1) : 0;
  }
  let end: usize;
  if (first == openingBracket) {
    end = readList(at, 0);
    setTextEnd(end);
  } else end = readScalar(at);
  if (end == 0) return 0;
  if (endOfText() == 0) {
    if (!isAtTopLevel) noteNullInside(key, rowNumber);
    return end;
  }
  return takeText(key, valueFrom(at), <u32>(endOfText() - base), depth, first == quote) ? end : 0;
}

/** Takes the text of a value. False where the caller has to read the row. */
@inline
function takeText(key: u32, from: u32, to: u32, depth: u32, isString: bool): bool {
  if (form == documentForm) return addDocumentValue(key, from, to, depth == 1, isString);
  return isAtTopLevel ? noteTopLevel(key, from, to) : addAttribute(key, from, to);
}

/** Where the text of the value at `at` begins, from the base. */
@inline
function valueFrom(at: usize): u32 {
  return <u32>(at - base) + (load<u8>(at) == quote ? 1 : 0);
}

/** Adds the attributes that come from a span's fields. */
@inline
function addSpanTexts(): bool {
  for (let key: u32 = 0; key < spanKeys; key++) {
    if (spanTextTo(key) == 0) continue;
    if (!addAttribute(key, <u32>(spanTextFrom(key) - base), <u32>(spanTextTo(key) - base))) return false;
  }
  return true;
}

/** Whether the row is in the form that is read here, and not in a logger's, or of another signal. */
@inline
function isOwnForm(): bool {
  const isOwn = (seen & (seenAttributes | seenLevel | seenNanos)) != 0;
  return (kindsOfRow & otherSignalKey) == 0 && ((kindsOfRow & loggerKey) == 0 || isOwn);
}

/** The address of the value after a key that ends at `keyTo`; 0 where there is none. */
@inline
function findValue(keyTo: usize): usize {
  if (keyTo == 0) return 0;
  const at = skipBlank(keyTo + 1);
  if (at >= rowTo || load<u8>(at) != colon) return 0;
  const value = skipBlank(at + 1);
  return value < rowTo ? value : 0;
}

/**
 * The rows of a batch in columns, day by day. Keys of attributes are numbered in the order in which they are first
 * added.
 */
import {
  growBlock,
  reserveBlock,
  reserveZeros,
  stagedFromAt,
  stagedKeysAt,
  stagedRowAt,
  stagedToAt,
} from "./blocks.ts";
import { copyText, sameBytes } from "../bytes.ts";
import {
  findText,
  internText,
  keepText,
  newColumn,
  pushValue,
  sharedCodeOffset,
  sharedSetOffset,
  textAt,
  textCount,
  textLength,
} from "./texttable.ts";

/** A day, by offsets: */
const timesOffset: usize = 0;
const arrivalsOffset: usize = 4;
/** Address and length of each message. */
const messagesOffset: usize = 8;
const rowsOffset: usize = 12;
const rowsMaxOffset: usize = 16;
const levelOffset: usize = 20;
/** The column of each key, by its number; 0 where there is none yet. */
const columnOfKeyOffset: usize = 24;
const keysMaxOffset: usize = 28;
/** The numbers of the keys that have a column, in the order in which they got it. */
const columnKeysOffset: usize = 32;
const columnsOffset: usize = 36;
const numberOffset: usize = 40;
/** u64: bytes of all messages together. */
const messageBytesOffset: usize = 48;
const dayBytes: usize = 56;

const firstRows: u32 = 64;
const firstKeys: u32 = 32;
const secondsOfDay: f64 = 86400;

/** A staged row, by offsets. */
export const secondsOffset: usize = 0;
export const nanosOffset: usize = 8;
export const levelFromOffset: usize = 16;
export const levelToOffset: usize = 20;
export const messageFromOffset: usize = 24;
export const messageToOffset: usize = 28;
export const attributesOffset: usize = 32;
export const sharedFromOffset: usize = 36;
export const stagedSetOffset: usize = 40;

let keys: usize = 0;
/** The length of the longest key. */
let longestKey: u32 = 0;
let day: usize = 0;
/** Rows of the batch, over all days. */
let rows: u32 = 0;

/** Begins a batch, in a memory without blocks. */
export function beginBatch(): void {
  keys = newColumn();
  longestKey = 0;
  day = 0;
  rows = 0;
}

export function keyCount(): u32 {
  return textCount(keys);
}

export function longestKeyBytes(): u32 {
  return longestKey;
}

/** The number of a key, or -1. */
export function findKey(at: usize, length: u32): i32 {
  return findText(keys, at, length);
}

/** The number of a key, given now where it has none yet. */
export function addKey(at: usize, length: u32): u32 {
  if (length > longestKey) longestKey = length;
  return internText(keys, at, length);
}

export function isKey(key: u32, at: usize, length: u32): bool {
  return textLength(keys, key) == length && sameBytes(textAt(keys, key), at, length);
}

export function keyAt(key: u32): usize {
  return textAt(keys, key);
}

export function keyLength(key: u32): u32 {
  return textLength(keys, key);
}

/** Begins a day, to which rows are added from now on. */
export function beginDay(number: u32): usize {
  day = reserveZeros(dayBytes);
  store<u32>(day, reserveBlock(firstRows << 3), timesOffset);
  store<u32>(day, reserveBlock(firstRows << 2), arrivalsOffset);
  store<u32>(day, reserveBlock(firstRows << 3), messagesOffset);
  store<u32>(day, firstRows, rowsMaxOffset);
  store<u32>(day, newColumn(), levelOffset);
  store<u32>(day, reserveZeros(firstKeys << 2), columnOfKeyOffset);
  store<u32>(day, reserveBlock(firstKeys << 2), columnKeysOffset);
  store<u32>(day, firstKeys, keysMaxOffset);
  store<u32>(day, number, numberOffset);
  return day;
}

/** Rows are added to this day from now on. */
export function continueDay(which: usize): void {
  day = which;
}

/** Whether rows of these seconds are added to the present day. */
@inline
export function isOfDay(seconds: f64): bool {
  if (day == 0) return false;
  const into = seconds - <f64>load<u32>(day, numberOffset) * secondsOfDay;
  return into >= 0 && into < secondsOfDay;
}

/** Adds the staged row, whose ranges count from `base`, to the present day. */
export function addRow(base: usize): void {
  const row = load<u32>(day, rowsOffset);
  if (row == load<u32>(day, rowsMaxOffset)) growRows(row);
  const into = load<f64>(stagedRowAt, secondsOffset) - <f64>load<u32>(day, numberOffset) * secondsOfDay;
  const at = (<usize>row) << 2;
  store<f64>(<usize>load<u32>(day, timesOffset) + (at << 1), into * 1e9 + load<f64>(stagedRowAt, nanosOffset));
  store<u32>(<usize>load<u32>(day, arrivalsOffset) + at, rows++);
  const from = load<u32>(stagedRowAt, messageFromOffset);
  const length = load<u32>(stagedRowAt, messageToOffset) - from;
  const message = <usize>load<u32>(day, messagesOffset) + (at << 1);
  store<u32>(message, keepText(base + from, length));
  store<u32>(message, length, 4);
  store<u64>(day, load<u64>(day, messageBytesOffset) + length, messageBytesOffset);
  const level: usize = load<u32>(day, levelOffset);
  const levelFrom = load<u32>(stagedRowAt, levelFromOffset);
  const levelLength = load<u32>(stagedRowAt, levelToOffset) - levelFrom;
  pushValue(level, row, internText(level, base + levelFrom, levelLength));
  addAttributes(base, row);
  store<u32>(day, row + 1, rowsOffset);
}

@inline
function addAttributes(base: usize, row: u32): void {
  const attributes = load<u32>(stagedRowAt, attributesOffset);
  const set = load<u32>(stagedRowAt, stagedSetOffset);
  const shared = set == 0 ? attributes : load<u32>(stagedRowAt, sharedFromOffset);
  for (let i: u32 = 0; i < attributes; i++) {
    const at = (<usize>i) << 2;
    const column = columnOf(load<u32>(stagedKeysAt + at));
    if (i >= shared && load<u32>(column, sharedSetOffset) == set) {
      pushValue(column, row, load<u32>(column, sharedCodeOffset));
      continue;
    }
    const from = load<u32>(stagedFromAt + at);
    const code = internText(column, base + from, load<u32>(stagedToAt + at) - from);
    if (i >= shared) {
      store<u32>(column, code, sharedCodeOffset);
      store<u32>(column, set, sharedSetOffset);
    }
    pushValue(column, row, code);
  }
}

/** Adds a value for the newest row of the present day. */
export function addValue(key: u32, at: usize, length: u32): void {
  const column = columnOf(key);
  pushValue(column, load<u32>(day, rowsOffset) - 1, internText(column, at, length));
}

/** The present day's column of a key, made now where there is none yet. */
@inline
function columnOf(key: u32): usize {
  if (key < load<u32>(day, keysMaxOffset)) {
    const column: usize = load<u32>(<usize>load<u32>(day, columnOfKeyOffset) + ((<usize>key) << 2));
    if (column != 0) return column;
  }
  return makeColumn(key);
}

function makeColumn(key: u32): usize {
  const most = load<u32>(day, keysMaxOffset);
  if (key >= most) {
    let larger = most << 1;
    while (key >= larger) larger <<= 1;
    const columns = reserveZeros((<usize>larger) << 2);
    memory.copy(columns, load<u32>(day, columnOfKeyOffset), (<usize>most) << 2);
    store<u32>(day, columns, columnOfKeyOffset);
    const listed = growBlock(load<u32>(day, columnKeysOffset), (<usize>most) << 2, (<usize>larger) << 2);
    store<u32>(day, listed, columnKeysOffset);
    store<u32>(day, larger, keysMaxOffset);
  }
  const column = newColumn();
  store<u32>(<usize>load<u32>(day, columnOfKeyOffset) + ((<usize>key) << 2), column);
  const count = load<u32>(day, columnsOffset);
  store<u32>(<usize>load<u32>(day, columnKeysOffset) + ((<usize>count) << 2), key);
  store<u32>(day, count + 1, columnsOffset);
  return column;
}

function growRows(used: u32): void {
  const larger = (<usize>used) << 1;
  const at: usize = used;
  store<u32>(day, growBlock(load<u32>(day, timesOffset), at << 3, larger << 3), timesOffset);
  store<u32>(day, growBlock(load<u32>(day, arrivalsOffset), at << 2, larger << 2), arrivalsOffset);
  store<u32>(day, growBlock(load<u32>(day, messagesOffset), at << 3, larger << 3), messagesOffset);
  store<u32>(day, <u32>larger, rowsMaxOffset);
}

export function dayRows(which: usize): u32 {
  return load<u32>(which, rowsOffset);
}

/** float64: nanoseconds of each row since the start of the day. */
export function dayTimes(which: usize): usize {
  return load<u32>(which, timesOffset);
}

/** u32: the number of each row in the batch. */
export function dayArrivals(which: usize): usize {
  return load<u32>(which, arrivalsOffset);
}

export function dayLevel(which: usize): usize {
  return load<u32>(which, levelOffset);
}

export function dayColumns(which: usize): u32 {
  return load<u32>(which, columnsOffset);
}

/** The key of a day's i-th column. */
export function dayKey(which: usize, i: u32): u32 {
  return load<u32>(<usize>load<u32>(which, columnKeysOffset) + ((<usize>i) << 2));
}

/** A day's i-th column. */
export function dayColumn(which: usize, i: u32): usize {
  return load<u32>(<usize>load<u32>(which, columnOfKeyOffset) + ((<usize>dayKey(which, i)) << 2));
}

export function dayMessageBytes(which: usize): f64 {
  return <f64>load<u64>(which, messageBytesOffset);
}

/** Whether each row is no earlier than the one before it. */
function isInOrder(times: usize, rows: u32): bool {
  const end = times + ((<usize>rows) << 3);
  for (let at = times + 8; at < end; at += 8) if (load<f64>(at) < load<f64>(at - 8)) return false;
  return true;
}

/**
 * The rows of a day in order of time, ties by arrival: the address of a row number for each position; 0 where they are
 * in order already. Most rows are, so runs of rows in order are merged, until there is one.
 */
export function orderByTime(which: usize): usize {
  const times: usize = load<u32>(which, timesOffset);
  const count = load<u32>(which, rowsOffset);
  if (isInOrder(times, count)) return 0;
  let order = reserveBlock((<usize>count) << 2);
  let spare = reserveBlock((<usize>count) << 2);
  for (let row: u32 = 0; row < count; row++) store<u32>(order + ((<usize>row) << 2), row);
  while (mergeRuns(times, order, order + ((<usize>count) << 2), spare)) {
    const merged = spare;
    spare = order;
    order = merged;
  }
  return order;
}

@inline
function timeOf(times: usize, place: usize): f64 {
  return load<f64>(times + ((<usize>load<u32>(place)) << 3));
}

/** The end of the run that begins at `from`: rows that are no earlier than the one before them. */
function runEnd(times: usize, from: usize, to: usize): usize {
  let at = from + 4;
  while (at < to && timeOf(times, at) >= timeOf(times, at - 4)) at += 4;
  return at < to ? at : to;
}

/** Merges each two neighbouring runs of [order, end). False where there is one run, and nothing was written. */
function mergeRuns(times: usize, order: usize, end: usize, out: usize): bool {
  let first = order;
  let second = runEnd(times, first, end);
  if (second == end) return false;
  let to = out;
  while (first < end) {
    const secondEnd = second < end ? runEnd(times, second, end) : end;
    let a = first;
    let b = second;
    while (a < second && b < secondEnd) {
      // Of equal times the row that came first.
      if (timeOf(times, b) < timeOf(times, a)) {
        store<u32>(to, load<u32>(b));
        b += 4;
      } else {
        store<u32>(to, load<u32>(a));
        a += 4;
      }
      to += 4;
    }
    memory.copy(to, a, second - a);
    to += second - a;
    memory.copy(to, b, secondEnd - b);
    to += secondEnd - b;
    first = secondEnd;
    second = first < end ? runEnd(times, first, end) : end;
  }
  return true;
}

/** positions[row] = position, for order[position] = row. */
export function invertOrder(order: usize, rows: u32): usize {
  const positions = reserveBlock((<usize>rows) << 2);
  for (let position: u32 = 0; position < rows; position++) {
    const row: usize = load<u32>(order + ((<usize>position) << 2));
    store<u32>(positions + (row << 2), position);
  }
  return positions;
}

/** Writes the messages one after the other, in the order order[position] = row or as they are, and their offsets. */
export function gatherMessages(which: usize, order: usize, offsets: usize, bytes: usize): void {
  const count: usize = load<u32>(which, rowsOffset);
  const messages: usize = load<u32>(which, messagesOffset);
  let end: u32 = 0;
  for (let position: usize = 0; position < count; position++) {
    const row: usize = order == 0 ? position : load<u32>(order + (position << 2));
    const length = load<u32>(messages + (row << 3), 4);
    store<u32>(offsets + (position << 2), end);
    copyText(bytes + end, load<u32>(messages + (row << 3)), length);
    end += length;
  }
  store<u32>(offsets + (count << 2), end);
}

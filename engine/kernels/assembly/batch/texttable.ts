/**
 * Tables of distinct texts with a code for each, and the columns of a batch, which are such tables with the rows that
 * have a value. Entries point at the texts where they were read; only texts whose bytes will be overwritten are copied.
 *
 * The hash is fast, and made with a secret. A text that takes too many probes shows that somebody chose the texts to
 * collide; the table then goes over to SipHash-1-3, which nobody can choose texts for.
 */
import { copyText, maskOf, sameBytes } from "../bytes.ts";
import { growBlock, reserveBlock, reserveZeros } from "./blocks.ts";

/** A table, by offsets: */
const slotsOffset: usize = 0;
const maskOffset: usize = 4;
const sizeOffset: usize = 8;
const entriesOffset: usize = 12;
const entriesMaxOffset: usize = 16;
/** The code that was found last. */
const lastOffset: usize = 20;
/** 1 where the table has gone over to SipHash. */
const keyedOffset: usize = 24;
/** Bytes of all texts together. */
const bytesOffset: usize = 28;
/** And a column. Where its row numbers are; 0 while each row so far has a value, so that they are 0 to count - 1. */
const rowsOffset: usize = 32;
const codesOffset: usize = 36;
const countOffset: usize = 40;
const countMaxOffset: usize = 44;
export const sharedSetOffset: usize = 48;
export const sharedCodeOffset: usize = 52;
const columnBytes: usize = 64;

/** An entry: the address of the text, its length, its hash. */
const entryShift: usize = 4;

const firstSlots: u32 = 8;
const firstRows: u32 = 8;
/** Probes for a new text above which the texts were chosen to collide: with a random hash there are never as many. */
const probesMax: u32 = 128;

let secret: u64 = 0;
let sipKey0: u64 = 0;
let sipKey1: u64 = 0;
let stableFrom: usize = 0;
let stableTo: usize = 0;

/** Sets the secrets of the hashes: random numbers. */
export function setHashSecrets(first: u64, second: u64, third: u64): void {
  secret = first;
  sipKey0 = second;
  sipKey1 = third;
}

/** Texts in these bytes stay where they are; those in others are copied where they are kept, as they may be overwritten. */
export function setStable(from: usize, to: usize): void {
  stableFrom = from;
  stableTo = to;
}

export function newColumn(): usize {
  const column = reserveZeros(columnBytes);
  store<u32>(column, reserveZeros(firstSlots << 3), slotsOffset);
  store<u32>(column, firstSlots - 1, maskOffset);
  store<u32>(column, reserveBlock((<usize>(firstSlots >> 1)) << entryShift), entriesOffset);
  store<u32>(column, firstSlots >> 1, entriesMaxOffset);
  store<u32>(column, reserveBlock(firstRows << 2), codesOffset);
  store<u32>(column, firstRows, countMaxOffset);
  return column;
}

/** Number of distinct texts. */
export function textCount(table: usize): u32 {
  return load<u32>(table, sizeOffset);
}

/** Bytes of all texts together. */
export function textBytes(table: usize): u32 {
  return load<u32>(table, bytesOffset);
}

/** Number of rows that have a value. */
export function valueCount(column: usize): u32 {
  return load<u32>(column, countOffset);
}

/** The rows that have a value, ascending. */
export function columnRows(column: usize): usize {
  const kept: usize = load<u32>(column, rowsOffset);
  return kept != 0 ? kept : keepRows(column);
}

/** Writes the row numbers of a column that has none written yet, since each row so far has a value. */
function keepRows(column: usize): usize {
  const rows = reserveBlock((<usize>load<u32>(column, countMaxOffset)) << 2);
  const count = load<u32>(column, countOffset);
  for (let row: u32 = 0; row < count; row++) store<u32>(rows + ((<usize>row) << 2), row);
  store<u32>(column, rows, rowsOffset);
  return rows;
}

/** The code of each value, in the order of the rows that have one. */
export function columnCodes(column: usize): usize {
  return load<u32>(column, codesOffset);
}

/** Where the text with that code lies. */
export function textAt(table: usize, code: u32): usize {
  return load<u32>(entryOf(table, code));
}

export function textLength(table: usize, code: u32): u32 {
  return load<u32>(entryOf(table, code), 4);
}

@inline
function entryOf(table: usize, code: u32): usize {
  return <usize>load<u32>(table, entriesOffset) + ((<usize>code) << entryShift);
}

/** The code of a text, or -1. */
export function findText(table: usize, at: usize, length: u32): i32 {
  const found = load<u64>(slotOf(table, at, length, hashOf(table, at, length)));
  return <i32>(<u32>found) - 1;
}

/** The code of a text; a text that the table lacks is added. */
export function internText(table: usize, at: usize, length: u32): u32 {
  const last = load<u32>(table, lastOffset);
  // Rows often repeat the value of the row before.
  if (last < load<u32>(table, sizeOffset)) {
    const entry = entryOf(table, last);
    if (load<u32>(entry, 4) == length && sameBytes(load<u32>(entry), at, length)) return last;
  }
  const hash = hashOf(table, at, length);
  const slot = slotOf(table, at, length, hash);
  const found = load<u64>(slot);
  const code = found != 0 ? <u32>found - 1 : addText(table, at, length, hash, slot);
  store<u32>(table, code, lastOffset);
  return code;
}

/** Probes of the last search. */
let probes: u32 = 0;

/** The slot of the text, or the free one where it belongs. A slot has the hash above the code + 1, and 0 where it is free. */
function slotOf(table: usize, at: usize, length: u32, hash: u32): usize {
  const slots: usize = load<u32>(table, slotsOffset);
  const entries: usize = load<u32>(table, entriesOffset);
  const mask = load<u32>(table, maskOffset);
  let place = hash & mask;
  probes = 0;
  while (true) {
    const slot = slots + ((<usize>place) << 3);
    const found = load<u64>(slot);
    if (found == 0) return slot;
    if (<u32>(found >> 32) == hash) {
      const entry = entries + ((<usize>(<u32>found - 1)) << entryShift);
      if (load<u32>(entry, 4) == length && sameBytes(load<u32>(entry), at, length)) return slot;
    }
    place = (place + 1) & mask;
    probes++;
  }
}

function addText(table: usize, at: usize, length: u32, hash: u32, slot: usize): u32 {
  const code = load<u32>(table, sizeOffset);
  const most = load<u32>(table, entriesMaxOffset);
  if (code == most) {
    const used = (<usize>most) << entryShift;
    const entries = growBlock(load<u32>(table, entriesOffset), used, used << 1);
    store<u32>(table, entries, entriesOffset);
    store<u32>(table, most << 1, entriesMaxOffset);
  }
  const entry = entryOf(table, code);
  store<u32>(entry, keepText(at, length));
  store<u32>(entry, length, 4);
  store<u32>(entry, hash, 8);
  store<u64>(slot, ((<u64>hash) << 32) | (code + 1));
  store<u32>(table, code + 1, sizeOffset);
  store<u32>(table, load<u32>(table, bytesOffset) + length, bytesOffset);
  const isFlooded = probes > probesMax && load<u32>(table, keyedOffset) == 0;
  if (isFlooded) goOverToSipHash(table);
  if (isFlooded || (code + 1) << 1 > load<u32>(table, maskOffset)) placeAll(table, (code + 1) << 1);
  return code;
}

/** The address at which the text stays. */
export function keepText(at: usize, length: u32): usize {
  if (at >= stableFrom && at < stableTo) return at;
  const kept = reserveBlock(length);
  memory.copy(kept, at, length);
  return kept;
}

function goOverToSipHash(table: usize): void {
  store<u32>(table, 1, keyedOffset);
  const size = load<u32>(table, sizeOffset);
  for (let code: u32 = 0; code < size; code++) {
    const entry = entryOf(table, code);
    store<u32>(entry, hashOf(table, load<u32>(entry), load<u32>(entry, 4)), 8);
  }
}

/** Puts all texts into slots, more than `least` of them. */
function placeAll(table: usize, least: u32): void {
  let count = load<u32>(table, maskOffset) + 1;
  while (count <= least) count <<= 1;
  const slots = reserveZeros((<usize>count) << 3);
  const mask = count - 1;
  const size = load<u32>(table, sizeOffset);
  for (let code: u32 = 0; code < size; code++) {
    const hash = load<u32>(entryOf(table, code), 8);
    let place = hash & mask;
    while (load<u64>(slots + ((<usize>place) << 3)) != 0) place = (place + 1) & mask;
    store<u64>(slots + ((<usize>place) << 3), ((<u64>hash) << 32) | (code + 1));
  }
  store<u32>(table, slots, slotsOffset);
  store<u32>(table, mask, maskOffset);
}

/** Adds a value for a row, which is not before the newest one. A second value for the newest row replaces the first. */
export function pushValue(column: usize, row: u32, code: u32): void {
  const count = load<u32>(column, countOffset);
  const at = (<usize>count) << 2;
  let rows: usize = load<u32>(column, rowsOffset);
  if (count > 0 && (rows == 0 ? count - 1 : load<u32>(rows + at - 4)) == row) {
    store<u32>(<usize>load<u32>(column, codesOffset) + at - 4, code);
    return;
  }
  if (count == load<u32>(column, countMaxOffset)) {
    growColumn(column, count);
    rows = load<u32>(column, rowsOffset);
  }
  if (rows == 0 && row != count) rows = keepRows(column);
  if (rows != 0) store<u32>(rows + at, row);
  store<u32>(<usize>load<u32>(column, codesOffset) + at, code);
  store<u32>(column, count + 1, countOffset);
}

/** Enlarges the buffers of a column that are full, with `count` values. */
function growColumn(column: usize, count: u32): void {
  const larger = count < 1024 ? count << 2 : count << 1;
  const used = (<usize>count) << 2;
  const rows: usize = load<u32>(column, rowsOffset);
  if (rows != 0) store<u32>(column, growBlock(rows, used, (<usize>larger) << 2), rowsOffset);
  store<u32>(column, growBlock(load<u32>(column, codesOffset), used, (<usize>larger) << 2), codesOffset);
  store<u32>(column, larger, countMaxOffset);
}

/** Writes the texts one after the other, and where each begins and the last ends. */
export function gatherTexts(table: usize, offsets: usize, bytes: usize): void {
  const size = load<u32>(table, sizeOffset);
  let end: u32 = 0;
  for (let code: u32 = 0; code < size; code++) {
    const entry = entryOf(table, code);
    const length = load<u32>(entry, 4);
    store<u32>(offsets + ((<usize>code) << 2), end);
    copyText(bytes + end, load<u32>(entry), length);
    end += length;
  }
  store<u32>(offsets + ((<usize>size) << 2), end);
}

/** Writes where each of the `count` texts with these codes begins, one after the other, and the last ends. Returns that. */
export function placeTexts(table: usize, codes: usize, count: u32, offsets: usize): u32 {
  let end: u32 = 0;
  for (let i: usize = 0; i < count; i++) {
    store<u32>(offsets + (i << 2), end);
    end += textLength(table, load<u32>(codes + (i << 2)));
  }
  store<u32>(offsets + ((<usize>count) << 2), end);
  return end;
}

/** Writes the `count` texts with these codes one after the other. */
export function gatherSomeTexts(table: usize, codes: usize, count: u32, bytes: usize): void {
  let to = bytes;
  for (let i: usize = 0; i < count; i++) {
    const entry = entryOf(table, load<u32>(codes + (i << 2)));
    const length = load<u32>(entry, 4);
    copyText(to, load<u32>(entry), length);
    to += length;
  }
}

/**
 * Writes a code for each of `rows` rows, -1 where a row has no value. The row with number r is written at positions[r],
 * or at r where there are no positions.
 */
export function gatherCodes(column: usize, rows: u32, positions: usize, out: usize): void {
  const count = load<u32>(column, countOffset);
  const codes: usize = load<u32>(column, codesOffset);
  const ofRows: usize = load<u32>(column, rowsOffset);
  if (count < rows) memory.fill(out, 0xff, (<usize>rows) << 2);
  if (ofRows == 0 && positions == 0) {
    memory.copy(out, codes, (<usize>count) << 2);
    return;
  }
  for (let at: usize = 0; at < (<usize>count) << 2; at += 4) {
    const row: usize = ofRows == 0 ? at >> 2 : load<u32>(ofRows + at);
    const place: usize = positions == 0 ? row : load<u32>(positions + (row << 2));
    store<u32>(out + (place << 2), load<u32>(codes + at));
  }
}

@inline
function hashOf(table: usize, at: usize, length: u32): u32 {
  return load<u32>(table, keyedOffset) == 0 ? fastHash(at, length) : sipHash(at, length);
}

/** A hash made with the secret. Reads up to 7 bytes after the text. */
@inline
export function fastHash(at: usize, length: u32): u32 {
  let hash: u64 = secret ^ ((<u64>length) * 0x9e37_79b9_7f4a_7c15);
  let left = length;
  for (; left >= 8; left -= 8, at += 8) {
    hash = (hash ^ load<u64>(at)) * 0xff51_afd7_ed55_8ccd;
    hash ^= hash >> 32;
  }
  if (left > 0) {
    hash = (hash ^ (load<u64>(at) & maskOf(left))) * 0xff51_afd7_ed55_8ccd;
    hash ^= hash >> 32;
  }
  return <u32>((hash * 0xc4ce_b9fe_1a85_ec53) >> 32);
}

let v0: u64 = 0;
let v1: u64 = 0;
let v2: u64 = 0;
let v3: u64 = 0;

@inline
function sipRound(): void {
  v0 += v1;
  v1 = rotl<u64>(v1, 13) ^ v0;
  v0 = rotl<u64>(v0, 32);
  v2 += v3;
  v3 = rotl<u64>(v3, 16) ^ v2;
  v0 += v3;
  v3 = rotl<u64>(v3, 21) ^ v0;
  v2 += v1;
  v1 = rotl<u64>(v1, 17) ^ v2;
  v2 = rotl<u64>(v2, 32);
}

/** SipHash-1-3 by Aumasson and Bernstein. */
function sipHash(at: usize, length: u32): u32 {
  v0 = sipKey0 ^ 0x736f_6d65_7073_6575;
  v1 = sipKey1 ^ 0x646f_7261_6e64_6f6d;
  v2 = sipKey0 ^ 0x6c79_6765_6e65_7261;
  v3 = sipKey1 ^ 0x7465_6462_7974_6573;
  let left = length;
  for (; left >= 8; left -= 8, at += 8) {
    const word = load<u64>(at);
    v3 ^= word;
    sipRound();
    v0 ^= word;
  }
  const last = (load<u64>(at) & maskOf(left)) | ((<u64>length) << 56);
  v3 ^= last;
  sipRound();
  v0 ^= last;
  v2 ^= 0xff;
  sipRound();
  sipRound();
  sipRound();
  const hash = v0 ^ v1 ^ v2 ^ v3;
  return <u32>(hash ^ (hash >> 32));
}

/**
 * Automatons that read texts byte by byte. `symbols` maps each of the 256 bytes to its symbol. A state is the index of its
 * first entry in `next`, which has `width` entries of 32 bits for each state: one for each symbol, and the last but one for
 * the end of a text. The first three states are final, with only transitions to themselves: no match, match, unknown.
 */
import { offsetOf, rowOf, setRowBit } from "./rows.ts";

/** Four texts are read by so many bytes each between two tests of whether all of their states are final. */
const stripBytes: u32 = 16;

/**
 * Writes the state that each of `count` texts leads to from state `start`. `rows` has their rows; where it is 0, they are the
 * first ones. Four texts are read at a time, as a transition waits for the one before in the same text only.
 */
export function readTexts(
  bytes: usize,
  offsets: usize,
  rows: usize,
  count: u32,
  symbols: usize,
  next: usize,
  width: u32,
  start: u32,
  states: usize,
): void {
  const finalMax = width * 2;
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) {
    const rowA = rowAt(rows, i);
    const rowB = rowAt(rows, i + 1);
    const rowC = rowAt(rows, i + 2);
    const rowD = rowAt(rows, i + 3);
    let a = bytes + offsetOf(offsets, rowA);
    let b = bytes + offsetOf(offsets, rowB);
    let c = bytes + offsetOf(offsets, rowC);
    let d = bytes + offsetOf(offsets, rowD);
    const endA = bytes + offsetOf(offsets, rowA + 1);
    const endB = bytes + offsetOf(offsets, rowB + 1);
    const endC = bytes + offsetOf(offsets, rowC + 1);
    const endD = bytes + offsetOf(offsets, rowD + 1);
    let left = <u32>min(min(endA - a, endB - b), min(endC - c, endD - d));
    let stateA = start;
    let stateB = start;
    let stateC = start;
    let stateD = start;
    while (left > 0 && max(max(stateA, stateB), max(stateC, stateD)) > finalMax) {
      const strip = min(left, stripBytes);
      left -= strip;
      const end = a + strip;
      while (a < end) {
        stateA = step(symbols, next, stateA, a++);
        stateB = step(symbols, next, stateB, b++);
        stateC = step(symbols, next, stateC, c++);
        stateD = step(symbols, next, stateD, d++);
      }
    }
    const out = states + ((<usize>i) << 2);
    store<u32>(out, readRest(symbols, next, finalMax, stateA, a, endA));
    store<u32>(out, readRest(symbols, next, finalMax, stateB, b, endB), 4);
    store<u32>(out, readRest(symbols, next, finalMax, stateC, c, endC), 8);
    store<u32>(out, readRest(symbols, next, finalMax, stateD, d, endD), 12);
  }
  for (; i < count; i++) {
    const row = rowAt(rows, i);
    const from = bytes + offsetOf(offsets, row);
    const to = bytes + offsetOf(offsets, row + 1);
    store<u32>(states + ((<usize>i) << 2), readRest(symbols, next, finalMax, start, from, to));
  }
}

/**
 * Reads the texts after each occurrence of a prefix, from state `stateAfter` on, until the row ends or the state is final or
 * `stateBefore`, and sets the bits of the rows that match. `places` has the positions where the prefix begins, ascending.
 * Returns the index of the first occurrence after which the result is unknown, else `count`.
 */
export function matchAfterPrefix(
  bytes: usize,
  offsets: usize,
  rows: u32,
  places: usize,
  count: u32,
  prefixBytes: u32,
  symbols: usize,
  next: usize,
  width: u32,
  stateBefore: u32,
  stateAfter: u32,
  found: usize,
): u32 {
  const finalMax = width * 2;
  let row: u32 = 0;
  // Places before this one are decided.
  let readTo: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const place = load<u32>(places + ((<usize>i) << 2));
    if (place < readTo) continue;
    row = rowOf(offsets, rows, row, place);
    const end = offsetOf(offsets, row + 1);
    // A prefix that begins in one row and ends in another does not count.
    if (place + prefixBytes > end) continue;
    let at = bytes + place + prefixBytes;
    let state = stateAfter;
    while (at < bytes + end && state > finalMax && state != stateBefore)
      state = step(symbols, next, state, at++);
    if (state == stateBefore) {
      readTo = <u32>(at - bytes);
      continue;
    }
    const result = load<u32>(next + ((<usize>(state + width - 2)) << 2));
    if (result == finalMax) return i;
    if (result == width) setRowBit(found, row);
    readTo = end;
  }
  return count;
}

@inline
function rowAt(rows: usize, index: u32): u32 {
  return rows == 0 ? index : load<u32>(rows + ((<usize>index) << 2));
}

@inline
function step(symbols: usize, next: usize, state: u32, at: usize): u32 {
  return load<u32>(next + ((<usize>(state + load<u8>(symbols + load<u8>(at)))) << 2));
}

@inline
function readRest(symbols: usize, next: usize, finalMax: u32, from: u32, begin: usize, end: usize): u32 {
  let state = from;
  let at = begin;
  while (at < end && state > finalMax) state = step(symbols, next, state, at++);
  return state;
}

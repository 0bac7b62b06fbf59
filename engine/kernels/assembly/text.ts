/**
 * Text search. The search compares two bytes of the needle, chosen for being rare, with the text at their distance, for
 * 64 positions at once. Where both match somewhere, a third byte is compared for all 64: of a number in a text of numbers
 * two bytes match often. Where it matches as well, the whole needle is compared. With case folding the needle is in lower case,
 * and bit 5 of a text byte is set wherever the needle has a letter: that makes exactly A-Z equal to a-z.
 *
 * Reads may pass both ends of the text by at most 15 bytes.
 */
import { foldAt, needleAt } from "./layout.ts";
import { fetchPage, pageEnd } from "./page.ts";
import { rowOf, setRowBit } from "./rows.ts";

/** The needle's length in bytes. */
let length: u32 = 0;
/** Index in the needle of the byte that is compared first at each place of a text. */
let first: u32 = 0;
/** Index of the byte that is compared where the first one is equal. */
let second: u32 = 0;
/** Index of the byte that is compared where both are equal; `first` where the needle has fewer than three bytes. */
let third: u32 = 0;
/** Whether A-Z in the text count as a-z. */
let folded: bool = false;

let bytesAt: usize = 0;
let count: u32 = 0;
/** Hits whose first probe byte lies before this address are already decided. */
let settledTo: usize = 0;

let hitsAt: usize = 0;
let hitsMax: u32 = 0;

/** Offsets of the rows, or 0 where positions of hits are wanted. */
let offsetsAt: usize = 0;
let rowCount: u32 = 0;
let row: u32 = 0;
let bitmapAt: usize = 0;
/** The bit of the first row. */
let firstBit: u32 = 0;

/** Sets the length, the probe bytes' indexes and the folding of the needle that lies at `needleAt`. */
export function setNeedle(
  needleLength: u32,
  firstProbe: u32,
  secondProbe: u32,
  thirdProbe: u32,
  fold: bool,
): void {
  length = needleLength;
  first = firstProbe;
  second = secondProbe;
  third = thirdProbe;
  folded = fold;
}

/** Writes every position in [from, to) where the needle begins, until `max` are written; returns how many. */
export function findHits(bytes: usize, from: u32, to: u32, hits: usize, max: u32): u32 {
  offsetsAt = 0;
  hitsAt = hits;
  hitsMax = max;
  return find(bytes, from, to);
}

/** Counts the rows that contain the needle. Where `bitmap` is not 0, sets their bits; all bits must be zero before. */
export function findRows(bytes: usize, offsets: usize, rows: u32, bitmap: usize): u32 {
  offsetsAt = offsets;
  rowCount = rows;
  row = 0;
  bitmapAt = bitmap;
  firstBit = 0;
  return find(bytes, load<u32>(offsets), load<u32>(offsets + ((<usize>rows) << 2)));
}

/** The same; the bit of the first row is `bit`. */
export function findRowsFrom(bytes: usize, offsets: usize, rows: u32, bitmap: usize, bit: u32): void {
  offsetsAt = offsets;
  rowCount = rows;
  row = 0;
  bitmapAt = bitmap;
  firstBit = bit;
  find(bytes, load<u32>(offsets), load<u32>(offsets + ((<usize>rows) << 2)));
}

/** The length in bytes of the needle. */
export function needleLength(): u32 {
  return length;
}

function find(bytes: usize, from: u32, to: u32): u32 {
  count = 0;
  if (to < from || to - from < length) return 0;
  bytesAt = bytes;
  const begin = bytes + from;
  const last = bytes + to - length;
  if (folded) search(true, begin, last);
  else search(false, begin, last);
  return count;
}

/** Searches the positions [begin, last] where the needle may begin. Reads of the first probe byte are aligned. */
@inline
function search(fold: bool, begin: usize, last: usize): void {
  const byteA = v128.load8_splat(needleAt + first);
  const byteB = v128.load8_splat(needleAt + second);
  const foldA = v128.load8_splat(foldAt + first);
  const foldB = v128.load8_splat(foldAt + second);
  const shift = second - first;
  const byteC = v128.load8_splat(needleAt + third);
  const foldC = v128.load8_splat(foldAt + third);
  const shiftC = third - first;
  settledTo = begin + first;
  const lastProbe = last + first;
  let at = (begin + first) & ~15;
  while (at + 63 <= lastProbe) {
    fetchPage(at, lastProbe);
    const strip = min(pageEnd(at), lastProbe - 62);
    while (at < strip) {
      let hit0 = probe(fold, at, shift, byteA, byteB, foldA, foldB);
      let hit1 = probe(fold, at + 16, shift, byteA, byteB, foldA, foldB);
      let hit2 = probe(fold, at + 32, shift, byteA, byteB, foldA, foldB);
      let hit3 = probe(fold, at + 48, shift, byteA, byteB, foldA, foldB);
      if (v128.any_true(v128.or(v128.or(hit0, hit1), v128.or(hit2, hit3)))) {
        hit0 = v128.and(hit0, probeThird(fold, at + shiftC, byteC, foldC));
        hit1 = v128.and(hit1, probeThird(fold, at + shiftC + 16, byteC, foldC));
        hit2 = v128.and(hit2, probeThird(fold, at + shiftC + 32, byteC, foldC));
        hit3 = v128.and(hit3, probeThird(fold, at + shiftC + 48, byteC, foldC));
        const low = <u32>i8x16.bitmask(hit0) | ((<u32>i8x16.bitmask(hit1)) << 16);
        const high = <u32>i8x16.bitmask(hit2) | ((<u32>i8x16.bitmask(hit3)) << 16);
        at = settle(at, <u64>low | ((<u64>high) << 32));
      } else {
        at += 64;
      }
    }
  }
  while (at <= lastProbe) {
    let places = <u64>i8x16.bitmask(probe(fold, at, shift, byteA, byteB, foldA, foldB));
    if (lastProbe - at < 15) places &= ((<u64>2) << (lastProbe - at)) - 1;
    const next = places == 0 ? at : settle(at, places);
    at = next > at + 64 ? next : at + 16;
  }
}

/**
 * Lanes where both probe bytes match. The second lies `shift` bytes after the first; a negative shift wraps around.
 */
@inline
function probe(
  fold: bool,
  at: usize,
  shift: usize,
  byteA: v128,
  byteB: v128,
  foldA: v128,
  foldB: v128,
): v128 {
  const a = v128.load(at);
  const b = v128.load(at + shift);
  return fold
    ? v128.and(i8x16.eq(v128.or(a, foldA), byteA), i8x16.eq(v128.or(b, foldB), byteB))
    : v128.and(i8x16.eq(a, byteA), i8x16.eq(b, byteB));
}

/** Lanes where the third probe byte matches at `at`. */
@inline
function probeThird(fold: bool, at: usize, byte: v128, foldBits: v128): v128 {
  const text = v128.load(at);
  return i8x16.eq(fold ? v128.or(text, foldBits) : text, byte);
}

/**
 * Decides 64 positions; bit i of `places` means that both probe bytes match with the first one at `at` + i. Returns the
 * address where the search continues.
 */
function settle(at: usize, places: u64): usize {
  if (settledTo > at) places &= ~(<u64>0) << (settledTo - at);
  return offsetsAt == 0 ? settleHits(at, places) : settleRows(at, places);
}

@inline
function settleHits(at: usize, places: u64): usize {
  while (places != 0) {
    const hit = at - first + <usize>ctz(places);
    places &= places - 1;
    if (length > 2 && !holdsNeedle(hit)) continue;
    store<u32>(hitsAt + ((<usize>count) << 2), <u32>(hit - bytesAt));
    // An address past every position ends the search.
    if (++count == hitsMax) return 0xffff_ff00;
  }
  return at + 64;
}

@inline
function settleRows(at: usize, places: u64): usize {
  while (places != 0) {
    const hit = at - first + <usize>ctz(places);
    places &= places - 1;
    if (length > 2 && !holdsNeedle(hit)) continue;
    const place = <u32>(hit - bytesAt);
    row = rowOf(offsetsAt, rowCount, row, place);
    const end = load<u32>(offsetsAt + ((<usize>row) << 2), 4);
    // A hit that straddles two rows does not count.
    if (place + length > end) continue;
    count++;
    if (bitmapAt != 0) setRowBit(bitmapAt, firstBit + row);
    settledTo = bytesAt + end + first;
    if (settledTo - at >= 64) return settledTo & ~15;
    places &= ~(<u64>0) << (settledTo - at);
  }
  return at + 64;
}

/** Compares the whole needle with the text at `at`. */
function holdsNeedle(at: usize): bool {
  const text = v128.or(v128.load(at), v128.load(foldAt));
  const unlike = v128.and(v128.xor(text, v128.load(needleAt)), firstLanes(length));
  if (v128.any_true(unlike)) return false;
  if (length <= 16) return true;
  // The last 16 bytes overlap those before.
  const last = length - 16;
  for (let i: u32 = 16; i < last; i += 16) if (differs(at, i)) return false;
  return !differs(at, last);
}

@inline
function differs(at: usize, i: u32): bool {
  const text = v128.or(v128.load(at + i), v128.load(foldAt + i));
  return v128.any_true(v128.xor(text, v128.load(needleAt + i)));
}

/** A mask of the first `lanes` lanes, at most 16. */
@inline
function firstLanes(lanes: u32): v128 {
  const places = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return i8x16.lt_u(places, i8x16.splat(<i8>min<u32>(lanes, 16)));
}

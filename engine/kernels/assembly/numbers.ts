/**
 * Float64 values in a range, and their sum, least and greatest. A NaN is in no range, makes a sum NaN, and is neither
 * least nor greatest.
 */
import { bits32, bitsFrom, join64, storeTail } from "./lanes.ts";
import { fetchPage, pageEnd } from "./page.ts";

/** out := a bitmap of the rows with low <= x <= high; an open end excludes its bound. */
export function inRange(
  values: usize,
  rows: u32,
  low: f64,
  high: f64,
  lowOpen: bool,
  highOpen: bool,
  out: usize,
): void {
  if (lowOpen) {
    if (highOpen) scan(true, true, values, rows, low, high, out);
    else scan(true, false, values, rows, low, high, out);
  } else if (highOpen) scan(false, true, values, rows, low, high, out);
  else scan(false, false, values, rows, low, high, out);
}

@inline
function scan(
  lowOpen: bool,
  highOpen: bool,
  values: usize,
  rows: u32,
  low: f64,
  high: f64,
  out: usize,
): void {
  const lows = f64x2.splat(low);
  const highs = f64x2.splat(high);
  const end = values + ((<usize>(rows & ~15)) << 3);
  while (values < end) {
    fetchPage(values, end);
    const strip = min(pageEnd(values), end);
    for (; values < strip; values += 128, out += 2) {
      const a = pair(lowOpen, highOpen, values, lows, highs);
      const b = pair(lowOpen, highOpen, values + 32, lows, highs);
      const c = pair(lowOpen, highOpen, values + 64, lows, highs);
      const d = pair(lowOpen, highOpen, values + 96, lows, highs);
      store<u16>(out, <u16>bits32(a, b, c, d));
    }
  }
  rows &= 15;
  let tail: u64 = 0;
  for (let i: u32 = 0; i < rows; i++) {
    const value = load<f64>(values + ((<usize>i) << 3));
    const above = lowOpen ? value > low : value >= low;
    const below = highOpen ? value < high : value <= high;
    tail |= (<u64>above & <u64>below) << i;
  }
  storeTail(out, tail, rows);
}

/** Tests four rows; the masks are lanes of 32 bits. */
@inline
function pair(lowOpen: bool, highOpen: bool, values: usize, lows: v128, highs: v128): v128 {
  return join64(
    within(lowOpen, highOpen, v128.load(values), lows, highs),
    within(lowOpen, highOpen, v128.load(values, 16), lows, highs),
  );
}

/** Tests two rows. */
@inline
function within(lowOpen: bool, highOpen: bool, value: v128, lows: v128, highs: v128): v128 {
  const above = lowOpen ? f64x2.gt(value, lows) : f64x2.ge(value, lows);
  const below = highOpen ? f64x2.lt(value, highs) : f64x2.le(value, highs);
  return v128.and(above, below);
}

/**
 * The sum of the selected rows; `selection` 0 selects every row. There are four pairs of partial sums, so rounding
 * differs from that of a plain loop.
 */
export function sum(values: usize, rows: u32, selection: usize): f64 {
  return aggregate(SUM, values, rows, selection, 0);
}

/** The least value; +Infinity where there is none. */
export function least(values: usize, rows: u32, selection: usize): f64 {
  return aggregate(LEAST, values, rows, selection, Infinity);
}

/** The greatest value; -Infinity where there is none. */
export function greatest(values: usize, rows: u32, selection: usize): f64 {
  return aggregate(GREATEST, values, rows, selection, -Infinity);
}

const SUM = 0;
const LEAST = 1;
const GREATEST = 2;

/** Sums or compares the selected rows, 64 at a time where a whole word of the selection is set, else one by one. */
@inline
function aggregate(kind: i32, values: usize, rows: u32, selection: usize, empty: f64): f64 {
  let a = f64x2.splat(empty);
  let b = a;
  let c = a;
  let d = a;
  let one = empty;
  for (let row: u32 = 0; row < rows; row += 64, values += 512) {
    let bits = selection == 0 ? ~(<u64>0) : bitsFrom(selection, row, rows);
    if (bits == ~(<u64>0) && rows - row >= 64) {
      fetchPage(values, values + ((<usize>(rows - row)) << 3));
      for (let at = values; at < values + 512; at += 64) {
        a = combine(kind, a, v128.load(at));
        b = combine(kind, b, v128.load(at, 16));
        c = combine(kind, c, v128.load(at, 32));
        d = combine(kind, d, v128.load(at, 48));
      }
    } else {
      if (rows - row < 64) bits &= ((<u64>1) << (rows - row)) - 1;
      for (; bits != 0; bits &= bits - 1)
        one = combineOne(kind, one, load<f64>(values + ((<usize>ctz(bits)) << 3)));
    }
  }
  const all = combine(kind, combine(kind, a, b), combine(kind, c, d));
  one = combineOne(kind, one, f64x2.extract_lane(all, 0));
  return combineOne(kind, one, f64x2.extract_lane(all, 1));
}

@inline
function combine(kind: i32, a: v128, b: v128): v128 {
  if (kind == SUM) return f64x2.add(a, b);
  return kind == LEAST ? f64x2.pmin(a, b) : f64x2.pmax(a, b);
}

@inline
function combineOne(kind: i32, a: f64, b: f64): f64 {
  if (kind == SUM) return a + b;
  if (kind == LEAST) return b < a ? b : a;
  return b > a ? b : a;
}

/** Tests of dictionary codes of 8, 16 and 32 bits. Each writes a bitmap of the rows that pass. */
import { bits16, bits32, storeTail } from "./lanes.ts";
import { operandAt } from "./layout.ts";
import { fetchPage, pageEnd } from "./page.ts";

/** out := the rows with low <= code <= low + span; with `flip`, all other rows. */
export function between(
  codes: usize,
  width: u32,
  rows: u32,
  low: u32,
  span: u32,
  flip: bool,
  out: usize,
): void {
  if (width == 1) betweenOf<u8>(codes, rows, low, span, flip, out);
  else if (width == 2) betweenOf<u16>(codes, rows, low, span, flip, out);
  else betweenOf<u32>(codes, rows, low, span, flip, out);
}

@inline
function betweenOf<T>(codes: usize, rows: u32, low: u32, span: u32, flip: bool, out: usize): void {
  if (span == 0) scan<T>(true, codes, rows, low, span, flip, out);
  else scan<T>(false, codes, rows, low, span, flip, out);
}

/** `one`: the range is a single code, which a comparison for equality tests. */
@inline
function scan<T>(one: bool, codes: usize, rows: u32, low: u32, span: u32, flip: bool, out: usize): void {
  const lows = v128.splat<T>(<T>low);
  const spans = v128.splat<T>(<T>span);
  const mask = flip ? ~(<u64>0) : 0;
  const end = codes + <usize>(rows & ~63) * sizeof<T>();
  while (codes < end) {
    fetchPage(codes, end);
    const strip = min(pageEnd(codes), end);
    for (; codes < strip; codes += 64 * sizeof<T>(), out += 8) {
      const quarter = 16 * sizeof<T>();
      const first = passes<T>(one, codes, lows, spans) | (passes<T>(one, codes + quarter, lows, spans) << 16);
      const second =
        passes<T>(one, codes + 2 * quarter, lows, spans) |
        (passes<T>(one, codes + 3 * quarter, lows, spans) << 16);
      store<u64>(out, (first | (second << 32)) ^ mask);
    }
  }
  rows &= 63;
  let tail: u64 = 0;
  for (let i: u32 = 0; i < rows; i++) {
    const code = <u32>load<T>(codes + <usize>i * sizeof<T>());
    tail |= (<u64>(code - low <= span)) << i;
  }
  storeTail(out, tail ^ mask, rows);
}

/** Tests 16 rows; returns a bit per row. */
@inline
function passes<T>(one: bool, codes: usize, lows: v128, spans: v128): u64 {
  const a = within<T>(one, v128.load(codes), lows, spans);
  if (sizeof<T>() == 1) return <u64>i8x16.bitmask(a);
  const b = within<T>(one, v128.load(codes, 16), lows, spans);
  if (sizeof<T>() == 2) return bits16(a, b);
  const c = within<T>(one, v128.load(codes, 32), lows, spans);
  const d = within<T>(one, v128.load(codes, 48), lows, spans);
  return bits32(a, b, c, d);
}

@inline
function within<T>(one: bool, codes: v128, lows: v128, spans: v128): v128 {
  return one ? v128.eq<T>(codes, lows) : v128.le<T>(v128.sub<T>(codes, lows), spans);
}

/**
 * out := the rows whose code is in the table at `operandAt`. For codes of a byte `member8` says how the table looks;
 * for wider codes it has a byte of 0 or 1 a code.
 */
export function member(codes: usize, width: u32, rows: u32, out: usize): void {
  if (width == 1) member8(codes, rows, out);
  else if (width == 2) lookUp<u16>(codes, rows, out);
  else lookUp<u32>(codes, rows, out);
}

/**
 * The table has, for each low half (4 bits) of a code, 8 bits for the high halves 0-7, and 16 bytes later 8 bits for
 * the high halves 8-15.
 */
function member8(codes: usize, rows: u32, out: usize): void {
  const lowHalves = v128.load(operandAt);
  const highHalves = v128.load(operandAt, 16);
  const end = codes + (rows & ~63);
  while (codes < end) {
    fetchPage(codes, end);
    const strip = min(pageEnd(codes), end);
    for (; codes < strip; codes += 64, out += 8) {
      const first =
        members(codes, lowHalves, highHalves) | (members(codes + 16, lowHalves, highHalves) << 16);
      const second =
        members(codes + 32, lowHalves, highHalves) | (members(codes + 48, lowHalves, highHalves) << 16);
      store<u64>(out, first | (second << 32));
    }
  }
  rows &= 63;
  let tail: u64 = 0;
  for (let i: u32 = 0; i < rows; i++) {
    const code = <usize>load<u8>(codes + i);
    const bits = load<u8>(operandAt + ((code >> 7) << 4) + (code & 15));
    tail |= (<u64>((bits >> (<u8>(code >> 4) & 7)) & 1)) << i;
  }
  storeTail(out, tail, rows);
}

/** Tests 16 codes of a byte against that table; returns a bit per code. */
@inline
function members(codes: usize, lowHalves: v128, highHalves: v128): u64 {
  const code = v128.load(codes);
  const nibbles = i8x16.splat(15);
  const low = v128.and(code, nibbles);
  const high = v128.and(i16x8.shr_u(code, 4), nibbles);
  const upper = i8x16.lt_s(code, i8x16.splat(0));
  const bits = v128.bitselect(i8x16.swizzle(highHalves, low), i8x16.swizzle(lowHalves, low), upper);
  const bit = i8x16.swizzle(i8x16(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128), high);
  return <u64>i8x16.bitmask(i8x16.eq(v128.and(bits, bit), bit));
}

/** Tests codes of 2 or 4 bytes against a table with a byte per code. */
@inline
function lookUp<T>(codes: usize, rows: u32, out: usize): void {
  const end = codes + <usize>(rows & ~7) * sizeof<T>();
  while (codes < end) {
    fetchPage(codes, end);
    const strip = min(pageEnd(codes), end);
    for (; codes < strip; codes += 8 * sizeof<T>(), out++) {
      const low =
        entry<T>(codes, 0) |
        (entry<T>(codes, 1) << 1) |
        (entry<T>(codes, 2) << 2) |
        (entry<T>(codes, 3) << 3);
      const high =
        entry<T>(codes, 4) |
        (entry<T>(codes, 5) << 1) |
        (entry<T>(codes, 6) << 2) |
        (entry<T>(codes, 7) << 3);
      store<u8>(out, <u8>(low | (high << 4)));
    }
  }
  rows &= 7;
  let tail: u64 = 0;
  for (let i: u32 = 0; i < rows; i++) tail |= (<u64>entry<T>(codes, i)) << i;
  storeTail(out, tail, rows);
}

@inline
function entry<T>(codes: usize, i: usize): u32 {
  return <u32>load<u8>(<usize>load<T>(codes + i * sizeof<T>()) + operandAt);
}

/** The largest code; 0 where there is none. */
export function largest(codes: usize, width: u32, rows: u32): u32 {
  if (width == 1) return largestOf<u8>(codes, rows);
  return width == 2 ? largestOf<u16>(codes, rows) : largestOf<u32>(codes, rows);
}

@inline
function largestOf<T>(codes: usize, rows: u32): u32 {
  const byteLength = <usize>rows * sizeof<T>();
  const end = codes + (byteLength & ~63);
  const stop = codes + byteLength;
  let a = v128.splat<T>(0);
  let b = a;
  let c = a;
  let d = a;
  for (; codes < end; codes += 64) {
    a = v128.max<T>(a, v128.load(codes));
    b = v128.max<T>(b, v128.load(codes, 16));
    c = v128.max<T>(c, v128.load(codes, 32));
    d = v128.max<T>(d, v128.load(codes, 48));
  }
  v128.store(operandAt, v128.max<T>(v128.max<T>(a, b), v128.max<T>(c, d)));
  let most: u32 = 0;
  for (let at: usize = 0; at < 16; at += sizeof<T>()) most = max(most, <u32>load<T>(operandAt + at));
  for (; codes < stop; codes += sizeof<T>()) most = max(most, <u32>load<T>(codes));
  return most;
}

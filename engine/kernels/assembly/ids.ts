/** Searching ids of one width that lie side by side. The wanted id lies at `operandAt`, padded to 8 bytes. */
import { bits32, join64, storeTail } from "./lanes.ts";
import { operandAt } from "./layout.ts";
import { fetchPage } from "./page.ts";

/** out := a bitmap of the rows whose id is the wanted one. */
export function equalIds(ids: usize, rows: u32, width: u32, out: usize): void {
  if (width == 8) scan(8, ids, rows, 8, out);
  else if (width == 16) scan(16, ids, rows, 16, out);
  else if (width == 32) scan(32, ids, rows, 32, out);
  else scan(0, ids, rows, width, out);
}

/** The first row at or after `from` with the wanted id; `rows` where there is none. */
export function findId(ids: usize, from: u32, rows: u32, width: u32): u32 {
  if (width == 8) return first(8, ids, from, rows, 8);
  if (width == 16) return first(16, ids, from, rows, 16);
  if (width == 32) return first(32, ids, from, rows, 32);
  return first(0, ids, from, rows, width);
}

/** `kind`: the width where there is SIMD code for it, else 0. */
@inline
function scan(kind: i32, ids: usize, rows: u32, width: u32, out: usize): void {
  const end = ids + <usize>(rows & ~15) * width;
  const step = (<usize>width) << 4;
  for (; ids < end; ids += step, out += 2) {
    if ((ids & 4095) < step) fetchPage(ids, end);
    store<u16>(out, <u16>same16(kind, ids, width));
  }
  rows &= 15;
  let tail: u64 = 0;
  for (let i: u32 = 0; i < rows; i++) tail |= (<u64>same(ids + <usize>i * width, width)) << i;
  storeTail(out, tail, rows);
}

@inline
function first(kind: i32, ids: usize, from: u32, rows: u32, width: u32): u32 {
  const step = (<usize>width) << 4;
  const end = ids + <usize>rows * width;
  let row = from;
  let at = ids + <usize>from * width;
  for (; row + 16 <= rows; row += 16, at += step) {
    if ((at & 4095) < step) fetchPage(at, end);
    const bits = same16(kind, at, width);
    if (bits != 0) return row + <u32>ctz(bits);
  }
  for (; row < rows; row++, at += width) if (same(at, width)) return row;
  return rows;
}

/** Compares 16 rows; returns a bit per row. */
@inline
function same16(kind: i32, ids: usize, width: u32): u64 {
  if (kind == 0) {
    let bits: u64 = 0;
    for (let i: u32 = 0; i < 16; i++, ids += width) bits |= (<u64>same(ids, width)) << i;
    return bits;
  }
  const step = (<usize>kind) << 2;
  return bits32(
    same4(kind, ids),
    same4(kind, ids + step),
    same4(kind, ids + 2 * step),
    same4(kind, ids + 3 * step),
  );
}

/** Compares four rows; the masks are lanes of 32 bits. */
@inline
function same4(kind: i32, ids: usize): v128 {
  return join64(same2(kind, ids), same2(kind, ids + ((<usize>kind) << 1)));
}

/** Compares two rows; the masks are lanes of 64 bits. */
@inline
function same2(kind: i32, ids: usize): v128 {
  if (kind == 8) return i64x2.eq(v128.load(ids), v128.load64_splat(operandAt));
  const a = halves(kind, ids);
  const b = halves(kind, ids + kind);
  return v128.and(v128.shuffle<i64>(a, b, 0, 2), v128.shuffle<i64>(a, b, 1, 3));
}

/** Compares one id of 16 or 32 bytes; each of the two lanes covers half of the id's words, and both must match. */
@inline
function halves(kind: i32, id: usize): v128 {
  const low = i64x2.eq(v128.load(id), v128.load(operandAt));
  return kind == 16 ? low : v128.and(low, i64x2.eq(v128.load(id, 16), v128.load(operandAt, 16)));
}

/** Compares one id of any width: eight bytes at a time, of the last ones only those that belong to the id. */
function same(id: usize, width: u32): bool {
  let i: u32 = 0;
  for (; i + 8 <= width; i += 8) if (load<u64>(id + i) != load<u64>(operandAt + i)) return false;
  if (i == width) return true;
  const care = ((<u64>1) << ((width - i) << 3)) - 1;
  return ((load<u64>(id + i) ^ load<u64>(operandAt + i)) & care) == 0;
}

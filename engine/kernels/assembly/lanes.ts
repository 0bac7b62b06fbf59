/** Packing wide SIMD masks into narrow ones, sums over lanes, and the words at the ends of bitmaps. */

/** Narrows masks of 2 + 2 lanes of 64 bits to 4 lanes of 32. */
@inline
export function join64(a: v128, b: v128): v128 {
  return v128.shuffle<i32>(a, b, 0, 2, 4, 6);
}

/** Packs masks of 4 × 4 lanes of 32 bits into 16 bits. */
@inline
export function bits32(a: v128, b: v128, c: v128, d: v128): u64 {
  return bits16(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d));
}

/** Packs masks of 2 × 8 lanes of 16 bits into 16 bits. */
@inline
export function bits16(a: v128, b: v128): u64 {
  return <u64>i8x16.bitmask(i8x16.narrow_i16x8_s(a, b));
}

/** Writes the lowest `rows` bits, fewer than 64; the unused bits of the last byte become zero. */
export function storeTail(out: usize, bits: u64, rows: u32): void {
  bits &= ((<u64>1) << rows) - 1;
  const end = out + ((rows + 7) >> 3);
  for (; out < end; out++, bits >>= 8) store<u8>(out, <u8>bits);
}

/** Up to 64 bits of a bitmap from `row`, a multiple of 8, on. Bits of rows from `to` on are zero. */
@inline
export function bitsFrom(bitmap: usize, row: u32, to: u32): u64 {
  const bits = load<u64>(bitmap + (row >> 3));
  return to - row >= 64 ? bits : bits & (((<u64>1) << (to - row)) - 1);
}

/** The sum of 16 unsigned bytes. */
@inline
export function sumOfBytes(sums: v128): u32 {
  return sumOfLanes(i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(sums)));
}

/** The sum of four lanes of 32 bits. */
@inline
export function sumOfLanes(sums: v128): u32 {
  return (
    i32x4.extract_lane(sums, 0) +
    i32x4.extract_lane(sums, 1) +
    i32x4.extract_lane(sums, 2) +
    i32x4.extract_lane(sums, 3)
  );
}

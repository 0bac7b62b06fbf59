/** Counts of rows for at most 16 codes of 8 bits, in vector registers: no counter is written for a row. */
import { sumOfBytes } from "./lanes.ts";
import { table0 } from "./layout.ts";
import { fetchPage } from "./page.ts";

/**
 * Counts a multiple of 16 rows, four codes per pass. Sums are bytes, which hold up to 255 rows per lane before they are
 * added to the counters.
 */
export function countLanes(codes: usize, rows: u32, cardinality: u32, counts: usize): void {
  const end = codes + rows;
  while (codes < end) {
    fetchPage(codes, end);
    const strip = min(codes + 255 * 16, end);
    for (let code: u32 = 0; code < cardinality; code += 4) lanesPass(codes, strip, code, cardinality, counts);
    codes = strip;
  }
}

/**
 * Counts four codes from `code` on. A lookup turns each code into a one in a field of two bits, so one addition counts
 * for all four codes. A field holds three rows. Then fields are added to fields of four bits, which hold fifteen rows,
 * and those to bytes.
 */
function lanesPass(codes: usize, end: usize, code: u32, cardinality: u32, counts: usize): void {
  v128.store(0, i8x16.splat(0), table0);
  // The bytes 1, 4, 16, 64: a one in each of the four fields.
  store<u32>(code, 0x40100401, table0);
  const ones = v128.load(0, table0);
  const nibbles = i8x16.splat(0x0f);
  let sum0 = i8x16.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  while (codes < end) {
    let even: v128;
    let odd: v128;
    if (codes + 15 * 16 <= end) {
      const a = threeRows(ones, codes);
      const b = threeRows(ones, codes + 48);
      const c = threeRows(ones, codes + 96);
      const d = threeRows(ones, codes + 144);
      const e = threeRows(ones, codes + 192);
      even = i8x16.add(i8x16.add(evenOf(a), evenOf(b)), i8x16.add(evenOf(c), i8x16.add(evenOf(d), evenOf(e))));
      odd = i8x16.add(i8x16.add(oddOf(a), oddOf(b)), i8x16.add(oddOf(c), i8x16.add(oddOf(d), oddOf(e))));
      codes += 15 * 16;
    } else {
      const fields = i8x16.relaxed_swizzle(ones, v128.load(codes));
      even = evenOf(fields);
      odd = oddOf(fields);
      codes += 16;
    }
    sum0 = i8x16.add(sum0, v128.and(even, nibbles));
    sum1 = i8x16.add(sum1, v128.and(odd, nibbles));
    sum2 = i8x16.add(sum2, v128.and(i16x8.shr_u(even, 4), nibbles));
    sum3 = i8x16.add(sum3, v128.and(i16x8.shr_u(odd, 4), nibbles));
  }
  const at = counts + ((<usize>code) << 2);
  const left = cardinality - code;
  addLanes(at, sum0);
  if (left > 1) addLanes(at + 4, sum1);
  if (left > 2) addLanes(at + 8, sum2);
  if (left > 3) addLanes(at + 12, sum3);
}

/** The fields of three times 16 rows. */
@inline
function threeRows(ones: v128, codes: usize): v128 {
  const first = i8x16.relaxed_swizzle(ones, v128.load(codes));
  const second = i8x16.relaxed_swizzle(ones, v128.load(codes, 16));
  return i8x16.add(i8x16.add(first, second), i8x16.relaxed_swizzle(ones, v128.load(codes, 32)));
}

/** The first and the third field of each byte, each with four bits to grow into. */
@inline
function evenOf(fields: v128): v128 {
  return v128.and(fields, i8x16.splat(0x33));
}

/** The second and the fourth field of each byte. */
@inline
function oddOf(fields: v128): v128 {
  return v128.and(i16x8.shr_u(fields, 2), i8x16.splat(0x33));
}

@inline
function addLanes(at: usize, sums: v128): void {
  store<u32>(at, load<u32>(at) + sumOfBytes(sums));
}

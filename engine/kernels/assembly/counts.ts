/**
 * Counts the rows that have each code. Two properties of processors shape these loops. A counter that was just written
 * cannot be read again for some cycles, so successive rows go to different tables, which are added up at the end. And a
 * processor makes one store in a cycle, so narrow codes are counted in pairs, with one store for two rows.
 */
import { countLanes } from "./lanecounts.ts";
import { bitsFrom, sumOfBytes, sumOfLanes } from "./lanes.ts";
import { rowTable, table0, table1, table2, table3, tableStride } from "./layout.ts";
import { fetchPage, pageEnd } from "./page.ts";

/** Up to this many codes need no table of counters: a vector has a lane for each code (`countLanes`). */
const lanesMax: u32 = 16;
/** Up to this many codes are counted in pairs: the counters of 128 × 128 pairs fit into one table. */
const pairedMax: u32 = 128;
/** Up to this many codes are counted in four tables, because these stay in the cache nearest to the processor. */
const tabledMax: u32 = 4096;

/**
 * Adds the number of rows in [from, to) with each code to the code's counter. `selection` is a bitmap of the rows to
 * count; 0 counts all rows.
 */
export function countCodes(
  codes: usize,
  width: u32,
  from: u32,
  to: u32,
  selection: usize,
  cardinality: u32,
  counts: usize,
): void {
  if (width == 1) count8(codes, from, to, selection, cardinality, counts);
  else if (width == 2) count16(codes, from, to, selection, cardinality, counts);
  else count32(codes, from, to, selection, cardinality, counts);
}

function count8(codes: usize, from: u32, to: u32, selection: usize, cardinality: u32, counts: usize): void {
  const rows = to - from;
  if (cardinality <= lanesMax && rows >= 64) {
    if (selection == 0) {
      countLanes(codes + from, rows & ~15, cardinality, counts);
      return countInto<u8>(codes + from + (rows & ~15), rows & 15, counts);
    }
    if (isDense(selection, from, to)) return compareSelected(codes, from, to, selection, cardinality, counts);
  }
  if (selection != 0) countSelected<u8>(codes, from, to, selection, cardinality, counts);
  else if (cardinality <= pairedMax && rows >= 4 * cardinality * cardinality)
    countPairs(codes + from, rows, cardinality, counts);
  else if (rows >= 1024) countBytes(codes + from, rows, cardinality, counts);
  else countInto<u8>(codes + from, rows, counts);
}

function count16(codes: usize, from: u32, to: u32, selection: usize, cardinality: u32, counts: usize): void {
  if (selection != 0) return countSelected<u16>(codes, from, to, selection, cardinality, counts);
  const at = codes + ((<usize>from) << 1);
  const rows = to - from;
  if (cardinality > tabledMax || rows < 2 * cardinality) return countInto<u16>(at, rows, counts);
  clearTables(cardinality);
  const end = at + ((<usize>(rows & ~7)) << 1);
  for (let p = at; p < end; ) {
    fetchPage(p, end);
    for (const strip = min(pageEnd(p), end); p < strip; p += 16) {
      const places = i16x8.shl(v128.load(p), 2);
      countFour(i64x2.extract_lane(places, 0));
      countFour(i64x2.extract_lane(places, 1));
    }
  }
  countInto<u16>(end, rows & 7, table0);
  addTables(cardinality, counts);
}

function count32(codes: usize, from: u32, to: u32, selection: usize, cardinality: u32, counts: usize): void {
  if (selection != 0) return countSelected<u32>(codes, from, to, selection, cardinality, counts);
  const at = codes + ((<usize>from) << 2);
  const rows = to - from;
  if (cardinality > tabledMax || rows < 2 * cardinality) return countInto<u32>(at, rows, counts);
  clearTables(cardinality);
  const end = at + ((<usize>(rows & ~3)) << 2);
  for (let p = at; p < end; ) {
    fetchPage(p, end);
    for (const strip = min(pageEnd(p), end); p < strip; p += 16) {
      increment0((<usize>load<u32>(p)) << 2);
      increment1((<usize>load<u32>(p, 4)) << 2);
      increment2((<usize>load<u32>(p, 8)) << 2);
      increment3((<usize>load<u32>(p, 12)) << 2);
    }
  }
  countInto<u32>(end, rows & 3, table0);
  addTables(cardinality, counts);
}

/** Counts codes of any width in one table. */
@inline
function countInto<T>(codes: usize, rows: u32, counts: usize): void {
  const end = codes + <usize>rows * sizeof<T>();
  for (; codes < end; codes += sizeof<T>()) increment(counts + ((<usize>load<T>(codes)) << 2));
}

/** Counts codes of 8 bits in four tables. */
function countBytes(codes: usize, rows: u32, cardinality: u32, counts: usize): void {
  clearTables(256);
  const end = codes + (rows & ~7);
  while (codes < end) {
    fetchPage(codes, end);
    for (const strip = min(pageEnd(codes), end); codes < strip; codes += 8) {
      const eight = load<u64>(codes);
      increment0(<usize>(eight << 2) & 1020);
      increment1(<usize>(eight >> 6) & 1020);
      increment2(<usize>(eight >> 14) & 1020);
      increment3(<usize>(eight >> 22) & 1020);
      increment0(<usize>(eight >> 30) & 1020);
      increment1(<usize>(eight >> 38) & 1020);
      increment2(<usize>(eight >> 46) & 1020);
      increment3(<usize>(eight >> 54) & 1020);
    }
  }
  countInto<u8>(end, rows & 7, table0);
  addTables(cardinality, counts);
}

/** Counts pairs of neighbouring codes. The counter of a pair has the index second × stride + first. */
function countPairs(codes: usize, rows: u32, cardinality: u32, counts: usize): void {
  const stride = (cardinality + 3) & ~3;
  const bytes = (<usize>(cardinality * stride)) << 2;
  memory.fill(table0, 0, bytes);
  memory.fill(table1, 0, bytes);
  const factor = i16x8.splat(<i16>(stride << 2));
  const low = i16x8.splat(1020);
  const end = codes + (rows & ~15);
  while (codes < end) {
    fetchPage(codes, end);
    for (const strip = min(pageEnd(codes), end); codes < strip; codes += 16) {
      const pairs = v128.load(codes);
      const places = i16x8.add(i16x8.mul(i16x8.shr_u(pairs, 8), factor), v128.and(i16x8.shl(pairs, 2), low));
      countTwice(i64x2.extract_lane(places, 0));
      countTwice(i64x2.extract_lane(places, 1));
    }
  }
  addPairs(cardinality, stride, counts);
  countInto<u8>(end, rows & 15, counts);
}

/**
 * Adds the counter of each pair to the count of the pair's first code (the column) and to that of its second code (the
 * row).
 */
function addPairs(cardinality: u32, stride: u32, counts: usize): void {
  const rowBytes = (<usize>stride) << 2;
  memory.fill(rowTable, 0, rowBytes);
  let at: usize = 0;
  for (let second: u32 = 0; second < cardinality; second++) {
    let sums = i32x4.splat(0);
    for (let column: usize = 0; column < rowBytes; column += 16, at += 16) {
      const pairs = i32x4.add(v128.load(at, table0), v128.load(at, table1));
      v128.store(column, i32x4.add(v128.load(column, rowTable), pairs), rowTable);
      sums = i32x4.add(sums, pairs);
    }
    addTo(counts + ((<usize>second) << 2), sumOfLanes(sums));
  }
  for (let first: usize = 0; first < (<usize>cardinality) << 2; first += 4)
    addTo(counts + first, load<u32>(first, rowTable));
}

/** Returns whether so many rows are selected that reading all rows is less work than iterating over the set bits. */
function isDense(selection: usize, from: u32, to: u32): bool {
  let rows: u64 = 0;
  for (let row = from & ~7; row < to; row += 64) rows += popcnt(bitsFrom(selection, row, to));
  return rows * 3 >= <u64>(to - from);
}

/**
 * Counts the selected rows of at most 16 codes by comparing whole vectors. An excluded row is read as code 255. This
 * works for whole words of the selection; rows before the first and after the last whole word are counted one by one.
 */
function compareSelected(
  codes: usize,
  from: u32,
  to: u32,
  selection: usize,
  cardinality: u32,
  counts: usize,
): void {
  const begin = min((from + 63) & ~63, to);
  const end = max(to & ~63, begin);
  countSelected<u8>(codes, from, begin, selection, cardinality, counts);
  countSelected<u8>(codes, end, to, selection, cardinality, counts);
  for (let block = begin; block < end; block += 63 * 64) {
    const stop = min(block + 63 * 64, end);
    for (let code: u32 = 0; code < cardinality; code += 4) {
      compareSelectedPass(codes, block, stop, selection, code, cardinality, counts);
    }
  }
}

/**
 * Counts the selected rows of four codes, beginning with `code`. Each of 16 lanes sums in one byte and gets at most 4
 * rows of a word, so a pass has at most 63 words of 64 rows (252 rows in a lane).
 */
function compareSelectedPass(
  codes: usize,
  from: u32,
  to: u32,
  selection: usize,
  code: u32,
  cardinality: u32,
  counts: usize,
): void {
  const code0 = i8x16.splat(<i8>code);
  const code1 = i8x16.splat(<i8>(code + 1));
  const code2 = i8x16.splat(<i8>(code + 2));
  const code3 = i8x16.splat(<i8>(code + 3));
  let sum0 = i8x16.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  for (let row = from; row < to; row += 64) {
    const word = selection + (row >> 3);
    if (load<u64>(word) == 0) continue;
    for (let i: u32 = 0; i < 64; i += 16) {
      const lanes = v128.or(v128.load(codes + row + i), v128.not(laneMask(word + (i >> 3))));
      sum0 = i8x16.sub(sum0, i8x16.eq(lanes, code0));
      sum1 = i8x16.sub(sum1, i8x16.eq(lanes, code1));
      sum2 = i8x16.sub(sum2, i8x16.eq(lanes, code2));
      sum3 = i8x16.sub(sum3, i8x16.eq(lanes, code3));
    }
  }
  const at = counts + ((<usize>code) << 2);
  const left = cardinality - code;
  addTo(at, sumOfBytes(sum0));
  if (left > 1) addTo(at + 4, sumOfBytes(sum1));
  if (left > 2) addTo(at + 8, sumOfBytes(sum2));
  if (left > 3) addTo(at + 12, sumOfBytes(sum3));
}

/** Widens 16 bits to 16 bytes, all ones where the bit is set. */
@inline
function laneMask(bits: usize): v128 {
  const spread = i8x16.swizzle(
    v128.load16_splat(bits),
    i8x16(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
  );
  const bit = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
  return i8x16.eq(v128.and(spread, bit), bit);
}

/**
 * Counts the selected rows by iterating over the set bits. Successive rows go to two tables in turn, unless there are
 * too many codes or too few rows for the tables to pay off.
 */
function countSelected<T>(
  codes: usize,
  from: u32,
  to: u32,
  selection: usize,
  cardinality: u32,
  counts: usize,
): void {
  const tabled = cardinality <= tabledMax && to - from >= 2 * cardinality;
  if (tabled) clearTables(cardinality);
  let here = tabled ? table0 : counts;
  let there = tabled ? table1 : counts;
  for (let row = from & ~7; row < to; row += 64) {
    let bits = bitsFrom(selection, row, to);
    if (row < from) bits &= ~(<u64>0) << (from - row);
    const word = codes + <usize>row * sizeof<T>();
    for (; bits != 0; bits &= bits - 1) {
      increment(here + ((<usize>load<T>(word + <usize>ctz(bits) * sizeof<T>())) << 2));
      const other = there;
      there = here;
      here = other;
    }
  }
  if (tabled) addTables(cardinality, counts);
}

@inline
function increment(at: usize): void {
  store<u32>(at, load<u32>(at) + 1);
}

/**
 * Increments a counter of the first table. The table's address is a constant of the instruction, so adding it costs no
 * cycle.
 */
@inline
function increment0(at: usize): void {
  store<u32>(at, load<u32>(at, table0) + 1, table0);
}

@inline
function increment1(at: usize): void {
  store<u32>(at, load<u32>(at, table1) + 1, table1);
}

@inline
function increment2(at: usize): void {
  store<u32>(at, load<u32>(at, table2) + 1, table2);
}

@inline
function increment3(at: usize): void {
  store<u32>(at, load<u32>(at, table3) + 1, table3);
}

/** Increments four counters at offsets of 16 bits, one in each table. */
@inline
function countFour(places: u64): void {
  increment0(<usize>(places & 0xffff));
  increment1(<usize>((places >> 16) & 0xffff));
  increment2(<usize>((places >> 32) & 0xffff));
  increment3(<usize>(places >> 48));
}

/** Increments four counters at offsets of 16 bits, two in each of two tables. */
@inline
function countTwice(places: u64): void {
  increment0(<usize>(places & 0xffff));
  increment1(<usize>((places >> 16) & 0xffff));
  increment0(<usize>((places >> 32) & 0xffff));
  increment1(<usize>(places >> 48));
}

function clearTables(cardinality: u32): void {
  const bytes = (<usize>cardinality) << 2;
  for (let i: usize = 0; i < 4; i++) memory.fill(table0 + i * tableStride, 0, bytes);
}

function addTables(cardinality: u32, counts: usize): void {
  for (let i: usize = 0; i < (<usize>cardinality) << 2; i += 4) {
    addTo(
      counts + i,
      load<u32>(i, table0) + load<u32>(i, table1) + load<u32>(i, table2) + load<u32>(i, table3),
    );
  }
}

@inline
function addTo(at: usize, rows: u32): void {
  store<u32>(at, load<u32>(at) + rows);
}

/** totals += counts, as float64. */
export function addCounts(counts: usize, groups: u32, totals: usize): void {
  for (; groups > 0; groups--, counts += 4, totals += 8)
    store<f64>(totals, load<f64>(totals) + <f64>load<u32>(counts));
}

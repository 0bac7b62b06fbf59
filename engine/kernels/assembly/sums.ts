/** The sum, the least and the greatest value of each group. */
import { bitsFrom } from "./lanes.ts";
import { table0, table1, table2, table3, tableStride } from "./layout.ts";
import { fetchPage } from "./page.ts";

/** Up to this many groups have tables of their own, as in `counts.ts`. */
const tabledMax: u32 = 2048;

/**
 * Adds each selected row's value to the sum of its group. Partial sums are made in tables, so rounding differs from
 * that of a plain loop.
 */
export function sumGroups(
  groups: usize,
  width: u32,
  values: usize,
  rows: u32,
  selection: usize,
  count: u32,
  sums: usize,
): void {
  const tabled = count <= tabledMax && rows >= 2 * count;
  if (tabled)
    for (let i: usize = 0; i < 4; i++) memory.fill(table0 + i * tableStride, 0, (<usize>count) << 3);
  const first = tabled ? table0 : sums;
  const stride = tabled ? tableStride : 0;
  if (width == 1) sumInto<u8>(groups, values, rows, selection, first, stride);
  else if (width == 2) sumInto<u16>(groups, values, rows, selection, first, stride);
  else sumInto<u32>(groups, values, rows, selection, first, stride);
  if (tabled) addTables(count, sums);
}

@inline
function sumInto<T>(
  groups: usize,
  values: usize,
  rows: u32,
  selection: usize,
  table: usize,
  stride: usize,
): void {
  if (selection != 0) return sumSelected<T>(groups, values, rows, selection, table, stride);
  const end = values + ((<usize>(rows & ~3)) << 3);
  const stop = values + ((<usize>rows) << 3);
  const second = table + stride;
  const third = second + stride;
  const fourth = third + stride;
  for (; values < end; values += 32, groups += 4 * sizeof<T>()) {
    if ((values & 4095) < 32) fetchPage(values, end);
    add(table + ((<usize>load<T>(groups)) << 3), load<f64>(values));
    add(second + ((<usize>load<T>(groups, sizeof<T>())) << 3), load<f64>(values, 8));
    add(third + ((<usize>load<T>(groups, 2 * sizeof<T>())) << 3), load<f64>(values, 16));
    add(fourth + ((<usize>load<T>(groups, 3 * sizeof<T>())) << 3), load<f64>(values, 24));
  }
  for (; values < stop; values += 8, groups += sizeof<T>())
    add(table + ((<usize>load<T>(groups)) << 3), load<f64>(values));
}

@inline
function sumSelected<T>(
  groups: usize,
  values: usize,
  rows: u32,
  selection: usize,
  table: usize,
  stride: usize,
): void {
  let here = table;
  let there = table + stride;
  for (let row: u32 = 0; row < rows; row += 64, values += 512, groups += 64 * sizeof<T>()) {
    for (let bits = bitsFrom(selection, row, rows); bits != 0; bits &= bits - 1) {
      const i = <usize>ctz(bits);
      add(here + ((<usize>load<T>(groups + i * sizeof<T>())) << 3), load<f64>(values + (i << 3)));
      const other = there;
      there = here;
      here = other;
    }
  }
}

@inline
function add(at: usize, value: f64): void {
  store<f64>(at, load<f64>(at) + value);
}

function addTables(count: u32, sums: usize): void {
  for (let i: usize = 0; i < (<usize>count) << 3; i += 8) {
    add(
      sums + i,
      load<f64>(i, table0) + load<f64>(i, table1) + (load<f64>(i, table2) + load<f64>(i, table3)),
    );
  }
}

/** Lowers each group's entry to the least of its values. */
export function leastOfGroups(
  groups: usize,
  width: u32,
  values: usize,
  rows: u32,
  selection: usize,
  least: usize,
): void {
  if (width == 1) extremes<u8>(false, groups, values, rows, selection, least);
  else if (width == 2) extremes<u16>(false, groups, values, rows, selection, least);
  else extremes<u32>(false, groups, values, rows, selection, least);
}

/** Raises each group's entry to the greatest of its values. */
export function greatestOfGroups(
  groups: usize,
  width: u32,
  values: usize,
  rows: u32,
  selection: usize,
  greatest: usize,
): void {
  if (width == 1) extremes<u8>(true, groups, values, rows, selection, greatest);
  else if (width == 2) extremes<u16>(true, groups, values, rows, selection, greatest);
  else extremes<u32>(true, groups, values, rows, selection, greatest);
}

/** A new extreme is rare, so the processor predicts the branch, and most rows store nothing. */
@inline
function extremes<T>(
  greatest: bool,
  groups: usize,
  values: usize,
  rows: u32,
  selection: usize,
  out: usize,
): void {
  if (selection == 0) {
    for (const end = values + ((<usize>rows) << 3); values < end; values += 8, groups += sizeof<T>()) {
      if ((values & 4095) == 0) fetchPage(values, end);
      extreme(greatest, out + ((<usize>load<T>(groups)) << 3), load<f64>(values));
    }
    return;
  }
  for (let row: u32 = 0; row < rows; row += 64, values += 512, groups += 64 * sizeof<T>()) {
    for (let bits = bitsFrom(selection, row, rows); bits != 0; bits &= bits - 1) {
      const i = <usize>ctz(bits);
      extreme(
        greatest,
        out + ((<usize>load<T>(groups + i * sizeof<T>())) << 3),
        load<f64>(values + (i << 3)),
      );
    }
  }
}

@inline
function extreme(greatest: bool, at: usize, value: f64): void {
  const known = load<f64>(at);
  if (greatest ? value > known : value < known) store<f64>(at, value);
}

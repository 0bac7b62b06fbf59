/**
 * Kernels of grouping: they make group numbers by adding a base to codes, and mark which pairs of group and code occur.
 */
import { bitsFrom } from "./lanes.ts";

/** raised[row] := codes[row] + base, 32 bits each. */
export function raiseCodes(codes: usize, width: u32, rows: u32, base: u32, raised: usize): void {
  if (width == 1) raiseInto<u8>(codes, rows, base, raised);
  else if (width == 2) raiseInto<u16>(codes, rows, base, raised);
  else raiseInto<u32>(codes, rows, base, raised);
}

@inline
function raiseInto<T>(codes: usize, rows: u32, base: u32, raised: usize): void {
  const bases = i32x4.splat(base);
  for (; rows >= 4; rows -= 4, codes += 4 * sizeof<T>(), raised += 16) {
    v128.store(raised, i32x4.add(fourOf<T>(codes), bases));
  }
  for (; rows > 0; rows--, codes += sizeof<T>(), raised += 4)
    store<u32>(raised, <u32>load<T>(codes) + base);
}

/** Loads four codes as lanes of 32 bits. */
@inline
function fourOf<T>(codes: usize): v128 {
  if (sizeof<T>() == 1) return i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(v128.load32_zero(codes)));
  if (sizeof<T>() == 2) return v128.load_ext<u16>(codes);
  return v128.load(codes);
}

/**
 * Sets marks[group × codeCount + code] to 1 for the group and the code of each selected row. A selection of 0 selects
 * all rows.
 */
export function markPairs(
  groups: usize,
  groupWidth: u32,
  codes: usize,
  codeWidth: u32,
  rows: u32,
  selection: usize,
  codeCount: u32,
  marks: usize,
): void {
  if (groupWidth == 1) markWith<u8>(groups, codes, codeWidth, rows, selection, codeCount, marks);
  else if (groupWidth == 2) markWith<u16>(groups, codes, codeWidth, rows, selection, codeCount, marks);
  else markWith<u32>(groups, codes, codeWidth, rows, selection, codeCount, marks);
}

@inline
function markWith<G>(
  groups: usize,
  codes: usize,
  codeWidth: u32,
  rows: u32,
  selection: usize,
  codeCount: u32,
  marks: usize,
): void {
  if (codeWidth == 1) markBoth<G, u8>(groups, codes, rows, selection, codeCount, marks);
  else if (codeWidth == 2) markBoth<G, u16>(groups, codes, rows, selection, codeCount, marks);
  else markBoth<G, u32>(groups, codes, rows, selection, codeCount, marks);
}

@inline
function markBoth<G, C>(
  groups: usize,
  codes: usize,
  rows: u32,
  selection: usize,
  codeCount: u32,
  marks: usize,
): void {
  if (selection == 0) {
    const end = codes + <usize>rows * sizeof<C>();
    for (; codes < end; codes += sizeof<C>(), groups += sizeof<G>()) {
      store<u8>(marks + <usize>load<G>(groups) * codeCount + <usize>load<C>(codes), 1);
    }
    return;
  }
  for (let row: u32 = 0; row < rows; row += 64, codes += 64 * sizeof<C>(), groups += 64 * sizeof<G>()) {
    for (let bits = bitsFrom(selection, row, rows); bits != 0; bits &= bits - 1) {
      const i = <usize>ctz(bits);
      const group = <usize>load<G>(groups + i * sizeof<G>());
      store<u8>(marks + group * codeCount + <usize>load<C>(codes + i * sizeof<C>()), 1);
    }
  }
}

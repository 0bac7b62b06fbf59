/**
 * Combines two vectors of codes into group numbers: out[row] := a[row] × cardinality of b + b[row]. Widths are bytes
 * per code.
 */

export function combine(
  a: usize,
  aWidth: u32,
  b: usize,
  bWidth: u32,
  rows: u32,
  cardinality: u32,
  out: usize,
  outWidth: u32,
): void {
  if (aWidth == 1) combineWith<u8>(a, b, bWidth, rows, cardinality, out, outWidth);
  else if (aWidth == 2) combineWith<u16>(a, b, bWidth, rows, cardinality, out, outWidth);
  else combineWith<u32>(a, b, bWidth, rows, cardinality, out, outWidth);
}

@inline
function combineWith<A>(
  a: usize,
  b: usize,
  bWidth: u32,
  rows: u32,
  cardinality: u32,
  out: usize,
  outWidth: u32,
): void {
  if (bWidth == 1) combineBoth<A, u8>(a, b, rows, cardinality, out, outWidth);
  else if (bWidth == 2) combineBoth<A, u16>(a, b, rows, cardinality, out, outWidth);
  else combineBoth<A, u32>(a, b, rows, cardinality, out, outWidth);
}

@inline
function combineBoth<A, B>(a: usize, b: usize, rows: u32, cardinality: u32, out: usize, outWidth: u32): void {
  if (outWidth == 1) combineInto<A, B, u8>(a, b, rows, cardinality, out);
  else if (outWidth == 2) combineInto<A, B, u16>(a, b, rows, cardinality, out);
  else combineInto<A, B, u32>(a, b, rows, cardinality, out);
}

@inline
function combineInto<A, B, Out>(a: usize, b: usize, rows: u32, cardinality: u32, out: usize): void {
  const factor = i32x4.splat(cardinality);
  for (; rows >= 8; rows -= 8, a += 8 * sizeof<A>(), b += 8 * sizeof<B>(), out += 8 * sizeof<Out>()) {
    const low = i32x4.add(i32x4.mul(low4<A>(a), factor), low4<B>(b));
    const high = i32x4.add(i32x4.mul(high4<A>(a), factor), high4<B>(b));
    storeLanes<Out>(out, low, high);
  }
  for (; rows > 0; rows--, a += sizeof<A>(), b += sizeof<B>(), out += sizeof<Out>()) {
    store<Out>(out, <Out>(<u32>load<A>(a) * cardinality + <u32>load<B>(b)));
  }
}

/** The first four of eight codes as lanes of 32 bits. */
@inline
function low4<T>(codes: usize): v128 {
  if (sizeof<T>() == 1) return i32x4.extend_low_i16x8_u(v128.load_ext<u8>(codes));
  if (sizeof<T>() == 2) return v128.load_ext<u16>(codes);
  return v128.load(codes);
}

/** The last four of eight codes as lanes of 32 bits. */
@inline
function high4<T>(codes: usize): v128 {
  if (sizeof<T>() == 1) return i32x4.extend_high_i16x8_u(v128.load_ext<u8>(codes));
  if (sizeof<T>() == 2) return v128.load_ext<u16>(codes, 8);
  return v128.load(codes, 16);
}

/** Stores eight numbers of 32 bits, narrowed to the width of T. */
@inline
function storeLanes<T>(out: usize, low: v128, high: v128): void {
  if (sizeof<T>() == 4) {
    v128.store(out, low);
    v128.store(out, high, 16);
    return;
  }
  const halves = i16x8.narrow_i32x4_u(low, high);
  if (sizeof<T>() == 2) v128.store(out, halves);
  else v128.store64_lane(out, i8x16.narrow_i16x8_u(halves, halves), 0);
}

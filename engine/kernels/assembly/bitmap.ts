/** Bitmap operations: least significant bit first, bits past the last row zero. */

export function and(a: usize, b: usize, bytes: u32): void {
  const end = a + (bytes & ~15);
  for (; a < end; a += 16, b += 16) v128.store(a, v128.and(v128.load(a), v128.load(b)));
  for (const stop = end + (bytes & 15); a < stop; a++, b++) store<u8>(a, load<u8>(a) & load<u8>(b));
}

export function or(a: usize, b: usize, bytes: u32): void {
  const end = a + (bytes & ~15);
  for (; a < end; a += 16, b += 16) v128.store(a, v128.or(v128.load(a), v128.load(b)));
  for (const stop = end + (bytes & 15); a < stop; a++, b++) store<u8>(a, load<u8>(a) | load<u8>(b));
}

export function andNot(a: usize, b: usize, bytes: u32): void {
  const end = a + (bytes & ~15);
  for (; a < end; a += 16, b += 16) v128.store(a, v128.andnot(v128.load(a), v128.load(b)));
  for (const stop = end + (bytes & 15); a < stop; a++, b++) store<u8>(a, load<u8>(a) & ~load<u8>(b));
}

export function not(a: usize, rows: u32): void {
  const bytes = (rows + 7) >> 3;
  const end = a + (bytes & ~15);
  for (; a < end; a += 16) v128.store(a, v128.not(v128.load(a)));
  for (const stop = end + (bytes & 15); a < stop; a++) store<u8>(a, ~load<u8>(a));
  const tail = <u8>(rows & 7);
  if (tail != 0) store<u8>(a - 1, load<u8>(a - 1) & (((<u8>1) << tail) - 1));
}

export function count(a: usize, bytes: u32): u32 {
  const end = a + (bytes & ~31);
  let bits: u64 = 0;
  for (; a < end; a += 32) {
    bits +=
      popcnt(load<u64>(a)) + popcnt(load<u64>(a, 8)) + popcnt(load<u64>(a, 16)) + popcnt(load<u64>(a, 24));
  }
  for (const stop = end + (bytes & 31); a < stop; a++) bits += popcnt(<u64>load<u8>(a));
  return <u32>bits;
}

export function any(a: usize, bytes: u32): bool {
  const end = a + (bytes & ~63);
  for (; a < end; a += 64) {
    const low = v128.or(v128.load(a), v128.load(a, 16));
    const high = v128.or(v128.load(a, 32), v128.load(a, 48));
    if (v128.any_true(v128.or(low, high))) return true;
  }
  for (const stop = end + (bytes & 63); a < stop; a++) if (load<u8>(a) != 0) return true;
  return false;
}

/** Writes the numbers of the rows whose bits are set, from row `from` on, until `max` are written; returns how many. */
export function expand(bitmap: usize, from: u32, rows: u32, out: usize, max: u32): u32 {
  const begin = out;
  const end = out + ((<usize>max) << 2);
  for (let base = from & ~63; base < rows && out < end; base += 64) {
    let bits = load<u64>(bitmap + (base >> 3));
    if (rows - base < 64) bits &= ((<u64>1) << (rows - base)) - 1;
    if (base < from) bits &= ~(<u64>0) << (from - base);
    if (bits == ~(<u64>0) && end - out >= 256) {
      for (let row = i32x4.add(i32x4.splat(base), i32x4(0, 1, 2, 3)), i = 0; i < 16; i++, out += 16) {
        v128.store(out, row);
        row = i32x4.add(row, i32x4.splat(4));
      }
    } else {
      for (; bits != 0 && out < end; bits &= bits - 1, out += 4) store<u32>(out, base + <u32>ctz(bits));
    }
  }
  return <u32>((out - begin) >> 2);
}

/** Rows of text: row i lies between offsets i and i + 1. */

/**
 * The row that has the byte at `place`; it is not before row `from`. Galloping search: steps double, then bisection.
 */
export function rowOf(offsets: usize, rows: u32, from: u32, place: u32): u32 {
  if (offsetOf(offsets, from + 1) > place) return from;
  let low = from + 1;
  let step: u32 = 1;
  while (low + step < rows && offsetOf(offsets, low + step) <= place) {
    low += step;
    step <<= 1;
  }
  let high = min(low + step, rows);
  while (high - low > 1) {
    const middle = low + ((high - low) >> 1);
    if (offsetOf(offsets, middle) <= place) low = middle;
    else high = middle;
  }
  return low;
}

@inline
export function offsetOf(offsets: usize, index: u32): u32 {
  return load<u32>(offsets + ((<usize>index) << 2));
}

@inline
export function setRowBit(bitmap: usize, row: u32): void {
  const at = bitmap + (row >> 3);
  store<u8>(at, load<u8>(at) | ((<u8>1) << (<u8>(row & 7))));
}

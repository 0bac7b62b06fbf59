/**
 * Numbers out of byte streams: of numbers of `width` bytes, a stream holds the same byte of each, the first stream the
 * lowest. `stride` is the distance between two streams.
 */

/** values[row] := base + the number of the row. */
export function joinIntegers(
  streams: usize,
  stride: u32,
  width: u32,
  rows: u32,
  base: f64,
  values: usize,
): void {
  if (width == 0) joinIntegersOf(0, streams, stride, rows, base, values);
  else if (width == 1) joinIntegersOf(1, streams, stride, rows, base, values);
  else if (width == 2) joinIntegersOf(2, streams, stride, rows, base, values);
  else if (width == 3) joinIntegersOf(3, streams, stride, rows, base, values);
  else if (width == 4) joinIntegersOf(4, streams, stride, rows, base, values);
  else if (width == 5) joinIntegersOf(5, streams, stride, rows, base, values);
  else if (width == 6) joinIntegersOf(6, streams, stride, rows, base, values);
  else joinIntegersOf(7, streams, stride, rows, base, values);
}

@inline
function joinIntegersOf(
  width: u32,
  streams: usize,
  stride: usize,
  rows: u32,
  base: f64,
  values: usize,
): void {
  for (const end = streams + rows; streams < end; streams++, values += 8) {
    store<f64>(values, base + <f64>numberAt(width, streams, stride));
  }
}

/**
 * values[row] := the value before + step + the difference of the row × unit, where the streams hold differences in
 * zigzag encoding. `last` is the value before the first row. Returns the last value.
 */
export function joinDeltas(
  streams: usize,
  stride: u32,
  width: u32,
  rows: u32,
  last: f64,
  step: f64,
  unit: f64,
  values: usize,
): f64 {
  if (width == 0) return joinDeltasOf(0, streams, stride, rows, last, step, unit, values);
  if (width == 1) return joinDeltasOf(1, streams, stride, rows, last, step, unit, values);
  if (width == 2) return joinDeltasOf(2, streams, stride, rows, last, step, unit, values);
  if (width == 3) return joinDeltasOf(3, streams, stride, rows, last, step, unit, values);
  if (width == 4) return joinDeltasOf(4, streams, stride, rows, last, step, unit, values);
  if (width == 5) return joinDeltasOf(5, streams, stride, rows, last, step, unit, values);
  if (width == 6) return joinDeltasOf(6, streams, stride, rows, last, step, unit, values);
  return joinDeltasOf(7, streams, stride, rows, last, step, unit, values);
}

@inline
function joinDeltasOf(
  width: u32,
  streams: usize,
  stride: usize,
  rows: u32,
  last: f64,
  step: f64,
  unit: f64,
  values: usize,
): f64 {
  for (const end = streams + rows; streams < end; streams++, values += 8) {
    const zigzag = <i64>numberAt(width, streams, stride);
    last += step + <f64>((zigzag >> 1) ^ -(zigzag & 1)) * unit;
    store<f64>(values, last);
  }
  return last;
}

/** Writes numbers of `width` bytes, 2 or 4, one after the other. */
export function joinCodes(streams: usize, stride: u32, width: u32, rows: u32, codes: usize): void {
  const end = streams + rows;
  if (width == 2) {
    for (; streams < end; streams++, codes += 2)
      store<u16>(codes, <u16>numberAt(2, streams, stride));
  } else {
    for (; streams < end; streams++, codes += 4)
      store<u32>(codes, <u32>numberAt(4, streams, stride));
  }
}

/** The number of a row of up to seven bytes, the lowest of which is at `at`. */
@inline
export function numberAt(width: u32, at: usize, stride: usize): u64 {
  let number: u64 = width > 0 ? load<u8>(at) : 0;
  if (width > 1) number |= (<u64>load<u8>(at + stride)) << 8;
  if (width > 2) number |= (<u64>load<u8>(at + 2 * stride)) << 16;
  if (width > 3) number |= (<u64>load<u8>(at + 3 * stride)) << 24;
  if (width > 4) number |= (<u64>load<u8>(at + 4 * stride)) << 32;
  if (width > 5) number |= (<u64>load<u8>(at + 5 * stride)) << 40;
  if (width > 6) number |= (<u64>load<u8>(at + 6 * stride)) << 48;
  return number;
}

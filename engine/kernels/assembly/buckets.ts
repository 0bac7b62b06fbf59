/** Time buckets: numbers of the equal intervals that times fall into. */

/** out[i] := the number of whole widths from the start to the time, clamped to 32 bits. */
export function bucketsOf(times: usize, rows: u32, start: f64, width: f64, out: usize): void {
  const starts = f64x2.splat(start);
  const widths = f64x2.splat(width);
  const end = times + ((<usize>(rows & ~3)) << 3);
  for (; times < end; times += 32, out += 16) {
    const low = i32x4.trunc_sat_f64x2_u_zero(f64x2.div(f64x2.sub(v128.load(times), starts), widths));
    const high = i32x4.trunc_sat_f64x2_u_zero(f64x2.div(f64x2.sub(v128.load(times, 16), starts), widths));
    v128.store(out, v128.shuffle<i32>(low, high, 0, 1, 4, 5));
  }
  for (const stop = end + ((<usize>(rows & 3)) << 3); times < stop; times += 8, out += 4) {
    store<u32>(out, <u32>((load<f64>(times) - start) / width));
  }
}

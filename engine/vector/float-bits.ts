/** The bits of float64 values as 32-bit words. */
/** A view of the values: the low and the high half of each value's bits, in turn. */
export function toBitWords(values: Float64Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** The low and the high half of each value's bits. */
export function toWords(values: Float64Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
}

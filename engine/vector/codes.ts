/** Vectors of dictionary codes. */

/** A code per row, of 1, 2 or 4 bytes each. */
export type Codes = Uint8Array | Uint16Array | Uint32Array;

/** A view of the bytes as codes of `width` bytes (1, 2 or 4); nothing is copied. */
export function viewAsCodes(bytes: Uint8Array, width: number): Codes {
  if (width === 1) return bytes;
  const { buffer, byteOffset, byteLength } = bytes;
  return width === 2
    ? new Uint16Array(buffer, byteOffset, byteLength >> 1)
    : new Uint32Array(buffer, byteOffset, byteLength >> 2);
}

/** Vectors of dictionary codes. */

/** A code per row, of 1, 2 or 4 bytes each. */
export type Codes = Uint8Array | Uint16Array | Uint32Array;

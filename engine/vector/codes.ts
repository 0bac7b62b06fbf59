import { uint32Of } from "../files/payload.ts";

export type Codes = Uint8Array | Uint16Array | Uint32Array;

/** Codes of 1, 2 or 4 bytes that lie on these. */
export function codesOfWidth(bytes: Uint8Array, width: number): Codes {
  if (width === 1) return bytes;
  return width === 2
    ? new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1)
    : uint32Of(bytes);
}

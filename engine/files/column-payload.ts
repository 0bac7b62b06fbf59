/**
 * The payload of one column: a header and buffers. Each buffer is padded to 8 bytes, so that typed arrays can view it
 * in place.
 *
 *  offset  size  what (integers little-endian)
 *       0     1  encoding
 *       1     1  width: bytes of a code, delta or id; depends on the encoding
 *       2     2  flags: 1 = buffer 0 is a validity bitmap
 *       4     4  rows
 *       8     4  number of buffers
 *      12     4  zero
 *      16    4n  length of each buffer in bytes, then zeros up to the next multiple of 8
 *       …        the buffers
 */
import { Failure } from "../failure.ts";

export interface Payload {
  encoding: number;
  width: number;
  hasValidity: boolean;
  rows: number;
  buffers: Uint8Array[];
}

const headerBytes = 16;

export function writePayload(payload: Payload): Uint8Array {
  const lengthsEnd = headerBytes + align8(payload.buffers.length * 4);
  const byteLength = payload.buffers.reduce((sum, buffer) => sum + align8(buffer.byteLength), lengthsEnd);
  const bytes = new Uint8Array(byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, payload.encoding);
  view.setUint8(1, payload.width);
  view.setUint16(2, payload.hasValidity ? 1 : 0, true);
  view.setUint32(4, payload.rows, true);
  view.setUint32(8, payload.buffers.length, true);
  let at = lengthsEnd;
  for (const [i, buffer] of payload.buffers.entries()) {
    view.setUint32(headerBytes + i * 4, buffer.byteLength, true);
    bytes.set(buffer, at);
    at += align8(buffer.byteLength);
  }
  return bytes;
}

/**
 * Decodes a payload. Its buffers are views of `stored`, unless that is not aligned to 8 bytes. Throws Failure "damage"
 * where the lengths exceed the bytes.
 */
export function readPayload(stored: Uint8Array): Payload {
  const bytes = stored.byteOffset % 8 === 0 ? stored : stored.slice();
  const { ranges, ...outline } = locateBuffers(bytes, bytes.byteLength);
  return { ...outline, buffers: ranges.map(({ from, to }) => bytes.subarray(from, to)) };
}

/** A payload's header, and where in the payload its buffers are. */
export interface PayloadOutline extends Omit<Payload, "buffers"> {
  ranges: { from: number; to: number }[];
}

/**
 * Reads the beginning of a payload of `byteLength` bytes. Throws Failure "damage" where the lengths exceed them, or the
 * beginning is too short.
 */
export function locateBuffers(head: Uint8Array, byteLength: number): PayloadOutline {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (head.byteLength < headerBytes) throw new Failure("damage", "column: shorter than its header");
  const bufferCount = view.getUint32(8, true);
  let at = headerBytes + align8(bufferCount * 4);
  if (at > head.byteLength) throw new Failure("damage", "column: shorter than its list of buffers");
  const ranges: PayloadOutline["ranges"] = [];
  for (let i = 0; i < bufferCount; i++) {
    const bytes = view.getUint32(headerBytes + i * 4, true);
    if (at + bytes > byteLength) throw new Failure("damage", `column: buffer ${i} passes the end`);
    ranges.push({ from: at, to: at + bytes });
    at += align8(bytes);
  }
  return {
    encoding: view.getUint8(0),
    width: view.getUint8(1),
    hasValidity: (view.getUint16(2, true) & 1) === 1,
    rows: view.getUint32(4, true),
    ranges,
  };
}

export function align8(byteLength: number): number {
  return (byteLength + 7) & ~7;
}

/** The bytes of a typed array, in the same memory. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength);
}

/** The same memory as numbers; `bytes` must be aligned to 4 bytes. */
export function uint32Of(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
}

/** The same memory as numbers; `bytes` must be aligned to 8 bytes. */
export function float64Of(bytes: Uint8Array): Float64Array {
  return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 3);
}

/**
 * The envelope of every value that is stored: it says what the value is and under which key it was written, and
 * carries a checksum, because LMDB has none and a damaged tree page can lead to another key's value.
 *
 *  offset  size  what (integers little-endian)
 *       0     4  magic "SVCF"
 *       4     4  CRC-32 (zlib) of every byte from offset 8 to the end
 *       8     2  length of the key in bytes
 *      10     1  kind (FrameKind)
 *      11     1  codec: 0 stored as it is, 1 zstd
 *      12     4  length of the payload as stored
 *      16     4  length of the payload before the codec
 *      20     4  zero
 *      24     k  key, then zeros up to the next multiple of 8
 *       …     n  payload
 */
import { crc32, constants as zlibConstants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { Failure } from "../failure.ts";

export const frameMagic = Buffer.from("SVCF", "latin1");
export const frameHeaderBytes = 24;

export const FrameKind = {
  column: 1,
  chunkHeader: 2,
  state: 3,
  batch: 4,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface Frame {
  kind: FrameKind;
  key: Uint8Array;
  /** Decoded payload; a view of the stored bytes where the codec is 0. */
  payload: Uint8Array;
}

/** zstd below this many bytes costs more in headers and calls than it saves. */
const compressBytesMin = 256;

export interface FrameOptions {
  /** zstd level; absent stores the payload as it is. Kept only where it saves an eighth or more. */
  zstdLevel?: number;
}

export function writeFrame(
  kind: FrameKind,
  key: Uint8Array,
  payload: Uint8Array,
  options: FrameOptions = {},
): Buffer {
  const packed = packFrame(key.byteLength, payload, options);
  closeFrame(packed, kind, key);
  return packed.frame;
}

/** A frame whose body stands in its place, and nothing before it yet. */
export interface PackedFrame {
  frame: Uint8Array;
  codec: number;
  payloadBytes: number;
}

/** The greater part of the work, for which the key need not be known. */
export function packFrame(
  keyBytes: number,
  payload: Uint8Array,
  options: FrameOptions,
): PackedFrame & { frame: Buffer } {
  let body = payload;
  let codec = 0;
  if (options.zstdLevel !== undefined && payload.byteLength >= compressBytesMin) {
    const packed = zstdCompressSync(payload, {
      params: { [zlibConstants.ZSTD_c_compressionLevel]: options.zstdLevel },
    });
    if (packed.byteLength <= payload.byteLength - (payload.byteLength >> 3)) {
      body = packed;
      codec = 1;
    }
  }
  const frame = Buffer.alloc(frameBytes(keyBytes, body.byteLength));
  frame.set(body, frame.byteLength - body.byteLength);
  return { frame, codec, payloadBytes: payload.byteLength };
}

/** Length of a frame around so many bytes. */
export function frameBytes(keyBytes: number, bodyBytes: number): number {
  return frameHeaderBytes + padded(keyBytes) + bodyBytes;
}

/** Writes what belongs before the body. */
export function closeFrame(packed: PackedFrame, kind: FrameKind, key: Uint8Array): void {
  const { frame, codec, payloadBytes } = packed;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  frame.set(frameMagic, 0);
  view.setUint16(8, key.byteLength, true);
  view.setUint8(10, kind);
  view.setUint8(11, codec);
  view.setUint32(12, frame.byteLength - frameBytes(key.byteLength, 0), true);
  view.setUint32(16, payloadBytes, true);
  frame.set(key, frameHeaderBytes);
  view.setUint32(4, crc32(frame.subarray(8)), true);
}

/** Length of the whole frame that begins at `offset`, or undefined where no frame header stands there whole. */
export function frameBytesAt(bytes: Uint8Array, offset: number): number | undefined {
  if (offset + frameHeaderBytes > bytes.byteLength) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, frameHeaderBytes);
  for (let i = 0; i < 4; i++) if (bytes[offset + i] !== frameMagic[i]) return undefined;
  return frameHeaderBytes + padded(view.getUint16(8, true)) + view.getUint32(12, true);
}

/** The checksum that stands in a frame; it names this version of the value among all that bore its key. */
export function frameChecksum(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset, 8).getUint32(4, true);
}

/** Whether `bytes` are one whole frame with a right checksum. */
export function frameIsWhole(bytes: Uint8Array): boolean {
  return frameBytesAt(bytes, 0) === bytes.byteLength && crc32(bytes.subarray(8)) === frameChecksum(bytes);
}

/**
 * Opens a stored frame. Throws Failure "damage" where the bytes are not the whole frame that was written under `key`.
 * `where` names the value in that message.
 */
export function readFrame(bytes: Uint8Array, key: Uint8Array, kind: FrameKind, where: string): Uint8Array {
  const frame = openFrame(bytes);
  if (frame === undefined) throw new Failure("damage", `${where}: the checksum does not match the bytes`);
  if (frame.kind !== kind || Buffer.compare(frame.key, key) !== 0) {
    throw new Failure("damage", `${where}: another value stands under its key`);
  }
  return frame.payload;
}

/** Payload of an uncompressed frame whose checksum was verified before. */
export function trustedPayload(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frameHeaderBytes);
  return frame.subarray(frameHeaderBytes + padded(view.getUint16(8, true)));
}

/** Opens a frame of any kind and key; undefined where the bytes are not one whole frame. */
export function openFrame(bytes: Uint8Array): Frame | undefined {
  if (!frameIsWhole(bytes)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, frameHeaderBytes);
  const keyBytes = view.getUint16(8, true);
  const body = bytes.subarray(frameHeaderBytes + padded(keyBytes));
  return {
    kind: view.getUint8(10) as FrameKind,
    key: bytes.subarray(frameHeaderBytes, frameHeaderBytes + keyBytes),
    payload: view.getUint8(11) === 1 ? inflate(body, view.getUint32(16, true)) : body,
  };
}

function inflate(body: Uint8Array, rawBytes: number): Uint8Array {
  return zstdDecompressSync(body, { maxOutputLength: Math.max(rawBytes, 1) });
}

function padded(byteLength: number): number {
  return (byteLength + 7) & ~7;
}

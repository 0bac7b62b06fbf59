/**
 * The frame around every stored value. It says what kind of value it is and under which key it was written, and carries
 * a checksum: LMDB has none, and a damaged tree page can lead to another key's value.
 *
 *  offset  size  what (integers little-endian)
 *       0     4  magic "SVCF"
 *       4     4  CRC-32 (zlib) of every byte from offset 8 to the end
 *       8     2  length of the key in bytes
 *      10     1  kind (FrameKind)
 *      11     1  codec: 0 uncompressed, 1 zstd, 2 zstd in blocks (see value-blocks.ts)
 *      12     4  length of the payload as stored
 *      16     4  length of the payload before compression
 *      20     4  zero
 *      24     k  key, then zeros up to the next multiple of 8
 *       …     n  payload
 */
import { crc32 } from "node:zlib";
import { Failure } from "../failure.ts";
import { align8 } from "./column-payload.ts";
import { packBlocks, unpackBlocks } from "./value-blocks.ts";
import { type Compression, compress, decompress, type PayloadAllocator } from "./zstd.ts";

export const frameMagic = Buffer.from("SVCF", "latin1");
export const frameHeaderBytes = 24;

export const FrameKind = { column: 1, chunkHeader: 2, state: 3, batch: 4, templates: 5 } as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface Frame {
  kind: FrameKind;
  key: Uint8Array;
  /** Decompressed; a view of the stored bytes where the codec is 0. */
  payload: Uint8Array;
}

/** Below this many bytes zstd costs more in headers and calls than it saves. */
const compressBytesMin = 256;

const Codec = { none: 0, zstd: 1, blocks: 2 } as const;

/** Whether this build writes frames with this codec byte. */
export function isKnownCodec(codec: number): boolean {
  return (Object.values(Codec) as number[]).includes(codec);
}

export interface FrameOptions {
  /** Absent: no compression. The compressed payload is stored only where it saves an eighth or more. */
  compression?: Compression;
  /** Where in the payload a block begins that can be read without the others. */
  cuts?: readonly number[];
}

export function writeFrame(
  kind: FrameKind,
  key: Uint8Array,
  payload: Uint8Array,
  options: FrameOptions = {},
): Buffer {
  const packed = packFrame(key.byteLength, payload, options);
  completeFrame(packed, kind, key);
  return packed.frame;
}

/** A frame whose payload is in place; `completeFrame` still has to write the header and the key. */
export interface PackedFrame {
  frame: Uint8Array;
  codec: number;
  /** Length of the payload before compression. */
  payloadBytes: number;
}

/** Compresses the payload and leaves room for header and key. Only the key's length has to be known yet. */
export function packFrame(
  keyBytes: number,
  payload: Uint8Array,
  options: FrameOptions,
): PackedFrame & { frame: Buffer } {
  let stored = payload;
  let codec: number = Codec.none;
  const { compression, cuts = [] } = options;
  if (compression !== undefined && payload.byteLength >= compressBytesMin) {
    const isWhole = cuts.length === 0;
    const compressed = isWhole ? compress(payload, compression) : packBlocks(payload, cuts, compression);
    if (compressed.byteLength <= payload.byteLength - (payload.byteLength >> 3)) {
      stored = compressed;
      codec = isWhole ? Codec.zstd : Codec.blocks;
    }
  }
  const frame = Buffer.alloc(frameBytes(keyBytes, stored.byteLength));
  frame.set(stored, frame.byteLength - stored.byteLength);
  return { frame, codec, payloadBytes: payload.byteLength };
}

/** Length of a frame with a key and a stored payload of these lengths. */
export function frameBytes(keyBytes: number, storedBytes: number): number {
  return frameHeaderBytes + align8(keyBytes) + storedBytes;
}

/** Writes the header, the key and, last, the checksum. */
export function completeFrame(packed: PackedFrame, kind: FrameKind, key: Uint8Array): void {
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

/** Whether parts of a frame's payload can be read: see `openBlocks`. */
export function isInBlocks({ codec }: PackedFrame): boolean {
  return codec === Codec.blocks;
}

/** A completed frame, to be completed again under another key of the same length. */
export function reopenFrame(frame: Uint8Array): PackedFrame {
  const view = new DataView(frame.buffer, frame.byteOffset, frameHeaderBytes);
  return { frame, codec: view.getUint8(11), payloadBytes: payloadBytesOf(frame) };
}

/** Length of a frame's payload before compression, as its header says. */
export function payloadBytesOf(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset, frameHeaderBytes).getUint32(16, true);
}

/** Length of the frame whose header is at `offset`, or undefined where there is no complete frame header. */
export function frameBytesAt(bytes: Uint8Array, offset: number): number | undefined {
  if (offset + frameHeaderBytes > bytes.byteLength) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, frameHeaderBytes);
  for (let i = 0; i < 4; i++) if (bytes[offset + i] !== frameMagic[i]) return undefined;
  return frameHeaderBytes + align8(view.getUint16(8, true)) + view.getUint32(12, true);
}

/**
 * The checksum in a frame's header. It identifies this version of the value among all that were written under its key.
 */
export function readFrameChecksum(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset, 8).getUint32(4, true);
}

/** True where `bytes` are exactly one frame and its checksum matches. */
export function isIntactFrame(bytes: Uint8Array): boolean {
  return frameBytesAt(bytes, 0) === bytes.byteLength && crc32(bytes.subarray(8)) === readFrameChecksum(bytes);
}

/** How a frame is read. */
export interface FrameReading {
  /** Where the payload is decompressed to; see `decompress`. */
  allocate?: PayloadAllocator | undefined;
  /** True where `isIntactFrame` has returned true for the bytes: the checksum is not computed again. */
  isIntact?: boolean;
}

/**
 * Returns the decompressed payload of a stored frame. Throws Failure "damage", with `where` as the name of the value,
 * unless the bytes are an intact frame of this kind and key.
 */
export function readFrame(
  bytes: Uint8Array,
  key: Uint8Array,
  kind: FrameKind,
  where: string,
  { allocate, isIntact = false }: FrameReading = {},
): Uint8Array {
  const frame = isIntact || isIntactFrame(bytes) ? openFrame(bytes, allocate) : undefined;
  if (frame === undefined) throw new Failure("damage", `${where}: the checksum does not match the bytes`);
  if (frame.kind !== kind || Buffer.compare(frame.key, key) !== 0) {
    throw new Failure("damage", `${where}: another value stands under its key`);
  }
  return frame.payload;
}

/** Returns the payload of an uncompressed frame without verifying the checksum: the caller has verified it before. */
export function readTrustedPayload(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frameHeaderBytes);
  return frame.subarray(frameHeaderBytes + align8(view.getUint16(8, true)));
}

/** Decodes a frame of any kind and key. Returns undefined where the bytes are not exactly one intact frame. */
export function decodeFrame(bytes: Uint8Array): Frame | undefined {
  return isIntactFrame(bytes) ? openFrame(bytes) : undefined;
}

function openFrame(bytes: Uint8Array, allocate?: PayloadAllocator): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, frameHeaderBytes);
  const keyBytes = view.getUint16(8, true);
  const stored = bytes.subarray(frameHeaderBytes + align8(keyBytes));
  return {
    kind: view.getUint8(10) as FrameKind,
    key: bytes.subarray(frameHeaderBytes, frameHeaderBytes + keyBytes),
    payload: unpack(stored, view.getUint8(11), payloadBytesOf(bytes), allocate),
  };
}

function unpack(
  stored: Uint8Array,
  codec: number,
  payloadBytes: number,
  allocate: PayloadAllocator | undefined,
): Uint8Array {
  if (codec === Codec.zstd) return decompress(stored, payloadBytes, allocate);
  return codec === Codec.blocks ? unpackBlocks(stored, payloadBytes, "frame") : stored;
}

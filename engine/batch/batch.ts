/**
 * A batch: the rows of one append, encoded as parts by day, in one checksummed frame. The journal holds the same bytes,
 * so replay needs no second encoding.
 *
 * Payload: u32 number of parts, u32 number of keys; for each part u32 day, u32 rows, u32 bytes, u32 zero; then the parts,
 * then the keys of pieces. Arrival numbers of the parts count from 0 through the batch; the journal records the number
 * that the batch begins with.
 */
import type { EncodedChunk } from "../chunk/chunk-header.ts";
import type { PackedChunk } from "../chunk/packed-chunk.ts";
import { serializePackedPart, serializePart, writePart } from "../chunk/part.ts";
import { completeFrame, FrameKind, frameBytes, readTrustedPayload } from "../files/frame.ts";
import { type PieceKey, pieceKeyBytes, writePieceKeys } from "../files/piece-keys.ts";
import type { Signal } from "../model/signal.ts";

/** An encoded batch, to be passed to `Store.appendEncoded`. */
export interface EncodedBatch {
  signal: Signal;
  /** One frame, in shared memory: it crosses threads without a copy. */
  bytes: Uint8Array;
  /** Rows (samples, for metrics) in the batch. */
  rows: number;
  /** The keys of the pieces that the batch was read from; absent where it is one piece. `bytes` holds them, too. */
  keys?: readonly PieceKey[];
  /** Hashes of the starts of counters that the samples name; absent where they name none. */
  starts?: BigInt64Array;
}

/** One part of a batch: a view of the batch's bytes. */
export interface BatchPart {
  day: number;
  rows: number;
  bytes: Uint8Array;
}

const batchKey = new Uint8Array(0);
const tableEntryBytes = 16;

/** The parts of a batch, without a copy. The frame's checksum must have been verified. */
export function openBatch(frame: Uint8Array): BatchPart[] {
  const payload = readTrustedPayload(frame);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const count = view.getUint32(0, true);
  const parts: BatchPart[] = [];
  let at = 8 + count * tableEntryBytes;
  for (let i = 0; i < count; i++) {
    const entry = 8 + i * tableEntryBytes;
    const byteLength = view.getUint32(entry + 8, true);
    parts.push({
      day: view.getUint32(entry, true),
      rows: view.getUint32(entry + 4, true),
      bytes: payload.subarray(at, at + byteLength),
    });
    at += byteLength;
  }
  return parts;
}

/** Serializes parts, and the keys of the pieces that they were read from, into one frame in shared memory. */
export function writeBatch(
  parts: readonly { day: number; chunk: EncodedChunk | PackedChunk }[],
  keys: readonly PieceKey[] = [],
): Uint8Array {
  const serialized = parts.map(({ chunk }) =>
    "payloads" in chunk ? serializePart(chunk) : serializePackedPart(chunk),
  );
  const tableBytes = 8 + parts.length * tableEntryBytes;
  const partsEnd = serialized.reduce((sum, { byteLength }) => sum + byteLength, tableBytes);
  const payloadBytes = partsEnd + keys.length * pieceKeyBytes;
  const frame = new Uint8Array(new SharedArrayBuffer(frameBytes(batchKey.byteLength, payloadBytes)));
  const payload = frame.subarray(frame.byteLength - payloadBytes);
  const view = new DataView(payload.buffer, payload.byteOffset);
  view.setUint32(0, parts.length, true);
  view.setUint32(4, keys.length, true);
  let at = tableBytes;
  for (const [i, part] of serialized.entries()) {
    const entry = 8 + i * tableEntryBytes;
    view.setUint32(entry, parts[i]!.day, true);
    view.setUint32(entry + 4, part.rows, true);
    view.setUint32(entry + 8, part.byteLength, true);
    at = writePart(part, payload, at);
  }
  writePieceKeys(keys, payload, at);
  completeFrame({ frame, codec: 0, payloadBytes }, FrameKind.batch, batchKey);
  return frame;
}

/**
 * Returns whether all threads can read the columns of a batch in place: in shared memory, aligned to 8 bytes. After
 * damage in a journal file, records may begin at any offset.
 */
export function isInSharedMemory({ buffer, byteOffset }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer && byteOffset % 8 === 0;
}

/** Copies bytes to shared memory, so that all scan threads read the same copy. */
export function copyToSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}

/**
 * A batch: the rows of one append, encoded to parts by day, in one checksummed frame. Its bytes are what the journal
 * holds, so that replaying needs no second parse.
 *
 * Payload: u32 number of parts, u32 zero; for each part u32 day, u32 rows, u32 bytes, u32 zero; then the parts.
 * An part's arrival numbers count from 0 through the batch; the journal adds where the batch begins.
 */
import { type EncodedChunk, serializePart, writePart } from "../chunk/chunk-header.ts";
import { closeFrame, FrameKind, frameBytes, trustedPayload } from "../files/frame.ts";
import type { Signal } from "../model/signal.ts";

export interface EncodedBatch {
  signal: Signal;
  /** One frame, in shared memory: it crosses threads without a copy. */
  bytes: Uint8Array;
  /** Rows taken. */
  rows: number;
}

/** One part of a batch, as it lies in the batch's bytes. */
export interface BatchPart {
  day: number;
  rows: number;
  bytes: Uint8Array;
}

const batchKey = new Uint8Array(0);
const tableEntryBytes = 16;

/** Images of a batch whose frame is whole, in place. */
export function openBatch(frame: Uint8Array): BatchPart[] {
  const payload = trustedPayload(frame);
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

/** One frame in shared memory, into which the parts are written in place. */
export function writeBatch(parts: readonly { day: number; chunk: EncodedChunk }[]): Uint8Array {
  const texts = parts.map(({ chunk }) => serializePart(chunk));
  const tableBytes = 8 + parts.length * tableEntryBytes;
  const payloadBytes = texts.reduce((sum, { byteLength }) => sum + byteLength, tableBytes);
  const frame = new Uint8Array(new SharedArrayBuffer(frameBytes(batchKey.byteLength, payloadBytes)));
  const payload = frame.subarray(frame.byteLength - payloadBytes);
  const view = new DataView(payload.buffer, payload.byteOffset);
  view.setUint32(0, parts.length, true);
  let at = tableBytes;
  for (const [i, text] of texts.entries()) {
    const entry = 8 + i * tableEntryBytes;
    view.setUint32(entry, parts[i]!.day, true);
    view.setUint32(entry + 4, text.chunk.header.rows, true);
    view.setUint32(entry + 8, text.byteLength, true);
    at = writePart(text, payload, at);
  }
  closeFrame({ frame, codec: 0, payloadBytes }, FrameKind.batch, batchKey);
  return frame;
}

/** Whether all threads can read the columns of a batch where they lie: behind damage in a journal's file, records stand anywhere. */
export function isInSharedMemory({ buffer, byteOffset }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer && byteOffset % 8 === 0;
}

/** Bytes in shared memory: every thread that scans them reads the same ones. */
export function copyToSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}

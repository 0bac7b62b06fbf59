/**
 * A batch: the rows of one append, encoded to images by day, in one checksummed frame. Its bytes are what the journal
 * holds, so that replaying needs no second parse.
 *
 * Payload: u32 number of images, u32 zero; for each image u32 day, u32 rows, u32 bytes, u32 zero; then the images.
 * An image's arrival numbers count from 0 through the batch; the journal adds where the batch begins.
 */
import { buildChunks } from "./build.ts";
import { type ChunkImage, imageBytes, writeImage } from "./chunk.ts";
import { dayOf, timeInDay } from "./day.ts";
import { attributeOf, type ChunkDraft, emptyDraft } from "./draft.ts";
import { FrameKind, trustedPayload, writeFrame } from "./frame.ts";
import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  futureNsMax,
  levelBytesMax,
  messageBytesMax,
} from "./limits.ts";
import type { LogRow, RefusedRow, Signal } from "./row.ts";

export interface EncodedBatch {
  signal: Signal;
  /** One frame, in shared memory: it crosses threads without a copy. */
  bytes: Uint8Array;
  /** Rows taken. */
  rows: number;
  refused: RefusedRow[];
}

/** One image of a batch, as it lies in the batch's bytes. */
export interface BatchImage {
  day: number;
  rows: number;
  bytes: Uint8Array;
}

const batchKey = new Uint8Array(0);
const tableEntryBytes = 16;

/**
 * Encodes rows to one batch: pure computation, fit for a worker thread. Rows outside the bounds of time or size are
 * refused with the reason, the rest is taken. `nowMs` is the clock that "a day ahead" is measured by.
 */
export function encodeBatch(
  signal: Signal,
  rows: readonly LogRow[],
  options: { nowMs: number },
): EncodedBatch {
  const refused: RefusedRow[] = [];
  const drafts = new Map<number, ChunkDraft>();
  const timeNsMax = BigInt(Math.trunc(options.nowMs)) * 1_000_000n + futureNsMax;
  let taken = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    const reason = refusal(row, timeNsMax);
    if (reason === undefined) appendRow(drafts, row, taken++);
    else refused.push({ index, reason });
  }
  const images = [...drafts].flatMap(([day, draft]) =>
    buildChunks(draft, { sealed: false }).map((image) => ({ day, image })),
  );
  return { signal, bytes: writeBatch(images), rows: taken, refused };
}

/** Images of a batch whose frame is whole, in place. */
export function openBatch(frame: Uint8Array): BatchImage[] {
  const payload = trustedPayload(frame);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const count = view.getUint32(0, true);
  const images: BatchImage[] = [];
  let at = 8 + count * tableEntryBytes;
  for (let i = 0; i < count; i++) {
    const entry = 8 + i * tableEntryBytes;
    const byteLength = view.getUint32(entry + 8, true);
    images.push({
      day: view.getUint32(entry, true),
      rows: view.getUint32(entry + 4, true),
      bytes: payload.subarray(at, at + byteLength),
    });
    at += byteLength;
  }
  return images;
}

function writeBatch(images: { day: number; image: ChunkImage }[]): Uint8Array {
  const sizes = images.map(({ image }) => imageBytes(image));
  const tableBytes = 8 + images.length * tableEntryBytes;
  const payload = new Uint8Array(sizes.reduce((sum, size) => sum + size, tableBytes));
  const view = new DataView(payload.buffer);
  view.setUint32(0, images.length, true);
  let at = tableBytes;
  for (const [i, { day, image }] of images.entries()) {
    const entry = 8 + i * tableEntryBytes;
    view.setUint32(entry, day, true);
    view.setUint32(entry + 4, image.header.rows, true);
    view.setUint32(entry + 8, sizes[i]!, true);
    at = writeImage(image, payload, at);
  }
  return sharedCopy(writeFrame(FrameKind.batch, batchKey, payload));
}

/** Bytes in shared memory: every thread that scans them reads the same ones. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  shared.set(bytes);
  return shared;
}

function appendRow(drafts: Map<number, ChunkDraft>, row: LogRow, arrival: number): void {
  const day = dayOf(row.timeNs);
  let draft = drafts.get(day);
  if (draft === undefined) {
    draft = emptyDraft();
    drafts.set(day, draft);
  }
  draft.timeNs.push(timeInDay(row.timeNs, day));
  draft.arrival.push(arrival);
  draft.level.push(draft.rows, row.level.toWellFormed());
  draft.message.push(row.message);
  for (const key in row.attributes) {
    attributeOf(draft, key.toWellFormed()).push(draft.rows, row.attributes[key]!.toWellFormed());
  }
  draft.rows++;
}

/** Why a row cannot be stored, or undefined. */
function refusal(row: LogRow, timeNsMax: bigint): string | undefined {
  if (row.timeNs < 0n) return "the time is before 1970-01-01, the earliest that can be stored";
  if (row.timeNs > timeNsMax) return "the time is more than a day ahead of the server's clock";
  if (isLonger(row.message, messageBytesMax)) return `the message is longer than ${messageBytesMax} bytes`;
  if (isLonger(row.level, levelBytesMax)) return `log_level is longer than ${levelBytesMax} bytes`;
  let count = 0;
  for (const key in row.attributes) {
    if (++count > attributesPerRowMax) return `more than ${attributesPerRowMax} attributes`;
    if (isLonger(key, attributeKeyBytesMax)) {
      return `attribute key "${key.slice(0, 40)}…" is longer than ${attributeKeyBytesMax} bytes`;
    }
    if (isLonger(row.attributes[key]!, attributeValueBytesMax)) {
      return `attribute "${key}" is longer than ${attributeValueBytesMax} bytes`;
    }
  }
  return undefined;
}

/** Bytes are counted only where the number of UTF-16 units leaves it open. */
function isLonger(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || Buffer.byteLength(text) > bytesMax;
}

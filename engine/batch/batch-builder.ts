/** Builds a batch of rows. Rows are added as byte ranges, so that readers of wire formats create no strings. */

import type { ChunkCaps } from "../chunk/chunk-caps.ts";
import { encodeSortedRows, type SortedRows } from "../chunk/chunk-encoder.ts";
import type { EncodedChunk } from "../chunk/chunk-header.ts";
import { type PackedChunk, packChunk, rowsCompression } from "../chunk/packed-chunk.ts";
import type { PieceKey } from "../files/piece-keys.ts";
import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  levelBytesMax,
  messageBytesMax,
  packedMessageBytesMin,
  packedRowsMin,
} from "../limits.ts";
import { toInstant } from "../model/day.ts";
import type { LogRow, RefusedRow } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import { type ByteSource, toByteSource } from "../vector/text-table.ts";
import { AdmissionCounts, type AdmissionPolicy, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import type { BatchColumns } from "./batch-columns.ts";
import { type DocumentForm, DocumentRows, documentRoomBytes } from "./document-rows.ts";
import { type JsonRowForm, JsonRows, toKeyKinds } from "./json-rows.ts";
import type { RowRules } from "./kernel-rows.ts";
import { MemoryColumns } from "./memory-columns.ts";
import { type OtlpRecordForm, OtlpRecords } from "./otlp-records.ts";
import { RowAdmission } from "./row-admission.ts";
import { RowRanges } from "./row-ranges.ts";

/** How the rows of a batch are encoded. */
export interface FinishOptions {
  /**
   * Where it is given, the rows of a day become chunks in their form on disk, within these caps, if they are at least
   * `packedRowsMin` or large. Other days, and all of them by default, become parts that the store encodes as chunks later.
   */
  packedCaps?: ChunkCaps | undefined;
  /** Idempotency keys of the pieces that the rows were read from. */
  keys?: readonly PieceKey[] | undefined;
}

/**
 * Collects rows and encodes them as one batch. Pure computation, fit for a worker thread. Bytes that it reads must be
 * valid UTF-8. Byte ranges are half-open and refer to the bytes of the last `read`. Attribute keys are numbered in the
 * order in which they are first added; numbers are valid for this batch only.
 */
export class BatchBuilder {
  /** Rows that were refused, dropped or changed so far. */
  readonly counts: AdmissionCounts;
  readonly #signal: RowSignal;
  readonly #policy: AdmissionPolicy;
  readonly #timeAdmission: TimeAdmission;
  readonly #columns: BatchColumns;
  /** Created with the first row, so that a reader can number its own keys first. */
  #admission: RowAdmission | undefined;
  readonly #scratchRow = new RowRanges();
  #source: ByteSource = toByteSource(new Uint8Array(0));
  #isPacked = false;

  /** `columns`: where the rows are collected; the fastest by default. */
  constructor(signal: RowSignal, policy: AdmissionPolicy, columns: BatchColumns = new MemoryColumns()) {
    this.#signal = signal;
    this.#policy = policy;
    this.#columns = columns;
    this.counts = new AdmissionCounts(policy);
    this.#timeAdmission = new TimeAdmission(policy, this.counts);
  }

  /** Number of distinct attribute keys so far. */
  get keyCount(): number {
    return this.#columns.keyCount;
  }

  /**
   * Sets the bytes that ranges refer to from now on. Returns a copy of them, followed by `room` free bytes: the caller reads and
   * writes them there. The first `stableBytes` must not be overwritten after a row with a text in them was
   * added; the others may be.
   */
  read(bytes: Uint8Array, room = 0, stableBytes = bytes.byteLength): Buffer {
    this.#source = this.#columns.read(bytes, room, stableBytes);
    return this.#source.bytes;
  }

  /** The number of the attribute key at [from, to); -1 where it has none yet. */
  findKey(from: number, to: number): number {
    return this.#columns.findKey(this.#source, from, to);
  }

  /** The number of the attribute key at [from, to), given now where it has none yet. */
  addKey(from: number, to: number): number {
    return this.#numberKey(this.#source, from, to);
  }

  /** Returns whether the attribute key at [from, to) has this number. */
  isKey(key: number, from: number, to: number): boolean {
    return this.#columns.isKey(key, this.#source, from, to);
  }

  /** As `findKey`, for a key that is not among the bytes. */
  findKeyText(key: string): number {
    const { scratch } = this.#columns;
    const to = scratch.write(key, 0);
    return this.#columns.findKey(scratch.source, 0, to);
  }

  /** As `addKey`, for a key that is not among the bytes. */
  addKeyText(key: string): number {
    const { scratch } = this.#columns;
    const to = scratch.write(key, 0);
    return this.#numberKey(scratch.source, 0, to);
  }

  /** The text of the key with this number. */
  keyText(key: number): string {
    return this.#columns.keyText(key);
  }

  /**
   * Reads logs or spans from JSON, which is valid UTF-8, straight into the batch, and stops at those that the caller has
   * to read or add. Undefined where rows are not collected in WebAssembly, so that the caller has to read them all.
   */
  readJson(body: Uint8Array, form: JsonRowForm): JsonRows | undefined {
    const columns = this.#columns;
    if (!(columns instanceof MemoryColumns)) return undefined;
    this.#beginJson(body, 0);
    return new JsonRows(columns, this.#source, form, toKeyKinds(form), this.#rules);
  }

  /** Goes on with the lines of another piece, which begin at `start`. Returns `rows`. */
  readMoreJson(rows: JsonRows, piece: Uint8Array, start: number): JsonRows {
    this.#source = rows.continueWith(piece, start);
    return rows;
  }

  /** As `readJson`, for a body of actions and documents of Elasticsearch. */
  readDocuments(body: Uint8Array, form: DocumentForm): DocumentRows | undefined {
    const columns = this.#columns;
    if (!(columns instanceof MemoryColumns)) return undefined;
    this.#beginJson(body, documentRoomBytes);
    return new DocumentRows(columns, this.#source, form, this.#rules);
  }

  /** As `readJson`, for records of OTLP in protobuf, which lie in the bytes of the last `read`. */
  readOtlp(form: OtlpRecordForm): OtlpRecords | undefined {
    if (!(this.#columns instanceof MemoryColumns)) return undefined;
    return new OtlpRecords(this.#columns, form, this.#rules);
  }

  /**
   * Adds a row. Returns undefined where it was taken or dropped by an exclusion, else why it cannot be stored. May
   * change the ranges: for stamped attributes, and for a truncated message.
   */
  add(row: RowRanges): string | undefined {
    this.#admission ??= this.#createAdmission();
    return this.#add(row, this.#source, this.#admission);
  }

  /** As `add`, for a row as an object. A lone surrogate in a text becomes U+FFFD. */
  addLogRow(row: LogRow): string | undefined {
    // Creating it numbers keys by way of the scratch bytes, so it comes before the row is written there.
    this.#admission ??= this.#createAdmission();
    const ranges = this.#scratchRow;
    ranges.clear();
    const { seconds, nanos } = toInstant(row.timeNs);
    ranges.seconds = row.timeNs < 0n ? -1 : seconds;
    ranges.nanos = nanos;
    const { scratch } = this.#columns;
    let at = scratch.write(row.level, 0);
    ranges.levelTo = at;
    ranges.messageFrom = at;
    at = scratch.write(row.message, at);
    ranges.messageTo = at;
    for (const key in row.attributes) {
      // One attribute above the cap is enough to refuse the row.
      if (ranges.attributes > attributesPerRowMax) break;
      const keyTo = scratch.write(key, at);
      const valueTo = scratch.write(row.attributes[key]!, keyTo);
      ranges.addAttribute(this.#numberKey(scratch.source, at, keyTo), keyTo, valueTo);
      at = valueTo;
    }
    return this.#add(ranges, scratch.source, this.#admission);
  }

  /** Rows that are in the batch so far. */
  get rows(): number {
    return this.#columns.rows;
  }

  /**
   * Encodes the rows, one part a day (more where they exceed a chunk's size caps). Only `release` may be called
   * afterwards.
   */
  finish({ packedCaps, keys }: FinishOptions = {}): EncodedBatch {
    this.#isPacked = packedCaps !== undefined;
    const days = this.#columns.finish(this.#policy.stamps ?? {});
    const parts = days.flatMap(({ day, rows, sorted }) =>
      encodeDay(sorted, isLarge(rows, sorted) ? packedCaps : undefined).map((chunk) => ({ day, chunk })),
    );
    const rows = days.reduce((sum, each) => sum + each.rows, 0);
    const bytes = writeBatch(parts, keys);
    return { signal: this.#signal, bytes, rows, ...(keys === undefined ? {} : { keys }) };
  }

  /** Gives the memory of the rows to the next batch; the builder must not be used any more. */
  release(): void {
    this.#columns.release(this.#isPacked);
  }

  /** Makes a body of JSON readable, with so much room after it. */
  #beginJson(body: Uint8Array, room: number): void {
    this.#admission ??= this.#createAdmission();
    this.read(body, room);
  }

  get #rules(): RowRules {
    const stamped = Object.keys(this.#policy.stamps ?? {});
    return { ...this.#timeAdmission.bounds, policy: this.#policy, stamped, counts: this.counts };
  }

  #numberKey(source: ByteSource, from: number, to: number): number {
    return this.#columns.addKey(source, from, to);
  }

  #createAdmission(): RowAdmission {
    return new RowAdmission(this.#policy, (key) => this.addKeyText(key));
  }

  #add(row: RowRanges, source: ByteSource, admission: RowAdmission): string | undefined {
    admission.renameStamped(row, source.bytes);
    const reason = this.#findRefusal(row);
    if (reason !== undefined) return reason;
    const originalBytes = row.messageTo - row.messageFrom;
    this.#truncate(row, source.bytes);
    const excluded = admission.findExclusion(row, source);
    if (excluded >= 0) {
      this.counts.excluded[excluded]!++;
      return undefined;
    }
    this.#timeAdmission.noteTaken(row.seconds, row.nanos);
    this.#columns.addRow(row, source);
    if (row.messageTo - row.messageFrom < originalBytes) this.#recordTruncation(originalBytes);
    return undefined;
  }

  /** Why a row cannot be stored; undefined where it can. */
  #findRefusal(row: RowRanges): string | undefined {
    const reason = this.#timeAdmission.findRefusal(row.seconds, row.nanos);
    if (reason !== undefined) return reason;
    if (row.levelTo - row.levelFrom > levelBytesMax) return `log_level is longer than ${levelBytesMax} bytes`;
    // The lengths of a row's keys are compared with the cap only where there is a longer key.
    const hasLongKey = this.#columns.longestKeyBytes > attributeKeyBytesMax;
    for (let i = 0; i < row.attributes; i++) {
      if (i === attributesPerRowMax) return `more than ${attributesPerRowMax} attributes`;
      const key = row.keys[i]!;
      if (hasLongKey && this.#columns.keyBytes(key) > attributeKeyBytesMax) {
        return `attribute key "${this.#columns.keyText(key).slice(0, 40)}…" is longer than ${attributeKeyBytesMax} bytes`;
      }
      if (row.to[i]! - row.from[i]! > attributeValueBytesMax) {
        return `attribute "${this.#columns.keyText(key)}" is longer than ${attributeValueBytesMax} bytes`;
      }
    }
    return this.#findSizeRefusal(row);
  }

  #findSizeRefusal(row: RowRanges): string | undefined {
    const messageBytes = row.messageTo - row.messageFrom;
    const room = this.#messageBytesAllowed(row);
    if (messageBytes <= room || (this.#truncationKey !== undefined && room > 0)) return undefined;
    this.counts.refusedLarge++;
    return messageBytes > messageBytesMax
      ? `the message is longer than ${messageBytesMax} bytes`
      : `the row is longer than ${this.#policy.rowBytesMax} bytes`;
  }

  /** Bytes that the message may have beside level and attributes; negative where these are too long by themselves. */
  #messageBytesAllowed(row: RowRanges): number {
    const { rowBytesMax } = this.#policy;
    if (rowBytesMax === undefined) return messageBytesMax;
    let otherBytes = row.levelTo - row.levelFrom;
    for (let i = 0; i < row.attributes; i++) {
      otherBytes += this.#columns.keyBytes(row.keys[i]!) + row.to[i]! - row.from[i]!;
    }
    return Math.min(messageBytesMax, rowBytesMax - otherBytes);
  }

  /** Key of the attribute for the original length of truncated messages; undefined where none is truncated. */
  get #truncationKey(): string | undefined {
    return this.#signal === "logs" ? this.#policy.truncationKey : undefined;
  }

  /** Truncates a message that is too long, at a character boundary. */
  #truncate(row: RowRanges, bytes: Buffer): void {
    if (this.#truncationKey === undefined) return;
    const room = this.#messageBytesAllowed(row);
    if (row.messageTo - row.messageFrom <= room) return;
    let to = row.messageFrom + room;
    while (to > row.messageFrom && (bytes[to]! & 0xc0) === 0x80) to--;
    row.messageTo = to;
  }

  #recordTruncation(originalBytes: number): void {
    this.counts.truncated++;
    this.#columns.addValue(this.addKeyText(this.#truncationKey!), String(originalBytes));
  }
}

/** Whether a day's rows are enough for a chunk of their own. */
function isLarge(rows: number, { message }: SortedRows): boolean {
  return rows >= packedRowsMin || message.bytes.length >= packedMessageBytesMin;
}

function encodeDay(sorted: SortedRows, packedCaps: ChunkCaps | undefined): (EncodedChunk | PackedChunk)[] {
  if (packedCaps === undefined) return encodeSortedRows(sorted, { sealed: false });
  const chunks = encodeSortedRows(sorted, { sealed: true, caps: packedCaps });
  return chunks.map((chunk) => packChunk(chunk, rowsCompression));
}

/**
 * Encodes rows as one batch. Pure computation, fit for a worker thread. Rows that cannot be stored are refused with a
 * reason, the others are taken.
 */
export function encodeBatch(
  signal: RowSignal,
  rows: readonly LogRow[],
  policy: AdmissionPolicy,
): EncodedBatch & { refused: RefusedRow[] } {
  const batch = new BatchBuilder(signal, policy);
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    const reason = batch.addLogRow(row);
    if (reason !== undefined) refused.push({ index, reason });
  }
  const encoded = batch.finish();
  batch.release();
  return { ...encoded, refused };
}

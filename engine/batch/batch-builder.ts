/** Builds a batch of rows. Rows are added as byte ranges, so that readers of wire formats create no strings. */

import {
  type AttributeBuilder,
  type ChunkBuilder,
  clearChunkBuilder,
  createChunkBuilder,
  getAttributeBuilder,
} from "../chunk/chunk-builder.ts";
import { encodeChunks } from "../chunk/chunk-encoder.ts";
import {
  attributeKeyBytesMax,
  attributesPerRowMax,
  attributeValueBytesMax,
  levelBytesMax,
  messageBytesMax,
} from "../limits.ts";
import { dayOf, daySeconds, timeInDay } from "../model/day.ts";
import type { LogRow, RefusedRow } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";
import { AdmissionCounts, type AdmissionPolicy, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import { RowAdmission } from "./row-admission.ts";
import { RowRanges } from "./row-ranges.ts";
import { ScratchBytes } from "./scratch-bytes.ts";

/**
 * An emptied builder of an earlier batch on this thread: its columns probably have the capacity that the next batch
 * needs.
 */
let spareBuilder: ChunkBuilder | undefined;

/** The rows of one day. */
interface DayRows {
  day: number;
  builder: ChunkBuilder;
  /** Attribute columns by the batch's number of their key. */
  columns: (AttributeBuilder | undefined)[];
  /** Columns of the stamped attributes, and the dictionary code that every row gets there. */
  stamps: readonly { column: AttributeBuilder; code: number }[];
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
  readonly #keys = new TextTable();
  readonly #days = new Map<number, DayRows>();
  /** Created with the first row, so that a reader can number its own keys first. */
  #admission: RowAdmission | undefined;
  readonly #scratch = new ScratchBytes();
  readonly #scratchRow = new RowRanges();
  #source: ByteSource = toByteSource(new Uint8Array(0));
  /** The day of the newest row: the next row is most likely of the same day. */
  #newest: DayRows | undefined;
  #rows = 0;
  /** True once a key was numbered that is too long: only then are the lengths of keys compared with the cap. */
  #hasLongKey = false;

  constructor(signal: RowSignal, policy: AdmissionPolicy) {
    this.#signal = signal;
    this.#policy = policy;
    this.counts = new AdmissionCounts(policy);
    this.#timeAdmission = new TimeAdmission(policy, this.counts);
  }

  /** Number of distinct attribute keys so far. */
  get keyCount(): number {
    return this.#keys.size;
  }

  /** Sets the bytes that ranges refer to from now on. */
  read(bytes: Uint8Array): void {
    this.#source = toByteSource(bytes);
  }

  /** The number of the attribute key at [from, to); -1 where it has none yet. */
  findKey(from: number, to: number): number {
    return this.#keys.find(this.#source, from, to);
  }

  /** The number of the attribute key at [from, to), given now where it has none yet. */
  addKey(from: number, to: number): number {
    return this.#numberKey(this.#source, from, to);
  }

  /** Returns whether the attribute key at [from, to) has this number. */
  isKey(key: number, from: number, to: number): boolean {
    return this.#keys.equals(key, this.#source, from, to);
  }

  /** As `findKey`, for a key that is not among the bytes. */
  findKeyText(key: string): number {
    const to = this.#scratch.write(key, 0);
    return this.#keys.find(this.#scratch.source, 0, to);
  }

  /** As `addKey`, for a key that is not among the bytes. */
  addKeyText(key: string): number {
    const to = this.#scratch.write(key, 0);
    return this.#numberKey(this.#scratch.source, 0, to);
  }

  /** The text of the key with this number. */
  keyText(key: number): string {
    return this.#keys.textOf(key);
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
    const day = dayOf(row.timeNs);
    const timeNs = timeInDay(row.timeNs, day);
    const ranges = this.#scratchRow;
    ranges.clear();
    ranges.seconds = day * daySeconds + Math.floor(timeNs / 1e9);
    ranges.nanos = timeNs % 1e9;
    if (row.timeNs < 0n) ranges.seconds = -1;
    const scratch = this.#scratch;
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

  /**
   * Encodes the rows, one part a day (more where they exceed a chunk's size caps). The builder must not be used
   * afterwards.
   */
  finish(): EncodedBatch {
    const parts = [...this.#days.values()].flatMap(({ day, builder }) =>
      encodeChunks(builder, { sealed: false }).map((chunk) => ({ day, chunk })),
    );
    const bytes = writeBatch(parts);
    for (const { builder } of this.#days.values()) if (clearChunkBuilder(builder)) spareBuilder = builder;
    this.#days.clear();
    return { signal: this.#signal, bytes, rows: this.#rows };
  }

  #numberKey(source: ByteSource, from: number, to: number): number {
    if (to - from > attributeKeyBytesMax) this.#hasLongKey = true;
    return this.#keys.intern(source, from, to);
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
    this.#timeAdmission.countSkew(row.seconds, row.nanos);
    const day = Math.floor(row.seconds / daySeconds);
    const { builder, columns, stamps } = this.#rowsOfDay(day);
    builder.timeNs.push((row.seconds - day * daySeconds) * 1e9 + row.nanos);
    builder.arrival.push(this.#rows++);
    builder.level.push(builder.rows, builder.level.values.intern(source, row.levelFrom, row.levelTo));
    builder.message.pushRange(source.bytes, row.messageFrom, row.messageTo);
    const ownAttributes = row.sharedSet === 0 ? row.attributes : row.sharedFrom;
    for (let i = 0; i < ownAttributes; i++) {
      const key = row.keys[i]!;
      const column = columns[key] ?? this.#addColumn(builder, columns, key);
      column.push(builder.rows, column.values.intern(source, row.from[i]!, row.to[i]!));
    }
    for (let i = ownAttributes; i < row.attributes; i++) {
      const key = row.keys[i]!;
      const column = columns[key] ?? this.#addColumn(builder, columns, key);
      if (column.sharedSet !== row.sharedSet) {
        column.sharedCode = column.values.intern(source, row.from[i]!, row.to[i]!);
        column.sharedSet = row.sharedSet;
      }
      column.push(builder.rows, column.sharedCode);
    }
    for (const { column, code } of stamps) column.push(builder.rows, code);
    if (row.messageTo - row.messageFrom < originalBytes) this.#recordTruncation(builder, originalBytes);
    builder.rows++;
    return undefined;
  }

  /** The rows of a day, added where there are none yet. */
  #rowsOfDay(day: number): DayRows {
    if (this.#newest?.day === day) return this.#newest;
    let found = this.#days.get(day);
    if (found === undefined) {
      const builder = spareBuilder ?? createChunkBuilder();
      spareBuilder = undefined;
      found = { day, builder, columns: [], stamps: this.#encodeStamps(builder) };
      this.#days.set(day, found);
    }
    this.#newest = found;
    return found;
  }

  #addColumn(builder: ChunkBuilder, columns: DayRows["columns"], key: number): AttributeBuilder {
    const column = getAttributeBuilder(builder, this.#keys.textOf(key));
    columns[key] = column;
    return column;
  }

  #encodeStamps(builder: ChunkBuilder): DayRows["stamps"] {
    return Object.entries(this.#policy.stamps ?? {}).map(([key, text]) => {
      const column = getAttributeBuilder(builder, key);
      const source = toByteSource(Buffer.from(text, "utf8"));
      return { column, code: column.values.intern(source, 0, source.bytes.length) };
    });
  }

  /** Why a row cannot be stored; undefined where it can. */
  #findRefusal(row: RowRanges): string | undefined {
    const reason = this.#timeAdmission.findRefusal(row.seconds, row.nanos);
    if (reason !== undefined) return reason;
    if (row.levelTo - row.levelFrom > levelBytesMax) return `log_level is longer than ${levelBytesMax} bytes`;
    for (let i = 0; i < row.attributes; i++) {
      if (i === attributesPerRowMax) return `more than ${attributesPerRowMax} attributes`;
      const key = row.keys[i]!;
      if (this.#hasLongKey && this.#keys.lengthOf(key) > attributeKeyBytesMax) {
        return `attribute key "${this.#keys.textOf(key).slice(0, 40)}…" is longer than ${attributeKeyBytesMax} bytes`;
      }
      if (row.to[i]! - row.from[i]! > attributeValueBytesMax) {
        return `attribute "${this.#keys.textOf(key)}" is longer than ${attributeValueBytesMax} bytes`;
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
      otherBytes += this.#keys.lengthOf(row.keys[i]!) + row.to[i]! - row.from[i]!;
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

  #recordTruncation(builder: ChunkBuilder, originalBytes: number): void {
    this.counts.truncated++;
    getAttributeBuilder(builder, this.#truncationKey!).pushText(builder.rows, String(originalBytes));
  }
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
  return { ...batch.finish(), refused };
}

/** A batch on its way: rows are added as ranges of bytes, so that a reader of any wire format makes no strings of them. */

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
import { dayOf, timeInDay } from "../model/day.ts";
import type { LogRow, RefusedRow } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import { type ByteSource, byteSource, TextTable } from "../vector/text-table.ts";
import { EntryTally, type EntryTerms, TimeAdmission } from "./admission-policy.ts";
import { type EncodedBatch, writeBatch } from "./batch.ts";
import { RowAdmission } from "./row-admission.ts";
import { RowRanges } from "./row-ranges.ts";
import { ScratchBytes } from "./scratch-bytes.ts";

/** A draft whose rows were encoded on this thread: its columns have the room that the next batch needs, most likely. */
let spareBuilder: ChunkBuilder | undefined;

const daySeconds = 86_400;

/** Rows of one day, with the column of each key that the batch has numbered. */
interface DayRows {
  day: number;
  builder: ChunkBuilder;
  columns: (AttributeBuilder | undefined)[];
  /** Where each row has what it is stamped with. */
  stamps: readonly { column: AttributeBuilder; code: number }[];
}

/**
 * Gathers rows and encodes them to one batch: pure computation, fit for a worker thread. What it is given as bytes must be
 * UTF-8.
 */
export class BatchDraft {
  readonly tally: EntryTally;
  readonly #signal: RowSignal;
  readonly #terms: EntryTerms;
  readonly #clock: TimeAdmission;
  readonly #keys = new TextTable();
  readonly #days = new Map<number, DayRows>();
  /** Made with the first row: readers give their own keys the first numbers. */
  #gate: RowAdmission | undefined;
  readonly #scratch = new ScratchBytes();
  readonly #scratchRow = new RowRanges();
  #source: ByteSource = byteSource(new Uint8Array(0));
  #newest: DayRows | undefined;
  #rows = 0;
  #hasLongKey = false;

  constructor(signal: RowSignal, terms: EntryTerms) {
    this.#signal = signal;
    this.#terms = terms;
    this.tally = new EntryTally(terms);
    this.#clock = new TimeAdmission(terms, this.tally);
  }

  /** Distinct attribute keys that were numbered up to now. */
  get keyCount(): number {
    return this.#keys.size;
  }

  /** The bytes that ranges refer to from now on. */
  read(bytes: Uint8Array): void {
    this.#source = byteSource(bytes);
  }

  /** The number of the attribute key that lies at [from, to), or -1 where it has none yet. */
  findKey(from: number, to: number): number {
    return this.#keys.find(this.#source, from, to);
  }

  /** The number of the attribute key that lies at [from, to). */
  addKey(from: number, to: number): number {
    return this.#numberOf(this.#source, from, to);
  }

  /** Whether the attribute key that lies at [from, to) has this number. */
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
    return this.#numberOf(this.#scratch.source, 0, to);
  }

  /** The text of the key with this number. */
  keyText(key: number): string {
    return this.#keys.textOf(key);
  }

  /** Takes a row, or returns why it cannot be stored. The ranges are changed where the draft's terms ask for it. */
  add(row: RowRanges): string | undefined {
    this.#gate ??= this.#newGate();
    return this.#add(row, this.#source, this.#gate);
  }

  addLogRow(row: LogRow): string | undefined {
    // Numbers keys by way of the scratch, so before the row is written there.
    this.#gate ??= this.#newGate();
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
      // The first one too many is enough to refuse the row.
      if (ranges.attributes > attributesPerRowMax) break;
      const keyTo = scratch.write(key, at);
      const valueTo = scratch.write(row.attributes[key]!, keyTo);
      ranges.addAttribute(this.#numberOf(scratch.source, at, keyTo), keyTo, valueTo);
      at = valueTo;
    }
    return this.#add(ranges, scratch.source, this.#gate);
  }

  finish(): EncodedBatch {
    const parts = [...this.#days.values()].flatMap(({ day, builder }) =>
      encodeChunks(builder, { sealed: false }).map((chunk) => ({ day, chunk })),
    );
    const bytes = writeBatch(parts);
    for (const { builder } of this.#days.values()) if (clearChunkBuilder(builder)) spareBuilder = builder;
    this.#days.clear();
    return { signal: this.#signal, bytes, rows: this.#rows };
  }

  #numberOf(source: ByteSource, from: number, to: number): number {
    if (to - from > attributeKeyBytesMax) this.#hasLongKey = true;
    return this.#keys.codeOf(source, from, to);
  }

  #newGate(): RowAdmission {
    return new RowAdmission(this.#terms, (key) => this.addKeyText(key));
  }

  #add(row: RowRanges, source: ByteSource, gate: RowAdmission): string | undefined {
    gate.renameStamped(row, source.bytes);
    const reason = this.#refusal(row);
    if (reason !== undefined) return reason;
    const uncutBytes = row.messageTo - row.messageFrom;
    this.#cut(row, source.bytes);
    const excluded = gate.findExclusion(row, source);
    if (excluded >= 0) {
      this.tally.excluded[excluded]!++;
      return undefined;
    }
    this.#clock.countSkew(row.seconds, row.nanos);
    const day = Math.floor(row.seconds / daySeconds);
    const { builder, columns, stamps } = this.#dayDraft(day);
    builder.timeNs.push((row.seconds - day * daySeconds) * 1e9 + row.nanos);
    builder.arrival.push(this.#rows++);
    builder.level.push(builder.rows, builder.level.values.codeOf(source, row.levelFrom, row.levelTo));
    builder.message.pushRange(source.bytes, row.messageFrom, row.messageTo);
    const ownAttributes = row.sharedBy === 0 ? row.attributes : row.sharedFrom;
    for (let i = 0; i < ownAttributes; i++) {
      const key = row.keys[i]!;
      const column = columns[key] ?? this.#newColumn(builder, columns, key);
      column.push(builder.rows, column.values.codeOf(source, row.from[i]!, row.to[i]!));
    }
    for (let i = ownAttributes; i < row.attributes; i++) {
      const key = row.keys[i]!;
      const column = columns[key] ?? this.#newColumn(builder, columns, key);
      if (column.sharedSet !== row.sharedBy) {
        column.sharedCode = column.values.codeOf(source, row.from[i]!, row.to[i]!);
        column.sharedSet = row.sharedBy;
      }
      column.push(builder.rows, column.sharedCode);
    }
    for (const { column, code } of stamps) column.push(builder.rows, code);
    if (row.messageTo - row.messageFrom < uncutBytes) this.#markCut(builder, uncutBytes);
    builder.rows++;
    return undefined;
  }

  #dayDraft(day: number): DayRows {
    if (this.#newest?.day === day) return this.#newest;
    let found = this.#days.get(day);
    if (found === undefined) {
      const builder = spareBuilder ?? createChunkBuilder();
      spareBuilder = undefined;
      found = { day, builder, columns: [], stamps: this.#stampsIn(builder) };
      this.#days.set(day, found);
    }
    this.#newest = found;
    return found;
  }

  #newColumn(draft: ChunkBuilder, columns: DayRows["columns"], key: number): AttributeBuilder {
    const column = getAttributeBuilder(draft, this.#keys.textOf(key));
    columns[key] = column;
    return column;
  }

  #stampsIn(draft: ChunkBuilder): DayRows["stamps"] {
    return Object.entries(this.#terms.stamps ?? {}).map(([key, text]) => {
      const column = getAttributeBuilder(draft, key);
      const source = byteSource(Buffer.from(text, "utf8"));
      return { column, code: column.values.codeOf(source, 0, source.bytes.length) };
    });
  }

  /** Why a row cannot be stored, or undefined. */
  #refusal(row: RowRanges): string | undefined {
    const reason = this.#clock.findRefusal(row.seconds, row.nanos);
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
    return this.#sizeRefusal(row);
  }

  #sizeRefusal(row: RowRanges): string | undefined {
    const messageBytes = row.messageTo - row.messageFrom;
    const room = this.#messageRoom(row);
    if (messageBytes <= room || (this.#cutMark !== undefined && room > 0)) return undefined;
    this.tally.refusedLarge++;
    return messageBytes > messageBytesMax
      ? `the message is longer than ${messageBytesMax} bytes`
      : `the row is longer than ${this.#terms.rowBytesMax} bytes`;
  }

  /** Bytes that the message may have beside the rest of the row; below 0 where the rest is too long by itself. */
  #messageRoom(row: RowRanges): number {
    const { rowBytesMax } = this.#terms;
    if (rowBytesMax === undefined) return messageBytesMax;
    let rest = row.levelTo - row.levelFrom;
    for (let i = 0; i < row.attributes; i++) {
      rest += this.#keys.lengthOf(row.keys[i]!) + row.to[i]! - row.from[i]!;
    }
    return Math.min(messageBytesMax, rowBytesMax - rest);
  }

  get #cutMark(): string | undefined {
    return this.#signal === "logs" ? this.#terms.cutMark : undefined;
  }

  /** Shortens a message for which there is no room, at the end of a character. */
  #cut(row: RowRanges, bytes: Buffer): void {
    if (this.#cutMark === undefined) return;
    const room = this.#messageRoom(row);
    if (row.messageTo - row.messageFrom <= room) return;
    let to = row.messageFrom + room;
    while (to > row.messageFrom && (bytes[to]! & 0xc0) === 0x80) to--;
    row.messageTo = to;
  }

  #markCut(draft: ChunkBuilder, uncutBytes: number): void {
    this.tally.cut++;
    getAttributeBuilder(draft, this.#cutMark!).pushText(draft.rows, String(uncutBytes));
  }
}

/**
 * Encodes rows to one batch: pure computation, fit for a worker thread. Rows outside the bounds of time or size are
 * refused with the reason, the rest is taken.
 */
export function encodeBatch(
  signal: RowSignal,
  rows: readonly LogRow[],
  terms: EntryTerms,
): EncodedBatch & { refused: RefusedRow[] } {
  const draft = new BatchDraft(signal, terms);
  const refused: RefusedRow[] = [];
  for (const [index, row] of rows.entries()) {
    const reason = draft.addLogRow(row);
    if (reason !== undefined) refused.push({ index, reason });
  }
  return { ...draft.finish(), refused };
}

/** The columns of a batch in WebAssembly. */

import { reorderNumbers, toDenseAttribute } from "../chunk/chunk-builder.ts";
import { type SortedRows, selectColumns, stampRows, toOverflowAttribute } from "../chunk/chunk-encoder.ts";
import type { AttributeVector } from "../column/encoding.ts";
import { BlockMemory } from "../kernels/block-memory.ts";
import { daySeconds } from "../model/day.ts";
import { decodeText, type TextVector } from "../vector/text.ts";
import { type ByteSource, toByteSource } from "../vector/text-table.ts";
import type { BatchColumns, DayRows } from "./batch-columns.ts";
import type { BatchKernels } from "./batch-kernels.ts";
import { RowRanges } from "./row-ranges.ts";
import { ScratchBytes } from "./scratch-bytes.ts";

/** Words of a staged row, from its beginning; see `stagedRowAt` in assembly/batch/blocks.ts. */
const Staged = {
  levelFrom: 4,
  levelTo: 5,
  messageFrom: 6,
  messageTo: 7,
  attributes: 8,
  sharedFrom: 9,
  sharedSet: 10,
  words: 16,
} as const;

/** The policy has more to say of a row that has such a key; see assembly/batch/keys.ts. */
const keyOfPolicy = 8;

/**
 * More memory than this is not kept for the next batch. `small` is enough for a body of several megabytes with its rows,
 * `chunk` for the rows of a full chunk.
 */
const keptBytesMax = { small: 64 * 1024 * 1024, chunk: 256 * 1024 * 1024 } as const;

export class MemoryColumns implements BatchColumns {
  readonly memory = BlockMemory.take();
  readonly kernels = this.memory.kernels<BatchKernels>();
  readonly scratch = new ScratchBytes((byteLength) => this.#placeScratch(byteLength));
  /** The staged row: seconds and nanoseconds, and the words of the same bytes. */
  readonly #times: Float64Array;
  readonly #words: Uint32Array;
  /** The same row for callers: its attributes are those in the memory. */
  readonly #staged = new RowRanges();
  /** Addresses of the days. */
  readonly #days = new Map<number, number>();
  #newestDay = -1;
  /** The address at which each piece of a body is placed, and the bytes that are reserved there. */
  #pieceAt = 0;
  #pieceBytesMax = 0;
  readonly #keyTexts: string[] = [];

  constructor() {
    const { memory, kernels } = this;
    // The bytes of the last batch are gone: nothing is stable until bytes are read.
    kernels.setStable(0, 0);
    kernels.beginBatch();
    const { stagedRowAt, stagedKeysAt, stagedFromAt, stagedToAt, stagedAttributesMax } = kernels;
    this.#times = memory.float64(stagedRowAt.value, 2);
    this.#words = memory.uint32(stagedRowAt.value, Staged.words);
    const [keys, from, to] = [stagedKeysAt, stagedFromAt, stagedToAt].map(({ value }) =>
      memory.uint32(value, stagedAttributesMax.value),
    );
    Object.assign(this.#staged, { keys, from, to });
  }

  get keyCount(): number {
    return this.kernels.keyCount();
  }

  get rows(): number {
    return [...this.#days.values()].reduce((sum, day) => sum + this.kernels.dayRows(day), 0);
  }

  get longestKeyBytes(): number {
    return this.kernels.longestKeyBytes();
  }

  read(bytes: Uint8Array, room: number, stableBytes: number): ByteSource {
    const source = this.memory.place(bytes, room);
    const from = source.bytes.byteOffset;
    this.kernels.setStable(from, from + stableBytes);
    return source;
  }

  /** Copies a piece of a body to where the previous piece was. As the next one overwrites it, the batch copies what it keeps. */
  readPiece(bytes: Uint8Array): ByteSource {
    if (bytes.byteLength > this.#pieceBytesMax) {
      // The next pieces are a few bytes longer or shorter.
      this.#pieceBytesMax = bytes.byteLength + (bytes.byteLength >> 3);
      this.#pieceAt = this.memory.reserve(this.#pieceBytesMax);
    }
    this.kernels.setStable(0, 0);
    return toByteSource(this.memory.copyNear(this.#pieceAt, bytes));
  }

  findKey({ bytes }: ByteSource, from: number, to: number): number {
    return this.kernels.findKey(bytes.byteOffset + from, to - from);
  }

  addKey({ bytes }: ByteSource, from: number, to: number): number {
    return this.kernels.addKey(bytes.byteOffset + from, to - from);
  }

  isKey(key: number, { bytes }: ByteSource, from: number, to: number): boolean {
    return this.kernels.isKey(key, bytes.byteOffset + from, to - from) !== 0;
  }

  keyText(key: number): string {
    this.#keyTexts[key] ??= this.#decodeKey(key);
    return this.#keyTexts[key];
  }

  keyBytes(key: number): number {
    return this.kernels.keyLength(key);
  }

  /** Writes the settings of a reader of rows where they belong. Rows with one of the keys of stamps are left to the caller. */
  setRowRules(at: number, settings: readonly number[], stamped: readonly string[]): void {
    this.memory.float64(at, settings.length).set(settings);
    for (const name of stamped) this.addName(name, keyOfPolicy);
  }

  /** Says what a key of this name says of a row, as bits. */
  addName(name: string, kind: number): void {
    const length = this.scratch.write(name, 0);
    this.kernels.addName(this.scratch.source.bytes.byteOffset, length, kind);
  }

  addRow(row: RowRanges, { bytes }: ByteSource): void {
    this.beginDayOf(row.seconds);
    this.stageRow(row);
    this.kernels.addRow(bytes.byteOffset);
  }

  /** Writes a row where kernels read it. */
  stageRow(row: RowRanges): void {
    const { attributes, keys, from, to } = row;
    this.#times[0] = row.seconds;
    this.#times[1] = row.nanos;
    const words = this.#words;
    words[Staged.levelFrom] = row.levelFrom;
    words[Staged.levelTo] = row.levelTo;
    words[Staged.messageFrom] = row.messageFrom;
    words[Staged.messageTo] = row.messageTo;
    words[Staged.attributes] = attributes;
    words[Staged.sharedFrom] = row.sharedFrom;
    words[Staged.sharedSet] = row.sharedSet;
    const staged = this.#staged;
    if (row === staged) return;
    for (let i = 0; i < attributes; i++) {
      staged.keys[i] = keys[i]!;
      staged.from[i] = from[i]!;
      staged.to[i] = to[i]!;
    }
  }

  /** The staged row, until another one is staged. */
  readStaged(): RowRanges {
    const row = this.#staged;
    const words = this.#words;
    row.seconds = this.#times[0]!;
    row.nanos = this.#times[1]!;
    row.levelFrom = words[Staged.levelFrom]!;
    row.levelTo = words[Staged.levelTo]!;
    row.messageFrom = words[Staged.messageFrom]!;
    row.messageTo = words[Staged.messageTo]!;
    row.attributes = words[Staged.attributes]!;
    row.sharedFrom = words[Staged.sharedFrom]!;
    row.sharedSet = words[Staged.sharedSet]!;
    return row;
  }

  /** Rows that follow are added to the day of these seconds. */
  beginDayOf(seconds: number): void {
    const day = Math.floor(seconds / daySeconds);
    if (day === this.#newestDay) return;
    const { kernels } = this;
    const known = this.#days.get(day);
    if (known === undefined) this.#days.set(day, kernels.beginDay(day));
    else kernels.continueDay(known);
    this.#newestDay = day;
  }

  addValue(key: number, text: string): void {
    const to = this.scratch.write(text, 0);
    this.kernels.addValue(key, this.scratch.source.bytes.byteOffset, to);
  }

  finish(stamps: Readonly<Record<string, string>>): DayRows[] {
    return [...this.#days].map(([day, at]) => {
      const rows = this.kernels.dayRows(at);
      return { day, rows, sorted: this.#sortDay(at, rows, stamps) };
    });
  }

  release(isChunk: boolean): void {
    this.memory.giveBack(isChunk ? keptBytesMax.chunk : keptBytesMax.small);
  }

  #sortDay(day: number, rows: number, stamps: Readonly<Record<string, string>>): SortedRows {
    const { memory, kernels } = this;
    const order = kernels.orderByTime(day);
    const positions = order === 0 ? 0 : kernels.invertOrder(order, rows);
    const rowAt = order === 0 ? undefined : memory.uint32(order, rows);
    const columns = Array.from({ length: kernels.dayColumns(day) }, (_, i) => {
      const column = kernels.dayColumn(day, i);
      return { key: this.keyText(kernels.dayKey(day, i)), column, count: kernels.valueCount(column) };
    });
    const [kept, overflow] = selectColumns(columns, stamps);
    const toDense = (column: number): AttributeVector => {
      const codes = memory.reserve(rows * 4);
      kernels.gatherCodes(column, rows, positions, codes);
      return { values: this.#gatherTexts(column), codes: memory.int32(codes, rows) };
    };
    return {
      timeNs: reorderNumbers(memory.float64(kernels.dayTimes(day), rows), rowAt),
      arrival: reorderNumbers(Float64Array.from(memory.uint32(kernels.dayArrivals(day), rows)), rowAt),
      message: this.#gatherMessages(day, rows, order),
      level: toDense(kernels.dayLevel(day)),
      attributes: [
        ...stampRows(stamps, rows),
        ...kept.map(({ key, column }): [string, AttributeVector] => [key, toDense(column)]),
      ],
      overflow: this.#combine(overflow, rows, order === 0 ? undefined : memory.uint32(positions, rows)),
    };
  }

  /** The texts of a column, in the order of their codes. */
  #gatherTexts(column: number): TextVector {
    const { memory, kernels } = this;
    const [count, byteLength] = [kernels.textCount(column), kernels.textBytes(column)];
    const [offsets, bytes] = [memory.reserve((count + 1) * 4), memory.reserve(byteLength)];
    kernels.gatherTexts(column, offsets, bytes);
    return { offsets: memory.uint32(offsets, count + 1), bytes: memory.uint8(bytes, byteLength) };
  }

  #gatherMessages(day: number, rows: number, order: number): SortedRows["message"] {
    const { memory, kernels } = this;
    const byteLength = kernels.dayMessageBytes(day);
    const [offsets, bytes] = [memory.reserve((rows + 1) * 4), memory.reserve(byteLength)];
    kernels.gatherMessages(day, order, offsets, bytes);
    return { offsets: memory.uint32(offsets, rows + 1), bytes: memory.uint8(bytes, byteLength) };
  }

  #combine(
    columns: readonly { key: string; column: number; count: number }[],
    rows: number,
    positions: Uint32Array | undefined,
  ): AttributeVector | undefined {
    const { memory, kernels } = this;
    if (columns.length === 0) return undefined;
    const sparse = columns.map(({ key, column, count }) => {
      const values = this.#gatherTexts(column);
      return {
        ...{ key, count, values },
        rows: memory.uint32(kernels.columnRows(column), count),
        codes: memory.uint32(kernels.columnCodes(column), count),
      };
    });
    return toDenseAttribute(toOverflowAttribute(sparse), rows, positions);
  }

  #placeScratch(byteLength: number): ByteSource {
    return this.memory.place(new Uint8Array(0), byteLength);
  }

  #decodeKey(key: number): string {
    const { kernels } = this;
    const length = kernels.keyLength(key);
    return decodeText(this.memory.uint8(kernels.keyAt(key), length), 0, length);
  }
}

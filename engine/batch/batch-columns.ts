/** Where the rows of a batch are collected: columns for each of its days. */

import type { SortedRows } from "../chunk/chunk-encoder.ts";
import type { ByteSource } from "../vector/text-table.ts";
import type { RowRanges } from "./row-ranges.ts";
import type { ScratchBytes } from "./scratch-bytes.ts";

/** The rows of one day. */
export interface DayRows {
  day: number;
  rows: number;
  sorted: SortedRows;
}

/**
 * Keys of attributes are numbered in the order in which they are first added. There are two implementations: in
 * WebAssembly (`MemoryColumns`), and in TypeScript (`PlainColumns`), which the other is tested against.
 */
export interface BatchColumns {
  /** Number of distinct keys so far. */
  readonly keyCount: number;
  /** Number of rows so far. */
  readonly rows: number;
  /** Where the texts of a row are written that come as strings. */
  readonly scratch: ScratchBytes;
  /**
   * Copies bytes to where `addRow` reads them. Returns the copy, followed by `room` free bytes. The first `stableBytes` must
   * not be overwritten after a row with a text in them was added; texts in the other bytes are copied.
   */
  read(bytes: Uint8Array, room: number, stableBytes: number): ByteSource;
  /** The number of the key at [from, to); -1 where it has none yet. */
  findKey(source: ByteSource, from: number, to: number): number;
  /** The number of the key at [from, to), given now where it has none yet. */
  addKey(source: ByteSource, from: number, to: number): number;
  /** Returns whether the key at [from, to) has this number. */
  isKey(key: number, source: ByteSource, from: number, to: number): boolean;
  keyText(key: number): string;
  /** Length in bytes of the longest key so far. */
  readonly longestKeyBytes: number;
  /** Length of a key in bytes. */
  keyBytes(key: number): number;
  /** Adds a row, whose ranges lie in `source`, to its day. */
  addRow(row: RowRanges, source: ByteSource): void;
  /** Adds an attribute to the row that was added last. */
  addValue(key: number, text: string): void;
  /** The rows of each day, in order of time. `stamps` are attributes that each row has, and no row brought. */
  finish(stamps: Readonly<Record<string, string>>): DayRows[];
  /**
   * What `finish` returned must not be used any more, and nothing else be called. `isChunk`: the rows were as many as those
   * of a chunk, and the next ones will be.
   */
  release(isChunk: boolean): void;
}

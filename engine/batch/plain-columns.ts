/** The columns of a batch in TypeScript. */

import {
  type AttributeBuilder,
  type ChunkBuilder,
  createChunkBuilder,
  getAttributeBuilder,
} from "../chunk/chunk-builder.ts";
import { sortRows } from "../chunk/chunk-encoder.ts";
import { daySeconds } from "../model/day.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";
import type { BatchColumns, DayRows } from "./batch-columns.ts";
import type { RowRanges } from "./row-ranges.ts";
import { ScratchBytes } from "./scratch-bytes.ts";

interface PlainDay {
  day: number;
  builder: ChunkBuilder;
  /** Attribute columns by the batch's number of their key. */
  columns: (AttributeBuilder | undefined)[];
}

/** For tests: what the columns in WebAssembly are compared with. */
export class PlainColumns implements BatchColumns {
  readonly scratch = new ScratchBytes((byteLength) => toByteSource(new Uint8Array(byteLength)));
  readonly #keys = new TextTable();
  readonly #days = new Map<number, PlainDay>();
  /** The day of the newest row: the next row is most likely of the same day. */
  #newest: PlainDay | undefined;
  #rows = 0;

  longestKeyBytes = 0;

  get keyCount(): number {
    return this.#keys.size;
  }

  read(bytes: Uint8Array, room: number): ByteSource {
    const copy = new Uint8Array(bytes.byteLength + room);
    copy.set(bytes);
    return toByteSource(copy);
  }

  findKey(source: ByteSource, from: number, to: number): number {
    return this.#keys.find(source, from, to);
  }

  addKey(source: ByteSource, from: number, to: number): number {
    if (to - from > this.longestKeyBytes) this.longestKeyBytes = to - from;
    return this.#keys.intern(source, from, to);
  }

  isKey(key: number, source: ByteSource, from: number, to: number): boolean {
    return this.#keys.equals(key, source, from, to);
  }

  keyText(key: number): string {
    return this.#keys.textOf(key);
  }

  keyBytes(key: number): number {
    return this.#keys.lengthOf(key);
  }

  addRow(row: RowRanges, source: ByteSource): void {
    const day = Math.floor(row.seconds / daySeconds);
    const { builder, columns } = this.#rowsOfDay(day);
    builder.timeNs.push((row.seconds - day * daySeconds) * 1e9 + row.nanos);
    builder.arrival.push(this.#rows++);
    builder.level.push(builder.rows, builder.level.values.intern(source, row.levelFrom, row.levelTo));
    builder.message.pushRange(source.bytes, row.messageFrom, row.messageTo);
    for (let i = 0; i < row.attributes; i++) {
      const key = row.keys[i]!;
      const column = columns[key] ?? this.#addColumn(builder, columns, key);
      column.push(builder.rows, column.values.intern(source, row.from[i]!, row.to[i]!));
    }
    builder.rows++;
  }

  addValue(key: number, text: string): void {
    const { builder } = this.#newest!;
    getAttributeBuilder(builder, this.keyText(key)).pushText(builder.rows - 1, text);
  }

  finish(stamps: Readonly<Record<string, string>>): DayRows[] {
    return [...this.#days.values()].map(({ day, builder }) => ({
      ...{ day, rows: builder.rows },
      sorted: sortRows(builder, stamps),
    }));
  }

  release(): void {
    this.#days.clear();
  }

  get rows(): number {
    return this.#rows;
  }

  /** The rows of a day, added where there are none yet. */
  #rowsOfDay(day: number): PlainDay {
    if (this.#newest?.day === day) return this.#newest;
    let found = this.#days.get(day);
    if (found === undefined) {
      found = { day, builder: createChunkBuilder(), columns: [] };
      this.#days.set(day, found);
    }
    this.#newest = found;
    return found;
  }

  #addColumn(builder: ChunkBuilder, columns: PlainDay["columns"], key: number): AttributeBuilder {
    const column = getAttributeBuilder(builder, this.#keys.textOf(key));
    columns[key] = column;
    return column;
  }
}

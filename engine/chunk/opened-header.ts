/**
 * A chunk header in memory. It stays JSON, and the description of a column and the list of its values are parsed on first
 * use: a chunk of events has hundreds of columns, of which a query needs a few.
 */

import { lowerBound } from "../vector/binary-search.ts";
import type { ChunkExtent } from "./chunk-entry.ts";
import {
  type ChunkHeader,
  type ChunkOutline,
  type ColumnHeader,
  type ColumnOutline,
  type ColumnOutlines,
  type ColumnRole,
  type ListedValue,
  parseHeader,
} from "./chunk-header.ts";

export interface OpenedHeader {
  header: ChunkOutline;
  /** See `ChunkSource`. */
  listedValues(column: number): ListedValue[] | undefined;
}

/**
 * Opens the JSON of a chunk header. The caller has verified the checksum of its frame or batch. `json` is kept and read
 * later, so its bytes must not change.
 */
export function openHeader(json: Uint8Array): OpenedHeader {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const columns = findColumnsRange(bytes);
  return columns === undefined ? openParsed(parseHeader(json)) : openUnparsed(bytes, columns);
}

/** A range of bytes. */
interface ByteRange {
  from: number;
  to: number;
}

/*
 * A quote in a text of JSON has a backslash before it, so none of these stands in a text.
 */
const columnsStart = Buffer.from('"columns":[');
const columnStart = Buffer.from('{"role":"');
const listStart = Buffer.from(',"values":[');
const closingBracket = 0x5d;
/** After so many searches in the bytes of a header, 2 to 30 µs each, all columns are parsed and indexed. */
const searchesMax = 32;

/** The bytes between the brackets of the columns; undefined where the JSON is not as encoders write it. */
function findColumnsRange(bytes: Buffer): ByteRange | undefined {
  const start = bytes.indexOf(columnsStart);
  const from = start + columnsStart.byteLength;
  // Only numbers stand after the columns.
  const to = bytes.lastIndexOf(closingBracket);
  if (start < 0 || to < from) return undefined;
  const first = bytes.toString("latin1", from, Math.min(to, from + 64));
  return from === to || /^\{"role":"[a-z]+","key":"/.test(first) ? { from, to } : undefined;
}

function openUnparsed(bytes: Buffer, { from, to }: ByteRange): OpenedHeader {
  const extent = JSON.parse(bytes.toString("latin1", 0, from) + bytes.toString("latin1", to)) as ChunkExtent;
  const columns = new UnparsedColumns(bytes, { from, to });
  return { header: { ...extent, columns }, listedValues: (column) => columns.listedValues(column) };
}

/** The columns of a header as JSON, each parsed on first use. The JSON of a column begins with its role and its key. */
class UnparsedColumns implements ColumnOutlines {
  readonly #bytes: Buffer;
  /** The bytes from the first column to the end of the last. */
  readonly #range: ByteRange;
  /** Offsets of the columns that were found so far. */
  readonly #starts: number[] = [];
  /** Columns that begin before this offset are in `#starts`. */
  #passedTo: number;
  readonly #parsed: ColumnOutline[] = [];
  #all: readonly ColumnOutline[] | undefined;
  /** Searches for columns in the bytes. */
  #searches = 0;
  /** The index of the first column of each role and key, once there were many searches. */
  #indexes: Map<ColumnRole, Map<string, number>> | undefined;
  /** Parsed lists, by column. A list that was garbage-collected is parsed again. */
  readonly #lists = new Map<number, WeakRef<ListedValue[]>>();

  constructor(bytes: Buffer, range: ByteRange) {
    this.#bytes = bytes;
    this.#range = range;
    this.#passedTo = range.from;
  }

  get length(): number {
    this.#passTo(this.#range.to);
    return this.#starts.length;
  }

  get(index: number): ColumnOutline | undefined {
    const known = this.#parsed[index];
    if (known !== undefined) return known;
    const json = this.#jsonOf(index);
    if (json === undefined) return undefined;
    const column = parseOutline(json);
    this.#parsed[index] = column;
    return column;
  }

  all(): readonly ColumnOutline[] {
    this.#all ??= Array.from({ length: this.length }, (_, i) => this.get(i)!);
    return this.#all;
  }

  find(role: ColumnRole, key = ""): number {
    if (this.#searches === searchesMax) this.#indexes ??= indexColumns(this.all());
    if (this.#indexes !== undefined) return this.#indexes.get(role)?.get(key) ?? -1;
    this.#searches++;
    const at = this.#bytes.indexOf(`{"role":"${role}","key":${JSON.stringify(key)},`, this.#range.from);
    if (at < 0) return -1;
    this.#passTo(at + 1);
    return lowerBound(this.#starts, at);
  }

  listedValues(index: number): ListedValue[] | undefined {
    const known = this.#lists.get(index)?.deref();
    if (known !== undefined) return known;
    const column = this.#jsonOf(index);
    if (column === undefined || column.indexOf(listStart) < 0) return undefined;
    const { values } = parseColumn(column);
    if (values !== undefined) this.#lists.set(index, new WeakRef(values));
    return values;
  }

  /** Adds the columns that begin before an offset to `#starts`. */
  #passTo(offset: number): void {
    while (this.#passedTo < offset) {
      const start = this.#bytes.indexOf(columnStart, this.#passedTo);
      if (start >= 0) this.#starts.push(start);
      this.#passedTo = start < 0 ? this.#range.to : start + columnStart.byteLength;
    }
  }

  /** The JSON of the column with an index; undefined where the index is out of range. */
  #jsonOf(index: number): Buffer | undefined {
    // A comma separates two columns, so the start of the next column must be found, too.
    while (this.#starts.length < index + 2 && this.#passedTo < this.#range.to)
      this.#passTo(this.#passedTo + 1);
    const from = this.#starts[index];
    if (from === undefined) return undefined;
    const next = this.#starts[index + 1];
    return this.#bytes.subarray(from, next === undefined ? this.#range.to : next - 1);
  }
}

function indexColumns(columns: readonly ColumnOutline[]): Map<ColumnRole, Map<string, number>> {
  const indexes = new Map<ColumnRole, Map<string, number>>();
  for (const [i, { role, key }] of columns.entries()) {
    const byKey = indexes.get(role) ?? new Map<string, number>();
    indexes.set(role, byKey);
    if (!byKey.has(key)) byKey.set(key, i);
  }
  return indexes;
}

/** Parses a column without its list of values. */
function parseOutline(json: Buffer): ColumnOutline {
  const start = json.indexOf(listStart);
  if (start < 0) return parseColumn(json);
  try {
    const end = json.indexOf("]", start);
    const listEnd = end === start + listStart.byteLength ? end + 1 : json.indexOf("]]", start) + 2;
    return JSON.parse(json.toString("utf8", 0, start) + json.toString("utf8", listEnd)) as ColumnOutline;
  } catch {
    // A value has two brackets in it.
    const { values, ...outline } = parseColumn(json);
    return outline;
  }
}

function parseColumn(json: Buffer): ColumnHeader {
  return JSON.parse(json.toString("utf8")) as ColumnHeader;
}

function openParsed({ columns, ...extent }: ChunkHeader): OpenedHeader {
  const outlines = columns.map(({ values, ...outline }): ColumnOutline => outline);
  const indexes = indexColumns(outlines);
  return {
    header: {
      ...extent,
      columns: {
        length: outlines.length,
        get: (index) => outlines[index],
        all: () => outlines,
        find: (role, key = "") => indexes.get(role)?.get(key) ?? -1,
      },
    },
    listedValues: (index) => columns[index]?.values,
  };
}

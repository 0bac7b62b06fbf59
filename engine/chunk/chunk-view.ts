/** A chunk opened on one thread: its columns, decoded when first asked for, and kept as long as there is room. */

import { type Column, columnBytes, columnText, hasValue } from "../column/column.ts";
import { asDictionary, isDictionary } from "../column/dictionary.ts";
import { decodeColumn, decodeDelta, decodeGroup, decodeMessage, decodeSamples } from "../column/encoding.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { templateIds } from "../column/template-id-column.ts";
import { Failure } from "../failure.ts";
import type { ColumnHeap, Held } from "../kernels/heap.ts";
import type { Field } from "../plan/filter.ts";
import type { MessageColumn } from "../template/message-column.ts";
import type { TokenFilter } from "../template/token-filter.ts";
import {
  letterWidths,
  readTokenFilter,
  type VariableGroup,
  variableGroups,
} from "../template/variable-columns.ts";
import { decodeText, type TextVector, textVector } from "../vector/text.ts";
import { type ChunkHeader, type ChunkSource, type ColumnRole, findColumn } from "./chunk-header.ts";

/** Something decoded, and its memory. */
interface CachedValue<T> {
  value: T;
  held: Held;
}

/** What is decoded of a chunk, shared by all views of it. */
export class ChunkColumns {
  readonly source: ChunkSource;
  readonly day: number;
  readonly columns = new Map<number, CachedValue<Column>>();
  readonly numbers = new Map<number, CachedValue<Float64Array>>();
  readonly groups = new Map<number, CachedValue<VariableGroup>>();
  readonly filters = new Map<number, CachedValue<Uint8Array>>();
  /** Columns that are made of others, by the name of the field. */
  readonly derived = new Map<string, CachedValue<Column>>();
  /** Memory of all of these. */
  readonly held = new Set<Held>();

  constructor(source: ChunkSource, day: number) {
    this.source = source;
    this.day = day;
  }
}

/** A chunk under one lease: what it hands out is good until the lease ends. */
export class ChunkView {
  readonly heap: ColumnHeap;
  readonly #chunk: ChunkColumns;
  /** The messages, whose variables are held by this view's lease. */
  #messages: MessageColumn | undefined;
  /** Bytes of columns that this view had to read. */
  readBytes = 0;

  constructor(chunk: ChunkColumns, heap: ColumnHeap) {
    this.#chunk = chunk;
    this.heap = heap;
  }

  get day(): number {
    return this.#chunk.day;
  }

  get header(): ChunkHeader {
    return this.#chunk.source.header;
  }

  /** What attributes have a value for: rows, or the series of a chunk of metrics. */
  get rows(): number {
    const { header } = this.#chunk.source;
    return header.series ?? header.rows;
  }

  /** Ends the lease: nothing that the view handed out may be used any more. */
  close(): void {
    this.heap.end();
  }

  /** Bytes of decoded columns; what a query's memory cap counts. */
  get decodedBytes(): number {
    let bytes = 0;
    for (const held of this.#chunk.held) bytes += held.byteLength;
    return bytes;
  }

  /** Nanoseconds since the start of the day, ascending. */
  get timeNs(): Float64Array {
    return this.#number("time");
  }

  get arrival(): Float64Array {
    return this.#number("arrival");
  }

  /** The column behind a field other than time; "absent" where no row of the chunk has it. */
  column(field: Exclude<Field, { kind: "time" }>): Column {
    if (field.kind === "template") return this.#templates();
    if (field.kind !== "attribute") return this.#column(findColumn(this.header, field.kind));
    const own = findColumn(this.header, "attribute", field.key);
    return own >= 0 ? this.#column(own) : this.#restColumn(field.key);
  }

  /** A column of whole numbers. */
  numbers(role: "time" | "clock" | "samples"): Float64Array {
    return this.#number(role);
  }

  /** A column that describes the series of a chunk of metrics. */
  described(role: "name" | "type" | "unit" | "fingerprint"): Column {
    return this.#column(findColumn(this.header, role));
  }

  /** The filter over the names of a chunk of metrics that has very many. */
  memberNames(): Uint8Array | undefined {
    return this.#filter(findColumn(this.header, "name"));
  }

  /** Values of the samples of some series; `offsets`: of each its first sample, and the number of all. */
  samples(column: number, offsets: ArrayLike<number>): Float64Array {
    return this.#keep(this.#chunk.numbers, column, (held) =>
      decodeSamples(this.#read(column), offsets, held),
    );
  }

  /** The pairs of rare keys, as text; see rest.ts. */
  get overflow(): Column {
    return this.#column(findColumn(this.header, "rest"));
  }

  /** The column behind a field as a dictionary, or absent, or a constant that no row lacks. */
  dictionary(field: Exclude<Field, { kind: "time" }>): Column {
    const column = this.column(field);
    if (isDictionary(column)) return column;
    const name = field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
    return this.#keep(this.#chunk.derived, name, (held) => asDictionary(column, held));
  }

  /** Texts that are made of columns, kept as one under a name that no field has. */
  texts(name: string, make: () => TextVector): TextVector {
    const column = this.#keep(this.#chunk.derived, name, (held): Column => {
      const { offsets, bytes } = make();
      const placed = held.uint32(offsets.length);
      placed.set(offsets);
      const text = { offsets: placed, bytes: held.place(bytes) };
      return { kind: "text", rows: offsets.length - 1, text, valid: null };
    });
    if (column.kind !== "text") throw new Error(`${name}: no texts`);
    return column.text;
  }

  /** The filter of a field's column, if it has one: members of an attribute's values, runs of letters in messages. */
  filter(field: Field): Uint8Array | undefined {
    if (field.kind === "time" || field.kind === "template") return undefined;
    return this.#filter(findColumn(this.header, field.kind, field.kind === "attribute" ? field.key : ""));
  }

  /** Which long runs of digits a group of variables holds, if that is known. */
  tokenFilter(group: number): TokenFilter | undefined {
    const filter = this.#variablesFilter(group);
    return filter === undefined ? undefined : readTokenFilter(filter, group, this.heap.kernels);
  }

  /** Which runs of letters a group of variables holds, if that is known. */
  ngramFilter(group: number): Uint8Array | undefined {
    return letterWidths[group] === undefined ? undefined : this.#variablesFilter(group);
  }

  /** Every attribute of one row. */
  attributes(row: number): [key: string, value: string][] {
    const pairs: [string, string][] = [];
    this.eachAttribute(row, (key, value) => pairs.push([key, decodeText(value, 0, value.byteLength)]));
    return pairs;
  }

  /** The same, values as UTF-8 that is good until the next call. */
  eachAttribute(row: number, onAttribute: (key: string, value: Uint8Array) => void): void {
    for (const [i, { role, key }] of this.header.columns.entries()) {
      if (role !== "attribute" && role !== "rest") continue;
      const column = this.#column(i);
      if (!hasValue(column, row)) continue;
      if (role === "attribute") onAttribute(key, columnBytes(column, row));
      else {
        for (const [name, value] of parseOverflow(columnText(column, row)!))
          onAttribute(name, Buffer.from(value, "utf8"));
      }
    }
  }

  /** One key's values out of the column that holds the rare keys together. */
  #restColumn(key: string): Column {
    const { overflow } = this;
    if (overflow.kind === "absent") return overflow;
    const values = new Map<number, string>();
    for (let row = 0; row < this.rows; row++) {
      const text = columnText(overflow, row);
      if (text === undefined || !text.includes(JSON.stringify(key))) continue;
      for (const [name, value] of parseOverflow(text)) if (name === key) values.set(row, value);
    }
    return buildSparseColumn(values, this.rows, this.heap);
  }

  #column(index: number): Column {
    if (index < 0) return { kind: "absent", rows: this.rows };
    const column = this.#keep(this.#chunk.columns, index, (held) => {
      const stored = this.#read(index);
      return this.header.columns[index]!.role === "message"
        ? decodeMessage(stored, held)
        : decodeColumn(stored, held);
    });
    if (column.kind !== "message") return column;
    this.#messages ??= column.messages.withGroups((messages, group) => this.#group(messages, group));
    return { ...column, messages: this.#messages };
  }

  /** Messages that are stored as templates share their codes. */
  #templates(): Column {
    const messages = this.column({ kind: "message" });
    const ids = this.#keep(this.#chunk.derived, "template", (held) => templateIds(messages, held));
    if (messages.kind !== "message" || ids.kind !== "dictionary") return ids;
    return { ...ids, codes: messages.messages.codes };
  }

  #number(role: ColumnRole): Float64Array {
    const index = findColumn(this.header, role);
    return this.#keep(this.#chunk.numbers, index, (held) => {
      const values = decodeDelta(this.#read(index), held);
      if (role === "arrival" && this.#chunk.source.arrivalBase !== 0) {
        for (let row = 0; row < values.length; row++)
          values[row] = values[row]! + this.#chunk.source.arrivalBase;
      }
      return values;
    });
  }

  #group(messages: MessageColumn, group: number): VariableGroup {
    return this.#keep(this.#chunk.groups, group, (held) => {
      const index = findColumn(this.header, "variables", variableGroups[group]!);
      if (index < 0) throw new Failure("damage", "message: variables are missing");
      return decodeGroup(this.#read(index), messages, group, held, (key) => {
        const column = this.column({ kind: "attribute", key });
        return (row) => columnBytes(column, row);
      });
    });
  }

  #variablesFilter(group: number): Uint8Array | undefined {
    return this.#filter(findColumn(this.header, "variables", variableGroups[group]!));
  }

  /** Undefined too where there is no room to keep it: it can be done without. */
  #filter(index: number): Uint8Array | undefined {
    const filterBytes = this.header.columns[index]?.filterBytes ?? 0;
    if (filterBytes === 0) return undefined;
    if (!this.#chunk.filters.has(index) && !this.heap.hasRoom(filterBytes)) return undefined;
    return this.#keep(this.#chunk.filters, index, (held) => held.place(this.#chunk.source.filter(index)!));
  }

  /** What a map has under an index, made where it has nothing. */
  #keep<K, T>(map: Map<K, CachedValue<T>>, index: K, make: (held: Held) => T): T {
    const known = map.get(index);
    if (known !== undefined) {
      this.heap.touch(known.held);
      return known.value;
    }
    const held: Held = this.heap.hold(() => {
      map.delete(index);
      this.#chunk.held.delete(held);
    });
    this.#chunk.held.add(held);
    try {
      const value = make(held);
      map.set(index, { value, held });
      return value;
    } catch (error) {
      this.heap.release(held);
      throw error;
    }
  }

  #read(index: number): Uint8Array {
    const payload = this.#chunk.source.payload(index);
    this.readBytes += payload.byteLength;
    return payload;
  }
}

function buildSparseColumn(values: Map<number, string>, rows: number, heap: ColumnHeap): Column {
  if (values.size === 0) return { kind: "absent", rows };
  const distinct = [...new Set(values.values())];
  const codeOf = new Map(distinct.map((value, code) => [value, code]));
  const codes = heap.scratch.uint32(rows).fill(distinct.length);
  for (const [row, value] of values) codes[row] = codeOf.get(value)!;
  return { kind: "dictionary", rows, values: textVector(distinct), valueCount: distinct.length, codes };
}

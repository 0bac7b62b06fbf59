/** A chunk opened on one thread: columns are decoded on first use and cached while there is memory for them. */

import { type Column, columnBytes, columnText, hasValue } from "../column/column.ts";
import { buildSparseColumn, canGroupByCodes, toDictionary } from "../column/dictionary.ts";
import { decodeColumn, decodeDelta, decodeMessage, decodeSamples } from "../column/encoding.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { buildTemplateIdColumn } from "../column/template-id-column.ts";
import { openTextBlocks } from "../column/text-blocks.ts";
import type { ValuePages } from "../files/value-pages.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import { type Field, fieldKey } from "../plan/filter.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { PagedTokenFilter } from "../template/paged-token-filter.ts";
import { PlainTextFilter } from "../template/plain-text-filter.ts";
import type { TokenSearch } from "../template/token-filter.ts";
import {
  ngramFilterBytes,
  ngramLengths,
  readTokenFilter,
  tokenFilterStart,
} from "../template/variables/variable-columns.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { decodeText, type TextVector } from "../vector/text.ts";
import type { ChunkColumns } from "./chunk-columns.ts";
import type { ChunkOutline, ColumnRole, ListedValue } from "./chunk-header.ts";
import { ColumnReader, useOnce } from "./column-reader.ts";
import { findVariables, VariableLoader } from "./variable-loader.ts";

/** By their bytes, since a reader keeps what it found last. */
const plainTextFilters = new WeakMap<Uint8Array, PlainTextFilter>();

/**
 * After so many lookups in single pages a filter is read and cached as a whole: the pages of all these lookups together
 * take about as long to read.
 */
const pagedLookupsMax = 8;

/** The column of an attribute, or with no key that of the overflow attributes. */
interface AttributeColumn {
  key: string | undefined;
  column: Column;
}

/** Access to a chunk under one lease of memory: everything that it returns is valid until `close`. */
export class ChunkView {
  readonly heap: ColumnHeap;
  readonly #chunk: ChunkColumns;
  /** The messages; their variables are decoded under this view's lease. */
  #messages: MessageColumn | undefined;
  /** All columns of attributes, once they were asked for. */
  #attributes: readonly AttributeColumn[] | undefined;
  readonly #reader: ColumnReader;
  readonly #variables: VariableLoader;

  constructor(chunk: ChunkColumns, heap: ColumnHeap) {
    this.#chunk = chunk;
    this.heap = heap;
    this.#reader = new ColumnReader(chunk, heap);
    this.#variables = new VariableLoader(this.#reader, this);
  }

  /** Bytes of the payloads that this view opened because they were not cached; of those in blocks, too, all bytes. */
  get readBytes(): number {
    return this.#reader.readBytes;
  }

  get day(): number {
    return this.#chunk.day;
  }

  get header(): ChunkOutline {
    return this.#chunk.source.header;
  }

  /** The distinct values of a column, by its index in the header; undefined where the header does not list them. */
  listedValues(column: number): ListedValue[] | undefined {
    return this.#chunk.source.listedValues(column);
  }

  /** Number of values of an attribute column: rows, or the series of a chunk of metrics. */
  get rows(): number {
    const { header } = this.#chunk.source;
    return header.series ?? header.rows;
  }

  /** Ends the lease: nothing that the view returned may be used any more. */
  close(): void {
    this.#variables.close();
    this.heap.end();
  }

  /** Bytes of all decoded columns of the chunk; a query's memory cap counts them. */
  get decodedBytes(): number {
    let bytes = 0;
    for (const held of this.#chunk.held) bytes += held.byteLength;
    return bytes;
  }

  /** Nanoseconds since the start of the day, ascending. */
  get timeNs(): Float64Array {
    return this.#number("time");
  }

  /** Least and greatest arrival number of the rows. */
  get arrivalRange(): { min: number; max: number } {
    const { header, arrivalBase } = this.#chunk.source;
    return { min: arrivalBase + header.arrivalMin, max: arrivalBase + header.arrivalMax };
  }

  /** Arrival numbers of the rows. */
  get arrival(): Float64Array {
    return this.#number("arrival");
  }

  /** The column of a field; "absent" where no row of the chunk has it. */
  column(field: Exclude<Field, { kind: "time" }>): Column {
    if (field.kind === "template") return this.#templates();
    if (field.kind !== "attribute") return this.#column(this.header.columns.find(field.kind));
    const own = this.header.columns.find("attribute", field.key);
    return own >= 0 ? this.#column(own) : this.#overflowColumn(field.key);
  }

  /** A column of whole numbers of a chunk of metrics (`time` is in every chunk). */
  numbers(role: "time" | "clock" | "samples"): Float64Array {
    return this.#number(role);
  }

  /** A column that describes the series of a chunk of metrics. */
  seriesColumn(role: "name" | "type" | "unit" | "fingerprint"): Column {
    return this.#column(this.header.columns.find(role));
  }

  /** The membership filter over the metric names of a chunk whose header does not list them all. */
  nameFilter(): Uint8Array | undefined {
    return this.#filter(this.header.columns.find("name"));
  }

  /** Values of a `value` column. `offsets`: the first sample of each of its series, then the end of the last. */
  samples(column: number, offsets: ArrayLike<number>): Float64Array {
    return this.#reader.getOrMake(this.#chunk.numbers, column, (held) =>
      this.#reader.decode(column, held, (payload) => decodeSamples(payload, offsets, held)),
    );
  }

  /** The overflow attributes as JSON text; see column/overflow-attributes.ts. */
  get overflow(): Column {
    return this.#column(this.header.columns.find("rest"));
  }

  /** The column of a field as a dictionary; or absent; or a constant that every row has. */
  dictionary(field: Exclude<Field, { kind: "time" }>): Column {
    const column = this.column(field);
    if (canGroupByCodes(column)) return column;
    return this.#reader.getOrMake(this.#chunk.derived, fieldKey(field), (held) => toDictionary(column, held));
  }

  /** Texts computed from columns by `make`, cached under a name that no field has. */
  texts(name: string, make: () => TextVector): TextVector {
    const column = this.#reader.getOrMake(this.#chunk.derived, name, (held): Column => {
      const { offsets, bytes } = make();
      const heldOffsets = held.uint32(offsets.length);
      heldOffsets.set(offsets);
      const text = { offsets: heldOffsets, bytes: held.place(bytes) };
      return { kind: "text", rows: offsets.length - 1, text, valid: null };
    });
    if (column.kind !== "text") throw new Error(`${name}: no texts`);
    return column.text;
  }

  /**
   * The filter of a field's column, if it has one: a membership filter over an attribute's values, or the n-gram filter
   * of messages.
   */
  filter(field: Field): Uint8Array | undefined {
    if (field.kind === "time" || field.kind === "template") return undefined;
    return this.#filter(this.header.columns.find(field.kind, field.kind === "attribute" ? field.key : ""));
  }

  /** The filter of messages that are stored as plain text; undefined where there is none. */
  plainTextFilter(): PlainTextFilter | undefined {
    const index = this.header.columns.find("message");
    if (this.header.columns.get(index)?.encoding !== "text") return undefined;
    const filter = this.#filter(index);
    return (
      filter && getOrMake(plainTextFilters, filter, () => new PlainTextFilter(filter, this.heap.kernels))
    );
  }

  /**
   * The token filter of a group of variables: which long numbers and ids it may hold. Undefined where there is none.
   */
  tokenFilter(group: number): TokenSearch | undefined {
    const index = findVariables(this.header, group);
    const paged = this.#pagedTokens(index, group);
    const readsPages = paged !== undefined && paged.lookups < pagedLookupsMax;
    const filter = readsPages ? undefined : this.#filter(index);
    return filter === undefined ? paged : readTokenFilter(filter, group, this.heap.kernels);
  }

  /** The character n-gram filter of a group of variables. Undefined where there is none. */
  ngramFilter(group: number): Uint8Array | undefined {
    if (ngramLengths[group] === undefined) return undefined;
    const index = findVariables(this.header, group);
    const pages = this.#filterPages(index);
    if (pages === undefined) return this.#filter(index);
    const to = ngramFilterBytes(group);
    if (!this.#chunk.ngrams.has(group) && !this.heap.hasRoom(to)) return undefined;
    return this.#reader.getOrMake(this.#chunk.ngrams, group, (held) =>
      held.place(pages.read([{ from: 0, to }])[0]!),
    );
  }

  /** Every attribute of one row. */
  attributes(row: number): [key: string, value: string][] {
    const pairs: [string, string][] = [];
    this.eachAttribute(row, (key, value) => pairs.push([key, decodeText(value, 0, value.byteLength)]));
    return pairs;
  }

  /** Calls back for every attribute of one row. The value is UTF-8, valid until the next call. */
  eachAttribute(row: number, onAttribute: (key: string, value: Uint8Array) => void): void {
    this.#attributes ??= this.#attributeColumns();
    for (const { key, column } of this.#attributes) {
      if (!hasValue(column, row)) continue;
      if (key !== undefined) onAttribute(key, columnBytes(column, row));
      else {
        for (const [name, value] of parseOverflow(columnText(column, row)!))
          onAttribute(name, Buffer.from(value, "utf8"));
      }
    }
  }

  #attributeColumns(): AttributeColumn[] {
    const columns: AttributeColumn[] = [];
    for (const [i, { role, key }] of this.header.columns.all().entries()) {
      if (role === "attribute") columns.push({ key, column: this.#column(i) });
      else if (role === "rest") columns.push({ key: undefined, column: this.#column(i) });
    }
    return columns;
  }

  /** One key's values out of the overflow attributes. */
  #overflowColumn(key: string): Column {
    const { overflow } = this;
    if (overflow.kind === "absent") return overflow;
    const values = new Map<number, string>();
    for (let row = 0; row < this.rows; row++) {
      const text = columnText(overflow, row);
      if (text === undefined || !text.includes(JSON.stringify(key))) continue;
      for (const [name, value] of parseOverflow(text)) if (name === key) values.set(row, value);
    }
    return buildSparseColumn(values, this.rows, this.heap.scratch);
  }

  #column(index: number): Column {
    if (index < 0) return { kind: "absent", rows: this.rows };
    const column = this.#reader.getOrMake(this.#chunk.columns, index, (held) => {
      const blocks = this.#chunk.source.payloadBlocks?.(index);
      if (blocks !== undefined) {
        this.#reader.readBytes += blocks.byteLength;
        return openTextBlocks(blocks, held);
      }
      const decode = this.header.columns.get(index)!.role === "message" ? decodeMessage : decodeColumn;
      return this.#reader.decode(index, held, (payload) => decode(payload, held));
    });
    if (column.kind !== "message") return column;
    this.#messages ??= column.messages.withLoader(this.#variables);
    return { ...column, messages: this.#messages };
  }

  /** Template ids of the messages. Where messages are stored as templates, the id column shares their codes. */
  #templates(): Column {
    const messages = this.column({ kind: "message" });
    const ids = this.#reader.getOrMake(this.#chunk.derived, "template", (held) =>
      buildTemplateIdColumn(messages, held),
    );
    if (messages.kind !== "message" || ids.kind !== "dictionary") return ids;
    return { ...ids, codes: messages.messages.codes };
  }

  #number(role: ColumnRole): Float64Array {
    const index = this.header.columns.find(role);
    return this.#reader.getOrMake(this.#chunk.numbers, index, (held) => {
      const values = this.#reader.decode(index, held, (payload) => decodeDelta(payload, held));
      if (role === "arrival" && this.#chunk.source.arrivalBase !== 0) {
        for (let row = 0; row < values.length; row++)
          values[row] = values[row]! + this.#chunk.source.arrivalBase;
      }
      return values;
    });
  }

  #pagedTokens(index: number, group: number): PagedTokenFilter | undefined {
    const known = this.#chunk.pagedTokens.get(index);
    if (known !== undefined) return known;
    const pages = this.#filterPages(index);
    if (pages === undefined) return undefined;
    const tokens = new PagedTokenFilter(pages, tokenFilterStart(group));
    this.#chunk.pagedTokens.set(index, tokens);
    return tokens;
  }

  /** Undefined where a filter can only be read as a whole, or there is none. */
  #filterPages(index: number): ValuePages | undefined {
    if (this.header.columns.get(index)?.filterPages === undefined) return undefined;
    return getOrMake(this.#chunk.filterPages, index, () => this.#chunk.source.filterPages?.(index));
  }

  /** Undefined also where there is no memory to cache it: filters only save work. */
  #filter(index: number): Uint8Array | undefined {
    const filterBytes = this.header.columns.get(index)?.filterBytes ?? 0;
    if (filterBytes === 0) return undefined;
    if (!this.#chunk.filters.has(index) && !this.heap.hasRoom(filterBytes)) return undefined;
    return this.#reader.getOrMake(this.#chunk.filters, index, (held) =>
      useOnce(this.#chunk.source.filter(index)!, held, (filter) => held.place(filter)),
    );
  }
}

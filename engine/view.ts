/** A chunk opened for one scan: its columns, decoded when first asked for. */
import { parseRest } from "./build.ts";
import { type ChunkHeader, type ChunkSource, type ColumnRole, findColumn } from "./chunk.ts";
import { type Column, columnBytes, columnText } from "./column.ts";
import { asDictionary } from "./dictionary.ts";
import { decodeColumn, decodeDelta } from "./encoding.ts";
import type { Field } from "./filter.ts";
import { templateIds } from "./template/id.ts";
import { textVector } from "./text.ts";

export class ChunkView {
  readonly day: number;
  readonly #source: ChunkSource;
  readonly #columns = new Map<number, Column>();
  /** Columns as dictionaries, by what they were made of. */
  readonly #dictionaries = new Map<Column, Column>();
  #templates: Column | undefined;
  readonly #numbers = new Map<number, Float64Array>();
  readBytes = 0;

  constructor(source: ChunkSource, day: number) {
    this.#source = source;
    this.day = day;
  }

  get header(): ChunkHeader {
    return this.#source.header;
  }

  get rows(): number {
    return this.#source.header.rows;
  }

  /** Bytes of decoded columns, which grow as searches look deeper into them; what a query's memory cap counts. */
  get decodedBytes(): number {
    let bytes = 0;
    for (const column of this.#columns.values()) bytes += columnBytes(column);
    for (const column of this.#dictionaries.values()) bytes += columnBytes(column);
    if (this.#templates !== undefined) bytes += columnBytes(this.#templates);
    for (const values of this.#numbers.values()) bytes += values.byteLength;
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
    if (field.kind === "template") {
      this.#templates ??= templateIds(this.column({ kind: "message" }));
      return this.#templates;
    }
    if (field.kind !== "attribute") return this.#column(findColumn(this.header, field.kind));
    const own = findColumn(this.header, "attribute", field.key);
    return own >= 0 ? this.#column(own) : this.#restColumn(field.key);
  }

  /** The same as a dictionary, or absent, or a constant that no row lacks. */
  dictionary(field: Exclude<Field, { kind: "time" }>): Column {
    const column = this.column(field);
    let dictionary = this.#dictionaries.get(column);
    if (dictionary === undefined) {
      dictionary = asDictionary(column);
      if (dictionary !== column) this.#dictionaries.set(column, dictionary);
    }
    return dictionary;
  }

  /** The membership filter of a field's column, if it has one. */
  membership(field: Field): Uint8Array | undefined {
    if (field.kind === "time" || field.kind === "template") return undefined;
    const column = findColumn(this.header, field.kind, field.kind === "attribute" ? field.key : "");
    return column < 0 ? undefined : this.#source.filter(column);
  }

  /** Every attribute of one row. */
  attributes(row: number): [key: string, value: string][] {
    const pairs: [string, string][] = [];
    for (const [i, header] of this.header.columns.entries()) {
      if (header.role === "attribute") {
        const value = columnText(this.#column(i), row);
        if (value !== undefined) pairs.push([header.key, value]);
      } else if (header.role === "rest") {
        const rest = columnText(this.#column(i), row);
        if (rest !== undefined) pairs.push(...parseRest(rest));
      }
    }
    return pairs;
  }

  /** One key's values out of the column that holds the rare keys together. */
  #restColumn(key: string): Column {
    const at = findColumn(this.header, "rest");
    if (at < 0) return { kind: "absent", rows: this.rows };
    const rest = this.#column(at);
    const values = new Map<number, string>();
    for (let row = 0; row < this.rows; row++) {
      const text = columnText(rest, row);
      if (text === undefined || !text.includes(JSON.stringify(key))) continue;
      for (const [name, value] of parseRest(text)) if (name === key) values.set(row, value);
    }
    return sparseColumn(values, this.rows);
  }

  #column(index: number): Column {
    let column = this.#columns.get(index);
    if (column === undefined) {
      if (index < 0) return { kind: "absent", rows: this.rows };
      column = decodeColumn(this.#read(index));
      this.#columns.set(index, column);
    }
    return column;
  }

  #number(role: ColumnRole): Float64Array {
    const index = findColumn(this.header, role);
    let values = this.#numbers.get(index);
    if (values === undefined) {
      values = decodeDelta(this.#read(index));
      if (role === "arrival" && this.#source.arrivalBase !== 0) {
        for (let row = 0; row < values.length; row++) values[row] = values[row]! + this.#source.arrivalBase;
      }
      this.#numbers.set(index, values);
    }
    return values;
  }

  #read(index: number): Uint8Array {
    const payload = this.#source.payload(index);
    this.readBytes += payload.byteLength;
    return payload;
  }
}

function sparseColumn(values: Map<number, string>, rows: number): Column {
  if (values.size === 0) return { kind: "absent", rows };
  const distinct = [...new Set(values.values())];
  const codeOf = new Map(distinct.map((value, code) => [value, code]));
  const codes = new Uint32Array(rows).fill(distinct.length);
  for (const [row, value] of values) codes[row] = codeOf.get(value)!;
  return { kind: "dictionary", rows, values: textVector(distinct), valueCount: distinct.length, codes };
}

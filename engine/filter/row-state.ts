/** A row that is taken through the steps of a query by itself. Its fields are read when a step asks for them. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnText, hasValue } from "../column/column.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { formatTime } from "./selection.ts";

/** A row, and what the steps so far have made of it. Reads from a view, and must not be used when that is closed. */
export class RowState {
  readonly attributes: RowAttributes;
  readonly #view: ChunkView;
  readonly #row: number;
  #message: string | undefined;

  constructor(view: ChunkView, row: number, attributes = new RowAttributes(view, row), message?: string) {
    this.#view = view;
    this.#row = row;
    this.attributes = attributes;
    this.#message = message;
  }

  get arrival(): number {
    return this.#view.arrival[this.#row]!;
  }

  /** Whole milliseconds since the epoch, in decimal. */
  get time(): string {
    return formatTime(this.#view.day, this.#view.timeNs[this.#row]!);
  }

  get level(): string {
    return columnText(this.#view.column({ kind: "level" }), this.#row) ?? "";
  }

  get message(): string {
    this.#message ??= columnText(this.#view.column({ kind: "message" }), this.#row) ?? "";
    return this.#message;
  }

  set message(text: string) {
    this.#message = text;
  }

  /** The same row, which further steps may change without changing this one. */
  copy(): RowState {
    return new RowState(this.#view, this.#row, this.attributes.copy(), this.#message);
  }
}

/** The attributes of a row: those that it was stored with, and those that steps have made or taken away. */
export class RowAttributes {
  readonly #view: ChunkView;
  readonly #row: number;
  /** Undefined for those that are taken away. */
  readonly #made: Map<string, string | undefined>;
  /** The attributes without a column of their own; parsed when the first of them is read. */
  #overflow: Map<string, string> | undefined;

  constructor(view: ChunkView, row: number, made = new Map<string, string | undefined>()) {
    this.#view = view;
    this.#row = row;
    this.#made = made;
  }

  get(key: string): string | undefined {
    return this.#made.has(key) ? this.#made.get(key) : this.#storedText(key);
  }

  has(key: string): boolean {
    return this.#made.has(key) ? this.#made.get(key) !== undefined : this.isStored(key);
  }

  set(key: string, text: string): void {
    this.#made.set(key, text);
  }

  delete(key: string): void {
    this.#made.set(key, undefined);
  }

  /** Whether the row was stored with the attribute. */
  isStored(key: string): boolean {
    if (this.#view.header.columns.find("attribute", key) < 0) return this.#overflowText(key) !== undefined;
    return hasValue(this.#view.column({ kind: "attribute", key }), this.#row);
  }

  copy(): RowAttributes {
    return new RowAttributes(this.#view, this.#row, new Map(this.#made));
  }

  *[Symbol.iterator](): Generator<[key: string, text: string]> {
    const made = new Map(this.#made);
    for (const [key, text] of this.#view.attributes(this.#row)) {
      if (!made.has(key)) yield [key, text];
      else {
        const changed = made.get(key);
        if (changed !== undefined) yield [key, changed];
        made.delete(key);
      }
    }
    for (const [key, text] of made) if (text !== undefined) yield [key, text];
  }

  #storedText(key: string): string | undefined {
    if (this.#view.header.columns.find("attribute", key) < 0) return this.#overflowText(key);
    return columnText(this.#view.column({ kind: "attribute", key }), this.#row);
  }

  /** The text of an attribute that has no column of its own. */
  #overflowText(key: string): string | undefined {
    const { overflow } = this.#view;
    if (overflow.kind === "absent") return undefined;
    this.#overflow ??= new Map(parseOverflow(columnText(overflow, this.#row) ?? "[]"));
    return this.#overflow.get(key);
  }
}

/**
 * The fast reader of JSON rows: reads rows of the usual shape from their bytes, without JSON.parse. The usual shape is
 * an object with an object `attributes` of strings, integers and booleans. Rows of any other shape (deeper nesting,
 * fractions, keys with escapes, repeated keys, lone surrogates, invalid JSON) are left to the general reader. What this
 * reader accepts, it reads exactly as the general one does.
 */

import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import { flatKeysMax, ingestKeysMax } from "../limits.ts";
import { JsonScanner, quote } from "./json-scanner.ts";

const comma = 0x2c;
const colon = 0x3a;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const nullLiteral = Buffer.from("null", "latin1");

/** How to read the fields of one kind of row besides `attributes`. */
export interface RowForm {
  /** Names of the fields; every other name is an attribute. */
  readonly fields: readonly string[];
  /** Only the form sets keys with numbers below this. A row with such an attribute is left to the general reader. */
  readonly reservedKeys: number;
  /** Called when another row begins. */
  begin(row: RowRanges): void;
  /**
   * Reads the value at `at`, which belongs to the field with this index in `fields`. Returns the position after it, or
   * -1 where the row must be left to the general reader.
   */
  readField(field: number, at: number): number;
  /**
   * Called once all fields were read, with the attributes of the top level. Returns false, with the body unchanged,
   * for a row for the general reader.
   */
  end(topLevel: RowRanges, hasAttributes: boolean): boolean;
}

/** Makes a form that reads with the scanner and adds keys to the builder. */
export type MakeForm = (scanner: JsonScanner) => RowForm;

/** Field number of `attributes`. The form's fields have numbers from 1 on; -1 stands for a name that is no field. */
const attributesField = 0;

export class JsonLines {
  readonly #scanner: JsonScanner;
  readonly #builder: BatchBuilder;
  readonly #form: RowForm;
  /** Fields by the length of their names. `field` is the field number. */
  readonly #fieldsOfLength: { field: number; bytes: Buffer }[][];
  readonly #row = new RowRanges();
  /** Attributes that stand at the top level of the row, outside `attributes`. */
  readonly #topLevel = new RowRanges();
  /** Bit set of the field numbers that were read in this row. */
  #seenFields = 0;
  /**
   * Position and number of the i-th key in `attributes`, as last seen in a row. Most rows have the same keys in the
   * same order: comparing bytes then replaces a search for the key.
   */
  readonly #previous = new RowRanges();
  #rowNumber = 0;
  /** For each key, the number of the last row that had it inside `attributes`. */
  #lastRowInside: number[] = [];
  /** For each key, the number of the last row that had it at the top level. */
  #lastRowAtTopLevel: number[] = [];

  /** Reading decodes escapes in place, and so overwrites the body. */
  constructor(body: Buffer, builder: BatchBuilder, makeForm: MakeForm) {
    this.#scanner = new JsonScanner(body);
    this.#builder = builder;
    this.#form = makeForm(this.#scanner);
    this.#fieldsOfLength = groupByLength(["attributes", ...this.#form.fields]);
  }

  /**
   * Reads the row at [from, to). The result is valid until the next call. Returns undefined, with the bytes restored,
   * where the row must be left to the general reader.
   */
  read(from: number, to: number): RowRanges | undefined {
    const scanner = this.#scanner;
    this.#rowNumber++;
    scanner.begin(from, to);
    this.#row.clear();
    this.#topLevel.clear();
    this.#seenFields = 0;
    this.#form.begin(this.#row);
    const end = this.#readObject(scanner.skipBlank(from), true);
    if (end >= 0 && scanner.skipBlank(end) === to && this.#row.attributes <= flatKeysMax) {
      this.#addTopLevel();
      const hasAttributes = (this.#seenFields & (1 << attributesField)) !== 0;
      if (this.#form.end(this.#topLevel, hasAttributes)) return this.#row;
    }
    scanner.text.restore();
    return undefined;
  }

  /** Reads the row or its `attributes` at `at`. Returns the position after it, or -1 for the general reader. */
  #readObject(at: number, isRow: boolean): number {
    const scanner = this.#scanner;
    const { body, to } = scanner;
    if (body[at] !== openingBrace) return -1;
    let next = scanner.skipBlank(at + 1);
    if (body[next] === closingBrace) return next + 1;
    for (let member = 0; next < to; member++) {
      if (body[next] !== quote) return -1;
      next = isRow ? this.#readField(next + 1) : this.#readAttribute(next + 1, member);
      if (next < 0) return -1;
      next = scanner.skipBlank(next);
      if (body[next] === closingBrace) return next + 1;
      if (body[next] !== comma) return -1;
      next = scanner.skipBlank(next + 1);
    }
    return -1;
  }

  /** Reads a top-level member whose key begins at `keyFrom`. Returns the position after it, or -1. */
  #readField(keyFrom: number): number {
    const keyTo = this.#scanner.text.findPlainEnd(keyFrom);
    const at = this.#findValue(keyTo);
    if (at < 0) return -1;
    const field = this.#findField(keyFrom, keyTo);
    if (field < 0) return this.#readTopLevel(keyFrom, keyTo, at);
    if ((this.#seenFields & (1 << field)) !== 0) return -1;
    this.#seenFields |= 1 << field;
    return field === attributesField ? this.#readObject(at, false) : this.#form.readField(field - 1, at);
  }

  /** Reads the `member`-th member of `attributes`. Returns the position after it, or -1. */
  #readAttribute(keyFrom: number, member: number): number {
    const keyTo = this.#repeatsPreviousKey(keyFrom, member)
      ? keyFrom + this.#previous.to[member]! - this.#previous.from[member]!
      : this.#rememberKey(keyFrom, member);
    const at = this.#findValue(keyTo);
    if (at < 0) return -1;
    const key = this.#previous.keys[member]!;
    if (this.#lastRowInside[key] === this.#rowNumber) return -1;
    this.#lastRowInside[key] = this.#rowNumber;
    return this.#readValue(at, key, this.#row);
  }

  /** Reads the value at `at` as an attribute with the key [keyFrom, keyTo). Returns the position after it, or -1. */
  #readTopLevel(keyFrom: number, keyTo: number, at: number): number {
    const key = this.#findOrAddKey(keyFrom, keyTo);
    if (key < 0 || this.#lastRowAtTopLevel[key] === this.#rowNumber) return -1;
    this.#lastRowAtTopLevel[key] = this.#rowNumber;
    return this.#readValue(at, key, this.#topLevel);
  }

  /** Adds the value at `at` to `row`; a null counts as no value. Returns the position after it, or -1. */
  #readValue(at: number, key: number, row: RowRanges): number {
    const scanner = this.#scanner;
    if (scanner.body[at] === quote) {
      const end = scanner.readString(at);
      if (end >= 0) row.addAttribute(key, at + 1, scanner.text.textTo);
      return end;
    }
    if (scanner.matches(nullLiteral, at)) return at + nullLiteral.length;
    const end = scanner.readLiteral(at);
    if (end >= 0) row.addAttribute(key, at, end);
    return end;
  }

  /** Adds the top-level attributes to the row. Where `attributes` has the same key, its value wins. */
  #addTopLevel(): void {
    const { attributes, keys, from, to } = this.#topLevel;
    if (attributes === 0) return;
    const inside = new Set(this.#row.keys.subarray(0, this.#row.attributes));
    for (let i = 0; i < attributes; i++) {
      if (!inside.has(keys[i]!)) this.#row.addAttribute(keys[i]!, from[i]!, to[i]!);
    }
  }

  /** Returns whether the bytes at `keyFrom` repeat the remembered key of this index, with its closing quote. */
  #repeatsPreviousKey(keyFrom: number, member: number): boolean {
    if (member >= this.#previous.attributes) return false;
    const { view } = this.#scanner;
    const to = this.#previous.to[member]! + 1;
    let previousAt = this.#previous.from[member]!;
    let at = keyFrom;
    if (at + to - previousAt > this.#scanner.to) return false;
    for (; previousAt + 4 <= to; previousAt += 4, at += 4)
      if (view.getInt32(previousAt) !== view.getInt32(at)) return false;
    for (; previousAt < to; previousAt++, at++)
      if (view.getInt8(previousAt) !== view.getInt8(at)) return false;
    return true;
  }

  /** Remembers the key as the one that the next row is expected to have at this index. Returns its end, or -1. */
  #rememberKey(keyFrom: number, member: number): number {
    const keyTo = this.#scanner.text.findPlainEnd(keyFrom);
    const key = keyTo < 0 ? -1 : this.#findOrAddKey(keyFrom, keyTo);
    if (key < 0) return -1;
    const previous = this.#previous;
    if (member >= previous.attributes) previous.addAttribute(key, keyFrom, keyTo);
    else {
      previous.keys[member] = key;
      previous.from[member] = keyFrom;
      previous.to[member] = keyTo;
    }
    return keyTo;
  }

  /** Returns the number of a key; -1 where the batch has too many keys, or the key is reserved for the form. */
  #findOrAddKey(keyFrom: number, keyTo: number): number {
    const known = this.#builder.findKey(keyFrom, keyTo);
    if (known >= 0) return known < this.#form.reservedKeys ? -1 : known;
    return this.#builder.keyCount < ingestKeysMax ? this.#builder.addKey(keyFrom, keyTo) : -1;
  }

  /** Returns the position of the value after the colon; -1 where there is no key (`keyTo` below 0) or no colon. */
  #findValue(keyTo: number): number {
    if (keyTo < 0) return -1;
    const at = this.#scanner.skipBlank(keyTo + 1);
    return this.#scanner.body[at] === colon ? this.#scanner.skipBlank(at + 1) : -1;
  }

  #findField(keyFrom: number, keyTo: number): number {
    const candidates = this.#fieldsOfLength[keyTo - keyFrom];
    if (candidates === undefined) return -1;
    for (let i = 0; i < candidates.length; i++) {
      if (this.#scanner.matches(candidates[i]!.bytes, keyFrom)) return candidates[i]!.field;
    }
    return -1;
  }
}

function groupByLength(names: readonly string[]): { field: number; bytes: Buffer }[][] {
  const longest = Math.max(...names.map(({ length }) => length));
  const lists = Array.from({ length: longest + 1 }, (): { field: number; bytes: Buffer }[] => []);
  for (const [field, name] of names.entries()) {
    lists[name.length]!.push({ field, bytes: Buffer.from(name, "latin1") });
  }
  return lists;
}

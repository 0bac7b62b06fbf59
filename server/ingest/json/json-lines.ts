/**
 * Rows of the usual shape, read from their bytes: an object with an object `attributes` of strings, whole numbers and booleans.
 * Whatever is unusual (deeper nesting, fractions, keys with escapes or given twice, lone surrogates, no JSON at all) is left to
 * the general reader of such rows, so this one is not complete; but what it reads is what that one would read.
 */

import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import { flatKeysMax, ingestKeysMax } from "../limits.ts";
import { JsonScanner, quote } from "./json-scanner.ts";

const comma = 0x2c;
const colon = 0x3a;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const nullLiteral = Buffer.from("null", "latin1");

/** What a kind of row has beside `attributes`. */
export interface RowForm {
  /** Names of its fields; every other one is an attribute. */
  readonly fields: readonly string[];
  /** Attributes with numbers below this are given by the form alone: a row that names one itself is unusual. */
  readonly ownKeys: number;
  /** Another row begins. */
  begin(row: RowRanges): void;
  /** Reads the value at `at` of the field with this place in `fields`; returns the place behind it, or -1 where it is unusual. */
  readField(field: number, at: number): number;
  /** All fields were read. False where the row is unusual; then nothing was written. */
  end(): boolean;
}

/** Makes a form that reads with a scanner, and adds keys to the draft. */
export type MakeForm = (scanner: JsonScanner, draft: BatchBuilder) => RowForm;

/** The number of `attributes`; those of the form follow, and -1 is a name without a meaning of its own. */
const attributesField = 0;

export class JsonLines {
  readonly #scanner: JsonScanner;
  readonly #draft: BatchBuilder;
  readonly #form: RowForm;
  /** Fields by the length of their names, and then by their place: `attributes`, then those of the form. */
  readonly #fieldsOfLength: { field: number; bytes: Buffer }[][];
  readonly #row = new RowRanges();
  /** What lies beside `attributes` and has no meaning of its own. */
  readonly #others = new RowRanges();
  /** Bits of the fields that the row has had. */
  #given = 0;
  /** Where the row before had its i-th key in `attributes`, and that key's number: mostly the next row has the same. */
  readonly #shape = new RowRanges();
  #serial = 0;
  /** For each key the serial number of the last row that had it inside, and beside, `attributes`. */
  #inside: number[] = [];
  #beside: number[] = [];

  /** Where it decodes escapes, it writes into the body. */
  constructor(body: Buffer, draft: BatchBuilder, makeForm: MakeForm) {
    this.#scanner = new JsonScanner(body);
    this.#draft = draft;
    this.#form = makeForm(this.#scanner, draft);
    this.#fieldsOfLength = byLength(["attributes", ...this.#form.fields]);
  }

  /** The row at [from, to), valid until the next call; undefined, and the bytes as they were, where it is unusual. */
  read(from: number, to: number): RowRanges | undefined {
    const scanner = this.#scanner;
    this.#serial++;
    scanner.begin(from, to);
    this.#row.clear();
    this.#others.clear();
    this.#given = 0;
    this.#form.begin(this.#row);
    const end = this.#readObject(scanner.skipBlank(from), true);
    if (end >= 0 && scanner.skipBlank(end) === to && this.#row.attributes <= flatKeysMax) {
      this.#addOthers();
      if (this.#form.end()) return this.#row;
    }
    scanner.text.restore();
    return undefined;
  }

  // Each of these reads something that begins at `at` and returns the place behind it, or -1 where it is unusual.

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

  #readField(keyFrom: number): number {
    const keyTo = this.#scanner.text.plainEnd(keyFrom);
    const at = this.#valueAt(keyTo);
    if (at < 0) return -1;
    const field = this.#fieldAt(keyFrom, keyTo);
    if (field < 0) return this.#readOther(keyFrom, keyTo, at);
    if ((this.#given & (1 << field)) !== 0) return -1;
    this.#given |= 1 << field;
    return field === attributesField ? this.#readObject(at, false) : this.#form.readField(field - 1, at);
  }

  #readAttribute(keyFrom: number, member: number): number {
    const keyTo = this.#isForeseen(keyFrom, member)
      ? keyFrom + this.#shape.to[member]! - this.#shape.from[member]!
      : this.#foresee(keyFrom, member);
    const at = this.#valueAt(keyTo);
    if (at < 0) return -1;
    const key = this.#shape.keys[member]!;
    if (this.#inside[key] === this.#serial) return -1;
    this.#inside[key] = this.#serial;
    return this.#readValue(at, key, this.#row);
  }

  #readOther(keyFrom: number, keyTo: number, at: number): number {
    const key = this.#numberOf(keyFrom, keyTo);
    if (key < 0 || this.#beside[key] === this.#serial) return -1;
    this.#beside[key] = this.#serial;
    return this.#readValue(at, key, this.#others);
  }

  /** A null is as good as no value. */
  #readValue(at: number, key: number, row: RowRanges): number {
    const scanner = this.#scanner;
    if (scanner.body[at] === quote) {
      const end = scanner.readString(at);
      if (end >= 0) row.addAttribute(key, at + 1, scanner.text.textTo);
      return end;
    }
    if (scanner.stands(nullLiteral, at)) return at + nullLiteral.length;
    const end = scanner.readLiteral(at);
    if (end >= 0) row.addAttribute(key, at, end);
    return end;
  }

  /** Of two values under one name, the one in `attributes` stays. */
  #addOthers(): void {
    const { attributes, keys, from, to } = this.#others;
    if (attributes === 0) return;
    const inside = new Set(this.#row.keys.subarray(0, this.#row.attributes));
    for (let i = 0; i < attributes; i++) {
      if (!inside.has(keys[i]!)) this.#row.addAttribute(keys[i]!, from[i]!, to[i]!);
    }
  }

  /** Whether the key of the row before stands here too, with its quote. */
  #isForeseen(keyFrom: number, member: number): boolean {
    if (member >= this.#shape.attributes) return false;
    const { view } = this.#scanner;
    const to = this.#shape.to[member]! + 1;
    let own = this.#shape.from[member]!;
    let at = keyFrom;
    if (at + to - own > this.#scanner.to) return false;
    for (; own + 4 <= to; own += 4, at += 4) if (view.getInt32(own) !== view.getInt32(at)) return false;
    for (; own < to; own++, at++) if (view.getInt8(own) !== view.getInt8(at)) return false;
    return true;
  }

  /** Notes the key as the one to come in the next row; returns its end, or -1. */
  #foresee(keyFrom: number, member: number): number {
    const keyTo = this.#scanner.text.plainEnd(keyFrom);
    const key = keyTo < 0 ? -1 : this.#numberOf(keyFrom, keyTo);
    if (key < 0) return -1;
    const shape = this.#shape;
    if (member >= shape.attributes) shape.addAttribute(key, keyFrom, keyTo);
    else {
      shape.keys[member] = key;
      shape.from[member] = keyFrom;
      shape.to[member] = keyTo;
    }
    return keyTo;
  }

  /** The number of a key, or -1 where it would be one too many, or is the form's own. */
  #numberOf(keyFrom: number, keyTo: number): number {
    const known = this.#draft.findKey(keyFrom, keyTo);
    if (known >= 0) return known < this.#form.ownKeys ? -1 : known;
    return this.#draft.keyCount < ingestKeysMax ? this.#draft.addKey(keyFrom, keyTo) : -1;
  }

  /** Behind the colon; -1 where there is no key (`keyTo` below 0) or no colon. */
  #valueAt(keyTo: number): number {
    if (keyTo < 0) return -1;
    const at = this.#scanner.skipBlank(keyTo + 1);
    return this.#scanner.body[at] === colon ? this.#scanner.skipBlank(at + 1) : -1;
  }

  #fieldAt(keyFrom: number, keyTo: number): number {
    const candidates = this.#fieldsOfLength[keyTo - keyFrom];
    if (candidates === undefined) return -1;
    for (let i = 0; i < candidates.length; i++) {
      if (this.#scanner.stands(candidates[i]!.bytes, keyFrom)) return candidates[i]!.field;
    }
    return -1;
  }
}

function byLength(names: readonly string[]): { field: number; bytes: Buffer }[][] {
  const longest = Math.max(...names.map(({ length }) => length));
  const lists = Array.from({ length: longest + 1 }, (): { field: number; bytes: Buffer }[] => []);
  for (const [field, name] of names.entries()) {
    lists[name.length]!.push({ field, bytes: Buffer.from(name, "latin1") });
  }
  return lists;
}

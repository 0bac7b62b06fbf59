/**
 * Rows of the usual shape, read from their bytes: an object with an object `attributes`, both of strings, whole numbers and
 * booleans. Whatever is unusual (deeper nesting, fractions, keys with escapes or given twice, lone surrogates, no JSON at
 * all) is left to `readLogRow`, so this reader is not complete; but what it reads is what that one would read.
 */

import { type BatchDraft, RowRanges } from "../../engine/index.ts";
import { flatKeysMax, ingestKeysMax } from "../limits.ts";
import { JsonText } from "./json-text.ts";
import { isBlank } from "./rows.ts";

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** Fields of a row, by their bytes; every other one is an attribute. */
const Field = { timeUnixNano: 1, timestamp: 2, log_level: 4, message: 8, attributes: 16 } as const;
/** By length: no more than two fields have the same. */
const fieldsOfLength = Object.entries(Field).reduce<{ bit: number; bytes: Buffer }[][]>(
  (lists, [name, bit]) => {
    lists[name.length] = [...(lists[name.length] ?? []), { bit, bytes: Buffer.from(name, "latin1") }];
    return lists;
  },
  Array.from({ length: 16 }, () => []),
);

const booleans = ["true", "false"].map((text) => Buffer.from(text, "latin1"));
const nullLiteral = Buffer.from("null", "latin1");

/** Digits in a row that a number holds exactly. */
const exactDigits = 15;
const nanosDigitsMax = 19;
const nanosDigits = 9;

export class JsonLines {
  /** Rows without a time of their own, which have the time of arrival. */
  untimed = 0;
  readonly #body: Buffer;
  readonly #view: DataView;
  readonly #text: JsonText;
  readonly #draft: BatchDraft;
  readonly #arrivalMs: number;
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
  #to = 0;

  /** Where it decodes escapes, it writes into the body. */
  constructor(body: Buffer, draft: BatchDraft, options: { arrivalMs: number }) {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.#text = new JsonText(body);
    this.#draft = draft;
    this.#arrivalMs = options.arrivalMs;
  }

  /** The row at [from, to), valid until the next call; undefined, and the bytes as they were, where it is unusual. */
  read(from: number, to: number): RowRanges | undefined {
    this.#serial++;
    this.#to = to;
    this.#text.begin(from, to);
    this.#row.clear();
    this.#others.clear();
    this.#given = 0;
    const end = this.#readObject(this.#skipBlank(from), true);
    if (end < 0 || this.#skipBlank(end) !== to || this.#row.attributes > flatKeysMax) {
      this.#text.restore();
      return undefined;
    }
    this.#addOthers();
    if ((this.#given & (Field.timeUnixNano | Field.timestamp)) === 0) this.#takeArrival();
    return this.#row;
  }

  // Each of these reads something that begins at `at` and returns the place behind it, or -1 where it is unusual.

  #readObject(at: number, isRow: boolean): number {
    const body = this.#body;
    if (body[at] !== openingBrace) return -1;
    let next = this.#skipBlank(at + 1);
    if (body[next] === closingBrace) return next + 1;
    for (let member = 0; next < this.#to; member++) {
      if (body[next] !== quote) return -1;
      next = isRow ? this.#readField(next + 1) : this.#readAttribute(next + 1, member);
      if (next < 0) return -1;
      next = this.#skipBlank(next);
      if (body[next] === closingBrace) return next + 1;
      if (body[next] !== comma) return -1;
      next = this.#skipBlank(next + 1);
    }
    return -1;
  }

  #readField(keyFrom: number): number {
    const keyTo = this.#text.plainEnd(keyFrom);
    const at = this.#valueAt(keyTo);
    if (at < 0) return -1;
    const field = this.#fieldAt(keyFrom, keyTo);
    if ((this.#given & field) !== 0) return -1;
    this.#given |= field;
    switch (field) {
      case Field.timeUnixNano:
        return this.#readNanos(at);
      case Field.timestamp:
        return this.#readMillis(at);
      case Field.log_level: {
        const end = this.#readString(at);
        this.#row.levelFrom = at + 1;
        this.#row.levelTo = this.#text.textTo;
        return end;
      }
      case Field.message: {
        const end = this.#readString(at);
        this.#row.messageFrom = at + 1;
        this.#row.messageTo = this.#text.textTo;
        return end;
      }
      case Field.attributes:
        return this.#readObject(at, false);
      default:
        return this.#readOther(keyFrom, keyTo, at);
    }
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
    if (this.#body[at] === quote) {
      const end = this.#readString(at);
      if (end >= 0) row.addAttribute(key, at + 1, this.#text.textTo);
      return end;
    }
    if (this.#stands(nullLiteral, at)) return at + nullLiteral.length;
    const end = this.#readLiteral(at);
    if (end >= 0) row.addAttribute(key, at, end);
    return end;
  }

  #readString(at: number): number {
    if (this.#body[at] !== quote) return -1;
    const end = this.#text.stringEnd(at + 1);
    return end < 0 ? -1 : end + 1;
  }

  /** A boolean, or a whole number that is written as JavaScript would print it. */
  #readLiteral(at: number): number {
    for (const literal of booleans) if (this.#stands(literal, at)) return at + literal.length;
    const isNegative = this.#body[at] === minus;
    const from = isNegative ? at + 1 : at;
    const end = this.#digitsEnd(from);
    const isPlain = this.#body[from] !== zero || (end - from === 1 && !isNegative);
    return isPlain && end > from && end - from <= exactDigits ? end : -1;
  }

  #readNanos(at: number): number {
    const isQuoted = this.#body[at] === quote;
    const from = isQuoted ? at + 1 : at;
    const end = this.#digitsEnd(from);
    if (end === from || end - from > nanosDigitsMax) return -1;
    if (isQuoted ? this.#body[end] !== quote : this.#body[from] === zero && end - from > 1) return -1;
    const split = Math.max(from, end - nanosDigits);
    this.#row.seconds = this.#numberAt(from, split);
    this.#row.nanos = this.#numberAt(split, end);
    return isQuoted ? end + 1 : end;
  }

  /** Passed over where the row has the finer time as well. */
  #readMillis(at: number): number {
    const end = this.#digitsEnd(at);
    if (end === at || end - at > exactDigits || (this.#body[at] === zero && end - at > 1)) return -1;
    if ((this.#given & Field.timeUnixNano) === 0) this.#takeMillis(this.#numberAt(at, end));
    return end;
  }

  #takeMillis(ms: number): void {
    this.#row.seconds = Math.floor(ms / 1000);
    this.#row.nanos = (ms % 1000) * 1e6;
  }

  #takeArrival(): void {
    this.untimed++;
    this.#takeMillis(this.#arrivalMs);
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
    const view = this.#view;
    const to = this.#shape.to[member]! + 1;
    let own = this.#shape.from[member]!;
    let at = keyFrom;
    if (at + to - own > this.#to) return false;
    for (; own + 4 <= to; own += 4, at += 4) if (view.getInt32(own) !== view.getInt32(at)) return false;
    for (; own < to; own++, at++) if (view.getInt8(own) !== view.getInt8(at)) return false;
    return true;
  }

  /** Notes the key as the one to come in the next row; returns its end, or -1. */
  #foresee(keyFrom: number, member: number): number {
    const keyTo = this.#text.plainEnd(keyFrom);
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

  /** The number of a key, or -1 where it would be one too many. */
  #numberOf(keyFrom: number, keyTo: number): number {
    const known = this.#draft.findKey(keyFrom, keyTo);
    if (known >= 0 || this.#draft.keyCount >= ingestKeysMax) return known;
    return this.#draft.addKey(keyFrom, keyTo);
  }

  /** Behind the colon; -1 where there is no key (`keyTo` below 0) or no colon. */
  #valueAt(keyTo: number): number {
    if (keyTo < 0) return -1;
    const at = this.#skipBlank(keyTo + 1);
    return this.#body[at] === colon ? this.#skipBlank(at + 1) : -1;
  }

  #fieldAt(keyFrom: number, keyTo: number): number {
    const candidates = fieldsOfLength[keyTo - keyFrom];
    if (candidates === undefined) return 0;
    for (let i = 0; i < candidates.length; i++) {
      if (this.#stands(candidates[i]!.bytes, keyFrom)) return candidates[i]!.bit;
    }
    return 0;
  }

  #stands(text: Uint8Array, at: number): boolean {
    for (let i = 0; i < text.length; i++) if (this.#body[at + i] !== text[i]) return false;
    return true;
  }

  #digitsEnd(from: number): number {
    let at = from;
    while (at < this.#to && this.#body[at]! >= zero && this.#body[at]! <= nine) at++;
    return at;
  }

  #numberAt(from: number, to: number): number {
    let number = 0;
    for (let at = from; at < to; at++) number = number * 10 + this.#body[at]! - zero;
    return number;
  }

  #skipBlank(from: number): number {
    let at = from;
    while (at < this.#to && isBlank(this.#body[at]!)) at++;
    return at;
  }
}

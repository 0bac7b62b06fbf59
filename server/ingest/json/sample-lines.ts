/**
 * The fast reader of metric rows: a row that names its series as an earlier row of the body did, byte for byte, is not
 * parsed again. Only its time and its value are read.
 */

import { parseRoundTripBytes, type SampleBatchBuilder } from "../../../engine/index.ts";
import { JsonScanner, quote } from "./json-scanner.ts";

const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const minus = 0x2d;
const point = 0x2e;

/** The members that are not part of the series' name. */
const names = {
  timestamp: toBytes("timestamp"),
  timeUnixNano: toBytes("timeUnixNano"),
  value: toBytes("value"),
};

/** Bits of the members that a row has, of those that are not part of the series' name. */
const Seen = { millis: 1, value: 2, nanos: 4 } as const;

function toBytes(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

export class SampleLines {
  readonly #body: Buffer;
  readonly #scanner: JsonScanner;
  readonly #builder: SampleBatchBuilder;
  /** The members of the last row that name its series, one behind the other, are in `#key` up to here; 0 for none. */
  #keyTo = 0;
  #key = Buffer.allocUnsafe(4_096);
  #seconds = 0;
  #nanos = 0;
  #value = 0;
  #seen = 0;

  constructor(body: Buffer, builder: SampleBatchBuilder) {
    this.#body = body;
    this.#scanner = new JsonScanner(body);
    this.#builder = builder;
  }

  /** The series that the row at [from, to) names, or -1 where it has to be parsed. `add` then adds its sample. */
  find(from: number, to: number): number {
    this.#keyTo = 0;
    this.#seen = 0;
    this.#scanner.begin(from, to);
    const end = this.#readMembers(this.#scanner.skipBlank(from));
    const isWhole = end >= 0 && this.#scanner.skipBlank(end) === to;
    const hasBoth = this.#seen === (Seen.millis | Seen.value) || this.#seen === (Seen.nanos | Seen.value);
    if (!isWhole || !hasBoth) this.#keyTo = 0;
    return this.#keyTo === 0 ? -1 : this.#builder.findAlias(this.#key, this.#keyTo);
  }

  /** Adds the sample of the row that was found last. Returns why it cannot be stored, or undefined. */
  add(alias: number): string | undefined {
    return this.#builder.addByAlias(alias, this.#seconds, this.#nanos, this.#value);
  }

  /** Notes that the row that was looked for last names the series whose sample was added last. */
  note(): void {
    if (this.#keyTo > 0) this.#builder.addAlias(this.#key, this.#keyTo);
  }

  /** Reads the members of the row at `at`. Returns the position after it, or -1 where it has to be parsed. */
  #readMembers(at: number): number {
    const scanner = this.#scanner;
    const body = this.#body;
    if (body[at] !== openingBrace) return -1;
    let next = scanner.skipBlank(at + 1);
    while (next < scanner.to) {
      if (body[next] !== quote) return -1;
      const keyTo = scanner.text.findPlainEnd(next + 1);
      const colonAt = keyTo < 0 ? -1 : scanner.skipBlank(keyTo + 1);
      if (colonAt < 0 || body[colonAt] !== colon) return -1;
      const end = this.#readMember(next, keyTo, scanner.skipBlank(colonAt + 1));
      if (end < 0) return -1;
      next = scanner.skipBlank(end);
      if (body[next] === closingBrace) return next + 1;
      if (body[next] !== comma) return -1;
      next = scanner.skipBlank(next + 1);
    }
    return -1;
  }

  /** Reads the member whose quoted key begins at `from` and whose value is at `at`. Returns the position after it, or -1. */
  #readMember(from: number, keyTo: number, at: number): number {
    const scanner = this.#scanner;
    const length = keyTo - from - 1;
    if (length === names.value.length && scanner.matches(names.value, from + 1)) return this.#readValue(at);
    if (length === names.timestamp.length && scanner.matches(names.timestamp, from + 1))
      return this.#readTime(Seen.millis, scanner.readMillis(at));
    if (length === names.timeUnixNano.length && scanner.matches(names.timeUnixNano, from + 1))
      return this.#readTime(Seen.nanos, scanner.readNanos(at));
    const end = this.#skipValue(at);
    if (end >= 0) this.#addToKey(from, end);
    return end;
  }

  /** `bit`: which of the two times it is. `end`: the position after it, or -1. */
  #readTime(bit: number, end: number): number {
    if ((this.#seen & bit) !== 0) return -1;
    this.#seen |= bit;
    this.#seconds = this.#scanner.seconds;
    this.#nanos = this.#scanner.nanos;
    return end;
  }

  #readValue(at: number): number {
    if ((this.#seen & Seen.value) !== 0) return -1;
    this.#seen |= Seen.value;
    const body = this.#body;
    let end = body[at] === minus ? at + 1 : at;
    while (end < this.#scanner.to && (isDigit(body[end]!) || body[end] === point)) end++;
    const value = parseRoundTripBytes(body, at, end);
    if (value === undefined) return -1;
    this.#value = value;
    return end;
  }

  /** The position after the value at `at`, which is not checked: a row like it was parsed before. */
  #skipValue(at: number): number {
    const body = this.#body;
    if (body[at] === quote) return this.#skipString(at + 1);
    let depth = 0;
    for (let i = at; i < this.#scanner.to; i++) {
      const byte = body[i];
      if (byte === quote) {
        i = this.#skipString(i + 1) - 1;
        if (i < 0) return -1;
      } else if (byte === openingBrace || byte === openingBracket) depth++;
      else if (byte === closingBrace || byte === closingBracket) {
        if (depth === 0) return i;
        if (--depth === 0) return i + 1;
      } else if (byte === comma && depth === 0) return i;
    }
    return -1;
  }

  /** The position after the closing quote of the string whose text begins at `from`; -1 without one. */
  #skipString(from: number): number {
    const end = this.#scanner.text.findPlainEnd(from);
    if (end >= 0) return end + 1;
    for (let at = from; at < this.#scanner.to; at++) {
      const byte = this.#body[at];
      if (byte === backslash) at++;
      else if (byte === quote) return at + 1;
    }
    return -1;
  }

  /** A comma ends each member: two keys are equal only where their members are. */
  #addToKey(from: number, to: number): void {
    const end = this.#keyTo + to - from + 1;
    if (end > this.#key.length) this.#key = Buffer.concat([this.#key, Buffer.allocUnsafe(end * 2)]);
    this.#body.copy(this.#key, this.#keyTo, from, to);
    this.#key[end - 1] = comma;
    this.#keyTo = end;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

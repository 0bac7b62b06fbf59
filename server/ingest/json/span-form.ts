/** The fields of a span for the fast JSON reader. */

import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import type { RowForm } from "./json-lines.ts";
import { type JsonScanner, quote, zero } from "./json-scanner.ts";
import { durationText, spanIdDigits, spanKeys, spanKinds, statusCodes, traceIdDigits } from "./span-row.ts";

/** Indexes of the fields. Those before `startTimeUnixNano` are the indexes of their attributes in `spanKeys`, too. */
const Field = {
  traceId: 0,
  spanId: 1,
  parentSpanId: 2,
  name: 3,
  kind: 4,
  statusCode: 5,
  statusMessage: 6,
  startTimeUnixNano: 7,
  endTimeUnixNano: 8,
} as const;
const required = (1 << Field.traceId) | (1 << Field.spanId) | (1 << Field.startTimeUnixNano);
const durationKey = spanKeys.indexOf("duration_ms");

const kinds = spanKinds.map((text) => Buffer.from(text, "latin1"));
const codes = statusCodes.map((text) => Buffer.from(text, "latin1"));

/** Reads spans from bytes, with the same result as `readSpanRow`. */
export class SpanForm implements RowForm {
  readonly fields = Object.keys(Field);
  readonly reservedKeys = spanKeys.length;
  readonly #scanner: JsonScanner;
  /** Attributes from the span's fields; they follow the row's own attributes. */
  readonly #fromFields = new RowRanges();
  #row!: RowRanges;
  #seenFields = 0;
  #endSeconds = 0;
  #endNanos = 0;
  /** Position of the first digit of the end time. `#addDuration` writes the duration over the digits. */
  #endFrom = 0;
  /** Position after the last digit of the end time. */
  #endTo = 0;

  /** The builder must be new: its first keys become `spanKeys`. */
  constructor(scanner: JsonScanner, builder: BatchBuilder) {
    this.#scanner = scanner;
    for (const key of spanKeys) builder.addKeyText(key);
  }

  begin(row: RowRanges): void {
    this.#row = row;
    this.#fromFields.clear();
    this.#seenFields = 0;
  }

  readField(field: number, at: number): number {
    this.#seenFields |= 1 << field;
    switch (field) {
      case Field.startTimeUnixNano: {
        const end = this.#scanner.readNanos(at);
        this.#row.seconds = this.#scanner.seconds;
        this.#row.nanos = this.#scanner.nanos;
        return end;
      }
      case Field.endTimeUnixNano:
        return this.#readEnd(at);
      default:
        return this.#readText(field, at);
    }
  }

  end(): boolean {
    if ((this.#seenFields & required) !== required) return false;
    const hasEnd = (this.#seenFields & (1 << Field.endTimeUnixNano)) !== 0;
    if (hasEnd && !this.#addDuration()) return false;
    const { attributes, keys, from, to } = this.#fromFields;
    // The attributes are added in the order of `spanKeys`, as the general reader adds them.
    for (let key = 0; key < spanKeys.length; key++) {
      for (let i = 0; i < attributes; i++) if (keys[i] === key) this.#row.addAttribute(key, from[i]!, to[i]!);
    }
    return true;
  }

  #readEnd(at: number): number {
    const end = this.#scanner.readNanos(at);
    this.#endSeconds = this.#scanner.seconds;
    this.#endNanos = this.#scanner.nanos;
    const isQuoted = this.#scanner.body[at] === quote;
    this.#endFrom = isQuoted ? at + 1 : at;
    this.#endTo = isQuoted ? end - 1 : end;
    return end;
  }

  #readText(field: number, at: number): number {
    const end = this.#scanner.readString(at);
    if (end < 0) return -1;
    const from = at + 1;
    const to = this.#scanner.text.textTo;
    const isIdSent = field < Field.parentSpanId || (field === Field.parentSpanId && from < to);
    if (isIdSent && !this.#isId(from, to, field === Field.traceId ? traceIdDigits : spanIdDigits)) return -1;
    if (field === Field.kind && !this.#isOneOf(kinds, from, to)) return -1;
    if (field === Field.statusCode && !this.#isOneOf(codes, from, to)) return -1;
    if (from < to) this.#fromFields.addAttribute(field, from, to);
    return end;
  }

  /** Returns whether the text is that many lower-case hexadecimal digits, not all of them zero. */
  #isId(from: number, to: number, digits: number): boolean {
    if (to - from !== digits) return false;
    const { body } = this.#scanner;
    let isZero = true;
    for (let at = from; at < to; at++) {
      const byte = body[at]!;
      const isDigit = (byte >= zero && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);
      if (!isDigit) return false;
      isZero &&= byte === zero;
    }
    return !isZero;
  }

  #isOneOf(words: readonly Buffer[], from: number, to: number): boolean {
    return words.some((word) => word.length === to - from && this.#scanner.matches(word, from));
  }

  /**
   * Writes the duration over the end time. Returns false where it does not fit, is negative, or is too large to be
   * exact.
   */
  #addDuration(): boolean {
    const nanoseconds = (this.#endSeconds - this.#row.seconds) * 1e9 + this.#endNanos - this.#row.nanos;
    if (nanoseconds < 0 || nanoseconds > Number.MAX_SAFE_INTEGER) return false;
    const text = durationText(nanoseconds);
    const to = this.#endFrom + text.length;
    if (to > this.#endTo) return false;
    const { body } = this.#scanner;
    for (let i = 0; i < text.length; i++) body[this.#endFrom + i] = text.charCodeAt(i);
    this.#fromFields.addAttribute(durationKey, this.#endFrom, to);
    return true;
  }
}

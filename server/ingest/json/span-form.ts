import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import type { RowForm } from "./json-lines.ts";
import { type JsonScanner, quote, zero } from "./json-scanner.ts";
import { durationText, spanIdDigits, spanKeys, spanKinds, statusCodes, traceIdDigits } from "./span-row.ts";

/** Fields of a span, by their place. */
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
/** Fields up to here are the attributes of the same place in `spanKeys`. */
const durationKey = spanKeys.indexOf("duration_ms");

const kinds = spanKinds.map((text) => Buffer.from(text, "latin1"));
const codes = statusCodes.map((text) => Buffer.from(text, "latin1"));

/** Spans as `readSpanRow` reads them. */
export class SpanForm implements RowForm {
  readonly fields = Object.keys(Field);
  readonly ownKeys = spanKeys.length;
  readonly #scanner: JsonScanner;
  /** What the fields become; it goes behind the row's own attributes. */
  readonly #own = new RowRanges();
  #row!: RowRanges;
  #given = 0;
  #endSeconds = 0;
  #endNanos = 0;
  /** Where the text of the end's time lies, of which nothing is needed once it is read. */
  #endFrom = 0;
  #endTo = 0;

  /** The draft is new: its first keys are those that spans get from their fields. */
  constructor(scanner: JsonScanner, draft: BatchBuilder) {
    this.#scanner = scanner;
    for (const key of spanKeys) draft.addKeyText(key);
  }

  begin(row: RowRanges): void {
    this.#row = row;
    this.#own.clear();
    this.#given = 0;
  }

  readField(field: number, at: number): number {
    this.#given |= 1 << field;
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
    if ((this.#given & required) !== required) return false;
    const hasEnd = (this.#given & (1 << Field.endTimeUnixNano)) !== 0;
    if (hasEnd && !this.#addDuration()) return false;
    const { attributes, keys, from, to } = this.#own;
    // In the order of their keys, as they come out of the general reader.
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
    if (from < to) this.#own.addAttribute(field, from, to);
    return end;
  }

  /** Digits in lower case, not all of them zeros. */
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
    return words.some((word) => word.length === to - from && this.#scanner.stands(word, from));
  }

  /** Writes the duration where the end's time stood; false where it has no room there or is none. */
  #addDuration(): boolean {
    const nanoseconds = (this.#endSeconds - this.#row.seconds) * 1e9 + this.#endNanos - this.#row.nanos;
    if (nanoseconds < 0 || nanoseconds > Number.MAX_SAFE_INTEGER) return false;
    const text = durationText(nanoseconds);
    const to = this.#endFrom + text.length;
    if (to > this.#endTo) return false;
    const { body } = this.#scanner;
    for (let i = 0; i < text.length; i++) body[this.#endFrom + i] = text.charCodeAt(i);
    this.#own.addAttribute(durationKey, this.#endFrom, to);
    return true;
  }
}

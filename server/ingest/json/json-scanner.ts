/**
 * Reads values from the bytes of a JSON text, for the fast reader of rows. Each read method returns the position after
 * the value that begins at `at`, or -1 where the general reader must read the row.
 */

import { JsonText } from "./json-text.ts";
import { isBlank } from "./row-splitter.ts";

export const quote = 0x22;
const minus = 0x2d;
export const zero = 0x30;
const nine = 0x39;

const booleans = ["true", "false"].map((text) => Buffer.from(text, "latin1"));

/** Integers with at most this many digits are exact in a JavaScript number. */
const exactDigits = 15;
const nanosDigitsMax = 19;
const nanosDigits = 9;

export class JsonScanner {
  readonly body: Buffer;
  readonly view: DataView;
  readonly text: JsonText;
  /** Where the text that is being read ends. */
  to = 0;
  /** The time that was read last, in whole seconds since the epoch. */
  seconds = 0;
  /** Nanoseconds of the time that was read last, within its second. */
  nanos = 0;

  /** Reading decodes escapes in place, and so overwrites the body. */
  constructor(body: Buffer) {
    this.body = body;
    this.view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.text = new JsonText(body);
  }

  /** Starts reading [from, to). Its bytes can be restored until the next call. */
  begin(from: number, to: number): void {
    this.to = to;
    this.text.begin(from, to);
  }

  /** Reads a string; its text is at [at + 1, text.textTo). */
  readString(at: number): number {
    if (this.body[at] !== quote) return -1;
    const end = this.text.findStringEnd(at + 1);
    return end < 0 ? -1 : end + 1;
  }

  /** Reads a boolean, or an integer in the form in which JavaScript prints it. */
  readLiteral(at: number): number {
    for (const literal of booleans) if (this.matches(literal, at)) return at + literal.length;
    const isNegative = this.body[at] === minus;
    const from = isNegative ? at + 1 : at;
    const end = this.#digitsEnd(from);
    const isPlain = this.body[from] !== zero || (end - from === 1 && !isNegative);
    return isPlain && end > from && end - from <= exactDigits ? end : -1;
  }

  /** Reads nanoseconds since the epoch, with or without quotes. */
  readNanos(at: number): number {
    const isQuoted = this.body[at] === quote;
    const from = isQuoted ? at + 1 : at;
    const end = this.#digitsEnd(from);
    if (end === from || end - from > nanosDigitsMax) return -1;
    if (isQuoted ? this.body[end] !== quote : this.body[from] === zero && end - from > 1) return -1;
    const split = Math.max(from, end - nanosDigits);
    this.seconds = this.#numberAt(from, split);
    this.nanos = this.#numberAt(split, end);
    return isQuoted ? end + 1 : end;
  }

  /** Reads milliseconds since the epoch. */
  readMillis(at: number): number {
    const end = this.#digitsEnd(at);
    if (end === at || end - at > exactDigits || (this.body[at] === zero && end - at > 1)) return -1;
    const ms = this.#numberAt(at, end);
    this.seconds = Math.floor(ms / 1000);
    this.nanos = (ms % 1000) * 1e6;
    return end;
  }

  matches(text: Uint8Array, at: number): boolean {
    for (let i = 0; i < text.length; i++) if (this.body[at + i] !== text[i]) return false;
    return true;
  }

  skipBlank(from: number): number {
    let at = from;
    while (at < this.to && isBlank(this.body[at]!)) at++;
    return at;
  }

  #digitsEnd(from: number): number {
    let at = from;
    while (at < this.to && this.body[at]! >= zero && this.body[at]! <= nine) at++;
    return at;
  }

  #numberAt(from: number, to: number): number {
    let number = 0;
    for (let at = from; at < to; at++) number = number * 10 + this.body[at]! - zero;
    return number;
  }
}

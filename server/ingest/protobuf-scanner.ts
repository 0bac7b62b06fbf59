/**
 * Fields of protobuf messages (https://protobuf.dev/programming-guides/encoding/), read from the bytes of a tape. By hand, where
 * objects of a decoder would cost more than all the rest of a row: see bench/README.md.
 */

import { Refusal } from "../limits/refusal.ts";
import type { Tape } from "./json/tape.ts";

/** How a field's value is written, the lower three bits of its tag. */
const Wire = { varint: 0, eightBytes: 1, bytes: 2, fourBytes: 5 } as const;

const two32 = 2 ** 32;

export class ProtoScanner {
  /** The place that is read next. */
  at = 0;
  /** Halves of the 64 bits that were read last, the signs of which are without meaning. */
  low = 0;
  high = 0;
  readonly #tape: Tape;

  constructor(tape: Tape) {
    this.#tape = tape;
  }

  /** The tag of a field (number × 8 + wire type), or whatever else is a number below 2^32; what is larger is cut off. */
  readVarint(end: number): number {
    const { bytes } = this.#tape;
    if (this.at < end) {
      const first = bytes[this.at]!;
      if (first < 0x80) {
        this.at++;
        return first;
      }
    }
    this.readVarint64(end);
    return this.low >>> 0;
  }

  /** Reads a number of up to 64 bits to `low` and `high`. */
  readVarint64(end: number): void {
    const { bytes } = this.#tape;
    let low = 0;
    let high = 0;
    let { at } = this;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) throw malformed("it ends within a number");
      const byte = bytes[at++]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= (bits & 1) << 31;
      if (byte < 0x80) {
        this.at = at;
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw malformed("a number has more than ten bytes");
  }

  /** Reads eight bytes to `low` and `high`. */
  readEightBytes(end: number): void {
    if (this.at + 8 > end) throw malformed("it ends within a number");
    this.low = this.#tape.view.getInt32(this.at, true);
    this.high = this.#tape.view.getInt32(this.at + 4, true);
    this.at += 8;
  }

  readDouble(end: number): number {
    if (this.at + 8 > end) throw malformed("it ends within a number");
    this.at += 8;
    return this.#tape.view.getFloat64(this.at - 8, true);
  }

  /** Where the bytes end that come next: the length stands before them. */
  readEnd(end: number): number {
    const byteLength = this.readVarint(end);
    const fieldEnd = this.at + byteLength;
    if (fieldEnd > end) throw malformed("a field is longer than the message around it");
    return fieldEnd;
  }

  /** Calls `visit` for each field with this tag in the message at [from, to), with the scanner at its start. */
  eachField(from: number, to: number, wanted: number, visit: (from: number, to: number) => void): void {
    this.at = from;
    while (this.at < to) {
      const tag = this.readVarint(to);
      if (tag !== wanted) {
        this.skip(tag, to);
        continue;
      }
      const end = this.readEnd(to);
      visit(this.at, end);
      this.at = end;
    }
  }

  /** Passes over the value of a field that has no meaning here. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case Wire.varint:
        this.readVarint64(end);
        return;
      case Wire.eightBytes:
        this.at += 8;
        break;
      case Wire.bytes:
        this.at = this.readEnd(end);
        break;
      case Wire.fourBytes:
        this.at += 4;
        break;
      default:
        throw malformed(`a field has the wire type ${tag & 7}`);
    }
    if (this.at > end) throw malformed("it ends within a number");
  }

  /** The 64 bits that were read last as a whole number with a sign; not exact beyond 2^53. */
  signed(): number {
    return this.high * two32 + (this.low >>> 0);
  }

  /** All digits of the same. */
  signedText(): string {
    return String((BigInt(this.high) << 32n) | BigInt(this.low >>> 0));
  }
}

export function malformed(problem: string): Refusal {
  return new Refusal(400, `the body is not valid protobuf: ${problem}`);
}

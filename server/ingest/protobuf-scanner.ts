/**
 * Reads fields of protobuf messages (https://protobuf.dev/programming-guides/encoding/) from a body buffer. Written by
 * hand, since a decoder's objects would cost more than everything else about a row: see bench/README.md.
 */

import { Refusal } from "../throttle/refusal.ts";
import type { BodyBuffer } from "./body-buffer.ts";

/** Wire types, the lower three bits of a tag. */
const Wire = { varint: 0, eightBytes: 1, bytes: 2, fourBytes: 5 } as const;

const two32 = 2 ** 32;

export class ProtoScanner {
  /** The position that is read next. */
  at = 0;
  /** Halves of the 64 bits that were read last. Both are bit patterns: their signs mean nothing. */
  low = 0;
  high = 0;
  readonly #buffer: BodyBuffer;

  constructor(buffer: BodyBuffer) {
    this.#buffer = buffer;
  }

  /**
   * Reads a tag (field number × 8 + wire type) or another number below 2^32; higher bits of a larger one are dropped.
   */
  readVarint(end: number): number {
    const { bytes } = this.#buffer;
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

  /** Reads a varint of up to 64 bits into `low` and `high`. */
  readVarint64(end: number): void {
    const { bytes } = this.#buffer;
    let low = 0;
    let high = 0;
    let { at } = this;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) throw makeProtobufRefusal("it ends within a number");
      const byte = bytes[at++]!;
      const payload = byte & 0x7f;
      if (shift < 28) low |= payload << shift;
      else if (shift === 28) {
        low |= payload << 28;
        high |= payload >> 4;
      } else if (shift < 63) high |= payload << (shift - 32);
      else high |= (payload & 1) << 31;
      if (byte < 0x80) {
        this.at = at;
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw makeProtobufRefusal("a number has more than ten bytes");
  }

  /** Reads eight bytes into `low` and `high`. */
  readEightBytes(end: number): void {
    if (this.at + 8 > end) throw makeProtobufRefusal("it ends within a number");
    this.low = this.#buffer.view.getInt32(this.at, true);
    this.high = this.#buffer.view.getInt32(this.at + 4, true);
    this.at += 8;
  }

  readDouble(end: number): number {
    if (this.at + 8 > end) throw makeProtobufRefusal("it ends within a number");
    this.at += 8;
    return this.#buffer.view.getFloat64(this.at - 8, true);
  }

  /** Reads a length and returns the end of the bytes that follow it. */
  readFieldEnd(end: number): number {
    const byteLength = this.readVarint(end);
    const fieldEnd = this.at + byteLength;
    if (fieldEnd > end) throw makeProtobufRefusal("a field is longer than the message around it");
    return fieldEnd;
  }

  /**
   * Calls `visit` for each field with this tag in the message at [from, to). The scanner is then at the field's start.
   */
  forEachField(from: number, to: number, wantedTag: number, visit: (from: number, to: number) => void): void {
    this.at = from;
    while (this.at < to) {
      const tag = this.readVarint(to);
      if (tag !== wantedTag) {
        this.skip(tag, to);
        continue;
      }
      const end = this.readFieldEnd(to);
      visit(this.at, end);
      this.at = end;
    }
  }

  /** Skips the value of a field that is not used. */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case Wire.varint:
        this.readVarint64(end);
        return;
      case Wire.eightBytes:
        this.at += 8;
        break;
      case Wire.bytes:
        this.at = this.readFieldEnd(end);
        break;
      case Wire.fourBytes:
        this.at += 4;
        break;
      default:
        throw makeProtobufRefusal(`a field has the wire type ${tag & 7}`);
    }
    if (this.at > end) throw makeProtobufRefusal("it ends within a number");
  }

  /** The 64 bits that were read last as a signed integer; not exact beyond 2^53. */
  toSigned(): number {
    return this.high * two32 + (this.low >>> 0);
  }

  /** The 64 bits that were read last as a signed integer, with all digits. */
  toSignedText(): string {
    return String((BigInt(this.high) << 32n) | BigInt(this.low >>> 0));
  }
}

export function makeProtobufRefusal(problem: string): Refusal {
  return new Refusal(400, `the body is not valid protobuf: ${problem}`);
}

/** Throws Refusal 400 where the body cannot be decoded. */
export function decodeOrRefuse<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw makeProtobufRefusal(error instanceof Error ? error.message : String(error));
  }
}

/**
 * The bytes of a body with a scratch area after them, for texts that are stored in another form than they were sent.
 * Row ranges point into either.
 */

import { isUtf8 } from "node:buffer";
import type { BatchBuilder } from "../../engine/index.ts";

const roomFirst = 16 * 1024;
/** Below this many UTF-16 units a loop is faster than a call of Buffer's encoder. */
const shortLength = 24;
const zero = 0x30;
const hexDigits = Buffer.from("0123456789abcdef", "latin1");
const fourHighBits = 0x80808080 | 0;

export class BodyBuffer {
  bytes: Buffer;
  view: DataView;
  /** Where the body ends and the scratch area begins. */
  readonly bodyEnd: number;
  /** Where the next text is written. */
  at: number;
  readonly #builder: Pick<BatchBuilder, "read">;

  /** From now on the builder reads its texts from this buffer, which lies where the builder puts it. */
  constructor(body: Uint8Array, builder: Pick<BatchBuilder, "read"> = copies) {
    this.#builder = builder;
    this.bodyEnd = body.length;
    this.at = body.length;
    this.bytes = builder.read(body, roomFirst, this.bodyEnd);
    this.view = viewOf(this.bytes);
  }

  /** Writes a text at `at`, and moves `at` after it. A lone surrogate becomes U+FFFD. */
  write(text: string): void {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    this.reserve(text.length * 3);
    const { bytes } = this;
    if (text.length > shortLength) {
      this.at += bytes.write(text, this.at, "utf8");
      return;
    }
    const from = this.at;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.at = from + bytes.write(text, from, "utf8");
        return;
      }
      bytes[from + i] = unit;
    }
    this.at = from + text.length;
  }

  /** Writes the decimal digits of an integer from 0 to 2^53 - 1. */
  writeInteger(value: number): void {
    this.reserve(16);
    let digits = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
    let rest = value;
    for (let at = this.at + digits - 1; at >= this.at; at--) {
      const tenth = Math.floor(rest / 10);
      this.bytes[at] = zero + (rest - tenth * 10);
      rest = tenth;
    }
    this.at += digits;
  }

  /** Writes the bytes [from, to) of the buffer as lower-case hexadecimal digits. */
  writeHex(from: number, to: number): void {
    this.reserve((to - from) * 2);
    const { bytes } = this;
    let { at } = this;
    for (let i = from; i < to; i++) {
      const byte = bytes[i]!;
      bytes[at++] = hexDigits[byte >> 4]!;
      bytes[at++] = hexDigits[byte & 15]!;
    }
    this.at = at;
  }

  /** Writes another copy of the bytes [from, to) of the buffer. */
  writeRange(from: number, to: number): void {
    this.reserve(to - from);
    this.bytes.copyWithin(this.at, from, to);
    this.at += to - from;
  }

  /** Returns whether the bytes [from, to) are valid UTF-8. */
  isText(from: number, to: number): boolean {
    const { view } = this;
    let at = from;
    for (; at + 4 <= to; at += 4) if ((view.getInt32(at, true) & fourHighBits) !== 0) break;
    for (; at < to; at++) if (view.getUint8(at) > 0x7f) return isUtf8(this.bytes.subarray(at, to));
    return true;
  }

  /** Makes room for so many bytes after `at`. */
  reserve(byteLength: number): void {
    if (this.at + byteLength <= this.bytes.length) return;
    const room = Math.max(byteLength, (this.bytes.length - this.bodyEnd) * 2);
    this.bytes = this.#builder.read(this.bytes.subarray(0, this.at), room, this.bodyEnd);
    this.view = viewOf(this.bytes);
  }
}

/** Puts bytes into memory of their own. */
const copies: Pick<BatchBuilder, "read"> = {
  read: (bytes, room = 0) => {
    const copy = Buffer.allocUnsafeSlow(bytes.length + room);
    copy.set(bytes);
    return copy;
  },
};

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

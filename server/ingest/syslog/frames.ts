/** Messages of a TCP stream (RFC 6587): each with its length before it, or each ended by a newline. */

import { Refusal } from "../../limits/refusal.ts";
import { syslogMessageBytesMax } from "../limits.ts";
import type { RowSink } from "../row-sink.ts";
import { messageRow } from "./message.ts";

const newline = 0x0a;
const space = 0x20;
const zero = 0x30;
const nine = 0x39;
/** Digits of a length: it is `syslogMessageBytesMax` at most. */
const lengthDigitsMax = 7;

export class SyslogFrames {
  #held = Buffer.alloc(0);

  /** The messages that are whole now. Throws Refusal where the stream cannot be understood any more. */
  push(bytes: Uint8Array): Buffer[] {
    const all = this.#held.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#held, bytes]);
    const messages: Buffer[] = [];
    let at = 0;
    while (at < all.length) {
      const end = this.#take(all, at, messages);
      if (end < 0) break;
      at = end;
    }
    this.#held = Buffer.from(all.subarray(at));
    return messages;
  }

  /** What is left when the stream ends: a message without its newline. */
  end(): Buffer[] {
    const rest = this.#held;
    return rest.length > 0 && !isDigit(rest[0]!) ? [rest] : [];
  }

  /** Takes the message at `from`; returns the place behind it, or -1 where it is not whole. */
  #take(all: Buffer, from: number, messages: Buffer[]): number {
    if (isDigit(all[from]!)) return this.#takeCounted(all, from, messages);
    const found = all.indexOf(newline, from);
    // A line that is longer is cut into messages.
    const isLong = (found < 0 ? all.length : found) - from > syslogMessageBytesMax;
    if (found < 0 && !isLong) return -1;
    const to = isLong ? from + syslogMessageBytesMax : found;
    if (to > from) messages.push(all.subarray(from, to));
    return isLong ? to : to + 1;
  }

  #takeCounted(all: Buffer, from: number, messages: Buffer[]): number {
    let at = from;
    let length = 0;
    while (at < all.length && isDigit(all[at]!) && at - from <= lengthDigitsMax) {
      length = length * 10 + all[at]! - zero;
      at++;
    }
    if (at === all.length) return -1;
    if (all[at] !== space || length > syslogMessageBytesMax) {
      throw new Refusal(
        400,
        `a message must be ${syslogMessageBytesMax} bytes at most, with its length before it`,
      );
    }
    const to = at + 1 + length;
    if (to > all.length) return -1;
    messages.push(all.subarray(at + 1, to));
    return to;
  }
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}

/** A body of messages, each with its length before it. */
export function readSyslog(body: Buffer, sink: RowSink): void {
  for (const message of new SyslogFrames().push(body)) {
    sink.addText(messageRow(message.toString("utf8").replace(/[\r\n\0]+$/, ""), sink));
  }
}

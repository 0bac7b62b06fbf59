/** Splits a syslog TCP stream into messages (RFC 6587): each has its length before it, or a newline after it. */

import { Refusal } from "../../throttle/refusal.ts";
import { syslogMessageBytesMax } from "../limits.ts";
import type { RowSink } from "../row-sink.ts";
import { readMessageRow } from "./message.ts";

const newline = 0x0a;
/** Bytes that end a message without being part of it. */
const lineEnds: readonly number[] = [0x00, newline, 0x0d];
const space = 0x20;
const zero = 0x30;
const nine = 0x39;
/** Digits of a length prefix, which is `syslogMessageBytesMax` at most. */
const lengthDigitsMax = 7;

export class SyslogFrames {
  #pending = Buffer.alloc(0);

  /** Bytes of the message whose end has not come yet. */
  get incompleteBytes(): number {
    return this.#pending.length;
  }

  /**
   * Adds bytes of the stream; returns the messages that are complete now. Throws Refusal where the framing is broken.
   */
  push(bytes: Uint8Array): Buffer[] {
    const buffered = this.#pending.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#pending, bytes]);
    const messages: Buffer[] = [];
    let at = 0;
    while (at < buffered.length) {
      const end = this.#take(buffered, at, messages);
      if (end < 0) break;
      at = end;
    }
    this.#pending = Buffer.from(buffered.subarray(at));
    return messages;
  }

  /** The rest at the end of the stream: a last message without its newline. */
  end(): Buffer[] {
    const rest = this.#pending;
    return rest.length > 0 && !isDigit(rest[0]!) ? [rest] : [];
  }

  /** Takes the message at `from`; returns the position after it, or -1 where it is incomplete. */
  #take(buffered: Buffer, from: number, messages: Buffer[]): number {
    if (isDigit(buffered[from]!)) return this.#takeCounted(buffered, from, messages);
    const lineEnd = buffered.indexOf(newline, from);
    // A longer line is split into several messages.
    const isLong = (lineEnd < 0 ? buffered.length : lineEnd) - from > syslogMessageBytesMax;
    if (lineEnd < 0 && !isLong) return -1;
    const to = isLong ? from + syslogMessageBytesMax : lineEnd;
    if (to > from) messages.push(buffered.subarray(from, to));
    return isLong ? to : to + 1;
  }

  #takeCounted(buffered: Buffer, from: number, messages: Buffer[]): number {
    let at = from;
    let length = 0;
    while (at < buffered.length && isDigit(buffered[at]!) && at - from <= lengthDigitsMax) {
      length = length * 10 + buffered[at]! - zero;
      at++;
    }
    if (at === buffered.length) return -1;
    if (buffered[at] !== space || length > syslogMessageBytesMax) {
      throw new Refusal(
        400,
        `a message must be ${syslogMessageBytesMax} bytes at most, with its length before it`,
      );
    }
    const to = at + 1 + length;
    if (to > buffered.length) return -1;
    messages.push(buffered.subarray(at + 1, to));
    return to;
  }
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}

/** Reads a body of messages, each with its length before it. */
export function readSyslog(body: Buffer, sink: RowSink): void {
  sink.isSentOnce = false;
  for (const message of new SyslogFrames().push(body)) {
    sink.addText(readMessageRow(message.toString("utf8", 0, findTextEnd(message)), sink));
  }
}

/** Where a message ends without its line ends and zero bytes. A pattern for them would take quadratic time. */
function findTextEnd(message: Buffer): number {
  let end = message.length;
  while (end > 0 && lineEnds.includes(message[end - 1]!)) end--;
  return end;
}

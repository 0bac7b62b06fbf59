/** Splits a TCP stream of GELF into messages, each with a zero byte after it. */

import { Refusal } from "../../throttle/refusal.ts";
import { syslogMessageBytesMax } from "../limits.ts";

export class GelfFrames {
  #pending = Buffer.alloc(0);

  get incompleteBytes(): number {
    return this.#pending.length;
  }

  /** Returns the messages that are complete now. Throws Refusal where one is too long. */
  push(bytes: Uint8Array): Buffer[] {
    const buffered = Buffer.concat([this.#pending, bytes]);
    const messages: Buffer[] = [];
    let from = 0;
    for (let end = buffered.indexOf(0); end >= 0; end = buffered.indexOf(0, from)) {
      if (end > from) messages.push(buffered.subarray(from, end));
      from = end + 1;
    }
    this.#pending = Buffer.from(buffered.subarray(from));
    if ([this.#pending, ...messages].some(({ length }) => length > syslogMessageBytesMax))
      throw new Refusal(
        400,
        `a message must be ${syslogMessageBytesMax} bytes at most, with a zero byte after it`,
      );
    return messages;
  }

  /** A last message without its zero byte. */
  end(): Buffer[] {
    return this.#pending.length > 0 ? [this.#pending] : [];
  }
}

/** Splits a connection of Fluent's forward protocol into messages, each of which is one MessagePack array. */

import { Refusal } from "../../throttle/refusal.ts";
import { RowProblem } from "../json/json-row.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { readHead, ValueSkipper } from "./message-pack.ts";

/** Elements of a message of one record that has no options. */
const bareRecordElements = 3;

export class ForwardFrames {
  #bytes = Buffer.alloc(0);
  #length = 0;
  #skipper = new ValueSkipper(0);

  /** Bytes of the message whose end has not come yet. */
  get incompleteBytes(): number {
    return this.#length;
  }

  /**
   * Adds bytes of the stream. Returns bodies of whole messages: one that has options, which may ask for an
   * acknowledgement, is a body of its own; those of one record without options stand together. Throws Refusal where the
   * bytes are no MessagePack or a message is too long.
   */
  push(chunk: Buffer): Uint8Array[] {
    this.#append(chunk);
    const bytes = this.#bytes.subarray(0, this.#length);
    const bodies: Buffer[] = [];
    let from = 0;
    let bareFrom = 0;
    const endBare = (to: number) => {
      if (to > bareFrom) bodies.push(bytes.subarray(bareFrom, to));
    };
    while (this.#skip(bytes, from)) {
      const to = this.#skipper.at;
      if (!isBare(bytes, from)) {
        endBare(from);
        bodies.push(bytes.subarray(from, to));
        bareFrom = to;
      }
      from = to;
      this.#skipper = new ValueSkipper(to);
    }
    endBare(from);
    const copies = bodies.map((body) => new Uint8Array(body));
    this.#removeBefore(from);
    return copies;
  }

  /** Throws Refusal. */
  #skip(bytes: Buffer, from: number): boolean {
    let hasEnded: boolean;
    try {
      hasEnded = this.#skipper.skip(bytes);
    } catch (problem) {
      throw problem instanceof RowProblem ? new Refusal(400, problem.message) : problem;
    }
    if (this.#skipper.at - from > ingestBodyBytesMax)
      throw new Refusal(413, `a message is longer than ${ingestBodyBytesMax} bytes`);
    return hasEnded;
  }

  /** The buffer doubles, so that a long message is not copied for each of its pieces. */
  #append(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    chunk.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  #removeBefore(from: number): void {
    if (from === 0) return;
    const rest = this.#bytes.subarray(from, this.#length);
    this.#bytes = Buffer.from(rest);
    this.#length = rest.length;
    this.#skipper.at -= from;
  }
}

/** Returns whether the message at `from` is one record without options: `[tag, time, record]`. */
function isBare(bytes: Buffer, from: number): boolean {
  const message = readHead(bytes, from);
  if (message?.kind !== "array" || message.length !== bareRecordElements) return false;
  const tagAt = from + message.headBytes;
  const tag = readHead(bytes, tagAt);
  if (tag?.kind !== "text" && tag?.kind !== "bytes") return false;
  const second = readHead(bytes, tagAt + tag.headBytes + tag.length);
  return second?.kind === "value" || second?.kind === "extension";
}

/** Splits a connection of Fluent's forward protocol into messages, each of which is one MessagePack array. */

import { Refusal } from "../../throttle/refusal.ts";
import { RowProblem } from "../json/json-row.ts";
import { fluentTogetherBytesMax, ingestBodyBytesMax } from "../limits.ts";
import { readHead, ValueSkipper } from "./message-pack.ts";

/** Elements of a message of one record that has no options. */
const bareRecordElements = 3;
/** Characters of a tag that the log shows. */
const shownTagLengthMax = 100;

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
   * acknowledgement, is a body of its own; short ones of one record without options stand together. Throws Refusal where
   * the bytes are no MessagePack or a message is too long.
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
      } else if (to - bareFrom > fluentTogetherBytesMax) {
        endBare(from);
        bareFrom = from;
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

/** The two halves of a body of several messages; undefined where it holds one. */
export function halveMessages(body: Uint8Array): [Uint8Array, Uint8Array] | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const ends: number[] = [];
  for (let at = 0; at < bytes.length; at = ends.at(-1)!) {
    const skipper = new ValueSkipper(at);
    skipper.skip(bytes);
    ends.push(skipper.at);
  }
  if (ends.length < 2) return undefined;
  const middle = ends[Math.floor(ends.length / 2) - 1]!;
  return [body.subarray(0, middle), body.subarray(middle)];
}

/** The tag of a body of one record without options, for the log; undefined for other bodies. */
export function bareTagOf(body: Uint8Array): string | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isBare(bytes, 0)) return undefined;
  const tagAt = readHead(bytes, 0)!.headBytes;
  const { headBytes, length } = readHead(bytes, tagAt)!;
  const from = tagAt + headBytes;
  return bytes.toString("utf8", from, from + Math.min(length, shownTagLengthMax));
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

/**
 * Messages in gRPC's framing: a byte that says whether the message is compressed, four bytes with its length, and the
 * message (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */

import { Refusal } from "../../throttle/refusal.ts";

const prefixBytes = 5;

/** Collects the one message of a call from the pieces in which it comes. */
export class MessageReader {
  readonly #bytesMax: number;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixFilled = 0;
  /** What came after the prefix in the same piece; it waits for `allocate`. */
  #first: Uint8Array = new Uint8Array(0);
  #message: Buffer<ArrayBuffer> | undefined;
  #filled = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isCompressed(): boolean {
    return this.#prefix[0] === 1;
  }

  /**
   * Reads a piece. Returns the length of the message where the piece ends its prefix: `allocate` is due before the next
   * piece. Throws Refusal 413 for a message that is too long, 400 for bytes that are no message, or follow it.
   */
  push(piece: Uint8Array): number | undefined {
    if (this.#message !== undefined) {
      this.#add(this.#message, piece);
      return undefined;
    }
    const taken = Math.min(prefixBytes - this.#prefixFilled, piece.length);
    this.#prefix.set(piece.subarray(0, taken), this.#prefixFilled);
    this.#prefixFilled += taken;
    if (this.#prefixFilled < prefixBytes) return undefined;
    if (this.#prefix[0]! > 1) throw new Refusal(400, "the body does not begin with a gRPC message");
    const length = this.#prefix.readUInt32BE(1);
    if (length > this.#bytesMax) {
      throw new Refusal(413, `the message is larger than ${this.#bytesMax} bytes: send it in smaller parts`);
    }
    this.#first = piece.subarray(taken);
    return length;
  }

  /** Takes the memory for the message. A sender that sends byte by byte makes it hold no more than that. */
  allocate(): void {
    this.#message = Buffer.allocUnsafeSlow(this.#prefix.readUInt32BE(1));
    this.#add(this.#message, this.#first);
  }

  /** The whole message. Throws Refusal 400 where it was cut short, or none came. */
  finish(): Uint8Array {
    if (this.#message === undefined) throw new Refusal(400, "the body holds no gRPC message");
    if (this.#filled < this.#message.length) {
      const got = `${this.#filled} of ${this.#message.length} bytes came`;
      throw new Refusal(400, `the gRPC message was cut short: ${got}`);
    }
    return this.#message;
  }

  #add(message: Buffer, piece: Uint8Array): void {
    if (this.#filled + piece.length > message.length) {
      throw new Refusal(400, "more bytes came than the gRPC message has: a call takes one message");
    }
    message.set(piece, this.#filled);
    this.#filled += piece.length;
  }
}

/** A message in gRPC's framing, not compressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(prefixBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}

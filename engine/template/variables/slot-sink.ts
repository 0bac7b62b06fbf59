/** Growing byte streams that slots are written to. */
import { longLength } from "../../kernels/decoding.ts";

/** The streams of a group of variables: data of every kind of slot, and texts as lengths and bytes. */
export interface SlotSinks {
  data: ByteSink;
  texts: TextSink;
}

/** A byte stream that grows. */
export class ByteSink {
  #bytes = new Uint8Array(1 << 16);
  length = 0;

  push(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.length++] = byte;
  }

  append(bytes: Uint8Array, from = 0, to = bytes.byteLength): void {
    this.#reserve(to - from);
    // Up to 32 bytes a loop is faster than a call of `set`.
    if (to - from > 32) this.#bytes.set(bytes.subarray(from, to), this.length);
    else for (let at = from, target = this.length; at < to; at++) this.#bytes[target++] = bytes[at]!;
    this.length += to - from;
  }

  float64(value: number): void {
    this.append(new Uint8Array(Float64Array.of(value).buffer));
  }

  /** The bytes so far; a view, valid until more are added. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #reserve(byteLength: number): void {
    if (this.length + byteLength <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + byteLength));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}

/** Texts as a stream of lengths (u8), a list of long lengths, and a stream of bytes. */
export class TextSink {
  readonly lengths = new ByteSink();
  readonly longLengths: number[] = [];
  readonly bytes = new ByteSink();

  push(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length >= longLength) this.longLengths.push(length);
    this.lengths.push(Math.min(length, longLength));
    this.bytes.append(bytes, from, to);
  }
}

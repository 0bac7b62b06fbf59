/** The bytes of a body as they come in. */

import { bodyBlockBytes } from "./limits.ts";

/**
 * Copies chunks into few blocks. A client may send its body byte by byte, and an array for each would take a hundred
 * times the memory of what it holds.
 */
export class BodyBlocks {
  readonly #blocks: Uint8Array<ArrayBuffer>[] = [];
  /** Bytes of the last block that are filled. */
  #filled = 0;
  #bytes = 0;

  /** Number of arrays that hold the bytes. */
  get count(): number {
    return this.#blocks.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Copies a chunk, whose memory may be freed afterwards. */
  add(chunk: ArrayBuffer): void {
    const last = this.#blocks.at(-1);
    this.#bytes += chunk.byteLength;
    if (last !== undefined && last.length - this.#filled >= chunk.byteLength) {
      last.set(new Uint8Array(chunk), this.#filled);
      this.#filled += chunk.byteLength;
      return;
    }
    if (last !== undefined) this.#blocks[this.#blocks.length - 1] = last.subarray(0, this.#filled);
    this.#filled = chunk.byteLength;
    // As large as all before it at most, so that a body takes twice its size at most.
    const length = Math.max(chunk.byteLength, Math.min(this.#bytes - chunk.byteLength, bodyBlockBytes));
    if (length === chunk.byteLength) this.#blocks.push(new Uint8Array(chunk.slice(0)));
    else {
      const block = new Uint8Array(length);
      block.set(new Uint8Array(chunk));
      this.#blocks.push(block);
    }
  }

  clear(): void {
    this.#blocks.length = 0;
    this.#filled = 0;
    this.#bytes = 0;
  }

  /** All bytes in one array, which is not copied where it came in one chunk. */
  join(): Uint8Array<ArrayBuffer> {
    const [first] = this.#blocks;
    if (first !== undefined && first.length === this.#bytes) return first;
    const body = new Uint8Array(this.#bytes);
    let at = 0;
    for (const block of this.#blocks) {
      const bytes = Math.min(block.length, this.#bytes - at);
      body.set(block.subarray(0, bytes), at);
      at += bytes;
    }
    return body;
  }
}

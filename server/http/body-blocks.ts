/** The bytes of a body as they come in. */

import { bodyBlockBytes } from "./limits.ts";

/**
 * Memory for a whole body is reserved once this share of what was announced has come (a divisor): who announces much and
 * sends little holds little.
 */
const announcedShare = 16;

/** Memory for whole bodies. */
export interface BodyMemory {
  /** Undefined where new memory is to be taken. */
  take: (bytes: number) => Uint8Array | undefined;
  /** Takes the memory back. Does nothing with other memory. */
  giveBack: (memory: Uint8Array) => void;
}

/**
 * Copies chunks into few blocks. A client may send its body byte by byte, and an array for each would take a hundred
 * times the memory of what it holds.
 */
export class BodyBlocks {
  /** Length of the whole body, where the client announced it; else 0. */
  readonly #announced: number;
  readonly #memory: BodyMemory | undefined;
  /** The block for the whole body. */
  #gathered: Uint8Array | undefined;
  readonly #blocks: Uint8Array[] = [];
  /** Bytes of the last block that are filled. */
  #filled = 0;
  #bytes = 0;

  constructor(announced: number | null = null, memory?: BodyMemory) {
    this.#announced = announced ?? 0;
    this.#memory = memory;
  }

  /** Number of arrays that hold the bytes. */
  get count(): number {
    return this.#blocks.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Copies a chunk, whose memory may be freed afterwards. */
  add(chunk: ArrayBufferLike): void {
    this.#bytes += chunk.byteLength;
    const last = this.#blocks.at(-1);
    if (last !== undefined) {
      if (this.#fill(last, chunk)) return;
      this.#blocks[this.#blocks.length - 1] = last.subarray(0, this.#filled);
    }
    const block = this.#openBlock(chunk.byteLength);
    if (block === undefined) {
      this.#filled = chunk.byteLength;
      this.#blocks.push(new Uint8Array(chunk.slice(0)));
    } else this.#fill(block, chunk);
  }

  /** Copies a chunk to the free end of a block. Returns false, and copies nothing, where it does not fit. */
  #fill(block: Uint8Array, chunk: ArrayBufferLike): boolean {
    if (block.length - this.#filled < chunk.byteLength) return false;
    copyTo(block, this.#filled, new Uint8Array(chunk));
    this.#filled += chunk.byteLength;
    return true;
  }

  /** Opens a block that has room for a chunk and for what follows; undefined where the chunk is best copied by itself. */
  #openBlock(chunkBytes: number): Uint8Array | undefined {
    const before = this.#bytes - chunkBytes;
    const announced = this.#announced;
    if (before > 0 && before * announcedShare >= announced && this.#bytes <= announced)
      return this.#gather(announced);
    // As large as all before it at most, so that a body takes twice its size at most.
    const length = Math.min(before, bodyBlockBytes);
    if (length <= chunkBytes) return undefined;
    this.#filled = 0;
    const block = new Uint8Array(length);
    this.#blocks.push(block);
    return block;
  }

  /**
   * Moves what has come into one block for the whole body, so that nothing is left to be joined. The rest of its memory
   * is not touched before it is filled.
   */
  #gather(bytes: number): Uint8Array {
    const block = this.#memory?.take(bytes) ?? new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
    this.#gathered = block;
    let at = 0;
    for (const each of this.#blocks) {
      copyTo(block, at, each);
      at += each.length;
    }
    this.#blocks.length = 0;
    this.#blocks.push(block);
    this.#filled = at;
    return block;
  }

  /** Forgets all bytes, which nobody may read any more. */
  clear(): void {
    if (this.#gathered !== undefined) this.#memory?.giveBack(this.#gathered);
    this.#gathered = undefined;
    this.#blocks.length = 0;
    this.#filled = 0;
    this.#bytes = 0;
  }

  /** All bytes in one array, which is not copied where it came in one chunk. */
  join(): Uint8Array {
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

/**
 * Copies bytes to `at`. V8's own `set` takes more than twice as long where the target is shared memory and its address has
 * another remainder than the source's when divided by 8: then it copies byte by byte.
 */
function copyTo({ buffer, byteOffset, byteLength }: Uint8Array, at: number, bytes: Uint8Array): void {
  if (bytes.length > 0) Buffer.from(buffer, byteOffset, byteLength).fill(bytes, at, at + bytes.length);
}

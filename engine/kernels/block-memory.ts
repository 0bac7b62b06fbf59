/**
 * A memory of blocks for one piece of work in WebAssembly, such as a batch or the messages of a chunk. Blocks are taken one
 * after the other; all of them are gone when the next piece of work begins.
 */
import { randomFillSync } from "node:crypto";
import { type ByteSource, toByteSource } from "../vector/text-table.ts";
import { createSharedMemory, instantiateKernels, isTrap, type SharedMemory } from "./webassembly.ts";

/** What assembly/batch/blocks.ts and texttable.ts export, for any piece of work. Texts and tables are given by their addresses. */
interface BlockExports {
  rewindBlocks(): void;
  reserveBlock(bytes: number): number;
  setHashSecrets(first: bigint, second: bigint, third: bigint): void;
}

/** Room for the tables of the kernels and a staged row. */
const initialPages = 16;
const pagesMax = 65_535;
/** Kernels write up to so many bytes after texts that they gather. */
const overwriteBytes = 16;
/** See `copyNear`. */
const wordBytes = 8;

/** Memories for the next pieces of work of this thread: messages are encoded while the batch that they are from has one. */
const spares: BlockMemory[] = [];
const sparesMax = 2;

export class BlockMemory {
  readonly #kernels: BlockExports;
  readonly #memory: SharedMemory;

  private constructor() {
    this.#memory = createSharedMemory(initialPages, pagesMax);
    this.#kernels = instantiateKernels<BlockExports>(this.#memory);
    const secrets = new BigUint64Array(3);
    randomFillSync(secrets);
    this.#kernels.setHashSecrets(secrets[0]!, secrets[1]!, secrets[2]!);
  }

  /** A memory for work that keeps its blocks: they are there until the memory is gone. */
  static make(): BlockMemory {
    return new BlockMemory();
  }

  /** A memory for a piece of work that begins now. */
  static take(): BlockMemory {
    const memory = spares.pop() ?? new BlockMemory();
    memory.#kernels.rewindBlocks();
    return memory;
  }

  /**
   * Gives the memory to the next piece of work of this thread. What it returned must not be used any more. One that has
   * grown beyond `keptBytesMax` is given back to the system, as it cannot shrink.
   */
  giveBack(keptBytesMax: number): void {
    if (this.#memory.buffer.byteLength <= keptBytesMax && spares.length < sparesMax) spares.push(this);
  }

  /**
   * Does a piece of work in a memory of this thread, or by `plainly` where the memory is full. Nothing of the memory may be
   * used afterwards.
   */
  static work<Result>(
    keptBytesMax: number,
    work: (memory: BlockMemory) => Result,
    plainly: () => Result,
  ): Result {
    const memory = BlockMemory.take();
    try {
      const result = work(memory);
      memory.giveBack(keptBytesMax);
      return result;
    } catch (error) {
      // The memory is not given back, since nobody knows what it holds.
      if (isTrap(error)) return plainly();
      throw error;
    }
  }

  get byteLength(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Room for so many bytes, at a multiple of 16. */
  reserve(byteLength: number): number {
    return this.#kernels.reserveBlock(byteLength + wordBytes + overwriteBytes);
  }

  /**
   * Copies bytes to reserved room, to `at` or up to 7 bytes after it. V8 copies to shared memory eight bytes at a time only
   * where the addresses of source and target have the same remainder when divided by 8; byte by byte takes three times as long.
   * Returns the copy.
   */
  copyNear(
    at: number,
    { buffer, byteOffset, byteLength }: Uint8Array | Uint32Array | Int32Array,
  ): Uint8Array {
    const copy = this.uint8(at + (byteOffset % wordBytes), byteLength);
    copy.set(new Uint8Array(buffer, byteOffset, byteLength));
    return copy;
  }

  /** Copies bytes, and makes room for so many more after them. Returns where they lie, with the room. */
  place(bytes: Uint8Array, room: number): ByteSource {
    const copy = this.copyNear(this.reserve(bytes.byteLength + room), bytes);
    return toByteSource(this.uint8(copy.byteOffset, bytes.byteLength + room));
  }

  /** Copies a vector. Returns where it lies. */
  placeVector(vector: Uint8Array | Uint32Array | Int32Array): number {
    return this.copyNear(this.reserve(vector.byteLength), vector).byteOffset;
  }

  uint8(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, at, length);
  }

  uint32(at: number, length: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, at, length);
  }

  int32(at: number, length: number): Int32Array {
    return new Int32Array(this.#memory.buffer, at, length);
  }

  float64(at: number, length: number): Float64Array {
    return new Float64Array(this.#memory.buffer, at, length);
  }

  /** The kernels that work in this memory. The caller names the type of their exports, which is not checked. */
  kernels<Exports>(): Exports {
    return this.#kernels as unknown as Exports;
  }
}

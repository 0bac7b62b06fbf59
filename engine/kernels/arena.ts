/**
 * One thread's WebAssembly memory, and the blocks that it is cut into. The memory is of the shared kind only because such
 * a memory grows without detaching the views that exist.
 *
 * What is lost to fragmentation: a block is at most 1/8 + 32 bytes larger than asked for. Sizes are rounded so that there
 * are eight of them between a number and its double, so that the hole of a column that went fits the next one of about
 * its length; a hole is taken where it fits best, and neighbouring holes are one at once, so that an arena without blocks
 * is one hole again. The sum of the holes can exceed what `allocate` finds room for; an owner that frees blocks until
 * it succeeds, as a cache does, ends with success for everything up to `bytesMax - reservedBytes`.
 */
import assert from "node:assert/strict";
import { type SharedMemory, sharedMemory, wasmPageBytes } from "./webassembly.ts";

/** Addresses of WebAssembly memory have 32 bits; the last page stays out, so that no end of a block wraps around. */
const addressableBytes = 65_535 * wasmPageBytes;
/** Growing touches nothing: pages take memory when they are first written. */
const growthBytes = 16 * 1024 * 1024;
const alignment = 16;

/** Bytes behind every block's data that kernels may read, never write. */
export const overreadBytes = 16;
/** The first bytes of the memory, where kernels keep tables and operands. */
export const reservedBytes = 512 * 1024;

/** Part of an arena's memory. Its views must not be used once it is freed: the bytes may be another's by then. */
export class Block {
  /** Address of the first byte, a multiple of 16. */
  readonly at: number;
  readonly byteLength: number;
  /** With alignment, rounding and room to read past the end. */
  readonly heldBytes: number;
  readonly #memory: SharedMemory;

  constructor(memory: SharedMemory, at: number, byteLength: number, heldBytes: number) {
    this.#memory = memory;
    this.at = at;
    this.byteLength = byteLength;
    this.heldBytes = heldBytes;
  }

  /** Views of the block, from `byteOffset` on; without a length, as many elements as there is room for. */
  uint8(length = this.byteLength, byteOffset = 0): Uint8Array<SharedArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, this.at + byteOffset, length);
  }

  uint16(length = this.byteLength >> 1, byteOffset = 0): Uint16Array<SharedArrayBuffer> {
    return new Uint16Array(this.#memory.buffer, this.at + byteOffset, length);
  }

  uint32(length = this.byteLength >>> 2, byteOffset = 0): Uint32Array<SharedArrayBuffer> {
    return new Uint32Array(this.#memory.buffer, this.at + byteOffset, length);
  }

  float64(length = this.byteLength >>> 3, byteOffset = 0): Float64Array<SharedArrayBuffer> {
    return new Float64Array(this.#memory.buffer, this.at + byteOffset, length);
  }
}

interface Hole {
  at: number;
  bytes: number;
}

export class Arena {
  readonly memory: SharedMemory;
  /** The most that the memory grows to, whole pages. */
  readonly bytesMax: number;
  /** By address; no two touch. */
  readonly #holes: Hole[] = [];
  /** Held bytes of the living blocks. */
  #usedBytes = 0;
  readonly #blocks = new Set<Block>();
  /** Bytes before this address are held by blocks or lie in holes. */
  #end = reservedBytes;

  /** @param bytesMax budget of the whole memory, at most 4 GiB less a page; what is above that is cut off */
  constructor({ bytesMax }: { bytesMax: number }) {
    const pages = Math.max(
      Math.floor(Math.min(bytesMax, addressableBytes) / wasmPageBytes),
      reservedBytes / wasmPageBytes,
    );
    this.bytesMax = pages * wasmPageBytes;
    this.memory = sharedMemory(reservedBytes / wasmPageBytes, pages);
  }

  /** Bytes that blocks hold, with alignment and rounding. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The largest `byteLength` that `allocate` finds room for now. */
  get largestFreeBytes(): number {
    const hole = this.#holes.reduce((most, { bytes }) => Math.max(most, bytes), this.bytesMax - this.#end);
    const last = this.#holes.at(-1);
    const open = last !== undefined && last.at + last.bytes === this.#end ? this.bytesMax - last.at : 0;
    return Math.max(roundedDown(Math.max(hole, open)) - overreadBytes, 0);
  }

  /** A block of at least `byteLength` bytes of arbitrary content, or undefined where no hole is large enough. */
  allocate(byteLength: number): Block | undefined {
    const bytes = roundedUp(byteLength + overreadBytes);
    const at = this.#takeHole(bytes) ?? this.#extend(bytes);
    if (at === undefined) return undefined;
    const block = new Block(this.memory, at, byteLength, bytes);
    this.#blocks.add(block);
    this.#usedBytes += bytes;
    return block;
  }

  free(block: Block): void {
    assert(this.#blocks.delete(block), "arena: a block is freed that is not one of its own");
    this.#usedBytes -= block.heldBytes;
    const index = this.#firstHoleAfter(block.at);
    const before = this.#holes[index - 1];
    const after = this.#holes[index];
    const joinsBefore = before !== undefined && before.at + before.bytes === block.at;
    const joinsAfter = after !== undefined && block.at + block.heldBytes === after.at;
    if (joinsBefore) {
      before.bytes += block.heldBytes;
      if (joinsAfter) {
        before.bytes += after.bytes;
        this.#holes.splice(index, 1);
      }
    } else if (joinsAfter) {
      after.at = block.at;
      after.bytes += block.heldBytes;
    } else {
      this.#holes.splice(index, 0, { at: block.at, bytes: block.heldBytes });
    }
  }

  /** The smallest hole that is large enough, of equal ones the first. */
  #takeHole(bytes: number): number | undefined {
    let best = -1;
    for (let i = 0; i < this.#holes.length; i++) {
      const size = this.#holes[i]!.bytes;
      if (size >= bytes && (best < 0 || size < this.#holes[best]!.bytes)) best = i;
    }
    const hole = this.#holes[best];
    if (hole === undefined) return undefined;
    const { at } = hole;
    hole.at += bytes;
    hole.bytes -= bytes;
    if (hole.bytes === 0) this.#holes.splice(best, 1);
    return at;
  }

  /** Takes bytes behind all blocks, a hole at the end included. */
  #extend(bytes: number): number | undefined {
    const last = this.#holes.at(-1);
    const at = last !== undefined && last.at + last.bytes === this.#end ? last.at : this.#end;
    const end = at + bytes;
    if (end > this.bytesMax || !this.#grow(end)) return undefined;
    if (at !== this.#end) this.#holes.pop();
    this.#end = end;
    return at;
  }

  /** False where the system has no more memory. */
  #grow(end: number): boolean {
    const grown = this.memory.buffer.byteLength;
    if (end <= grown) return true;
    const target = Math.min(Math.max(end, grown + growthBytes), this.bytesMax);
    try {
      this.memory.grow(Math.ceil((target - grown) / wasmPageBytes));
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  #firstHoleAfter(at: number): number {
    let low = 0;
    let high = this.#holes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#holes[middle]!.at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Eight sizes between a power of two and the next, all of them multiples of the alignment. */
function granuleOf(bytes: number): number {
  return Math.max(2 ** (Math.floor(Math.log2(bytes)) - 3), alignment);
}

function roundedUp(bytes: number): number {
  const granule = granuleOf(bytes);
  return Math.ceil(bytes / granule) * granule;
}

function roundedDown(bytes: number): number {
  if (bytes < alignment) return 0;
  const granule = granuleOf(bytes);
  return Math.floor(bytes / granule) * granule;
}

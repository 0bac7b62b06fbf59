/**
 * A memory allocator over the WebAssembly memory of one thread. The memory is a shared one only because a shared memory
 * grows without detaching the views that exist.
 *
 * Fragmentation: a block is at most 1/8 + 32 bytes larger than asked for. Sizes are rounded up to one of eight between
 * a power of two and the next, so that the range which a freed column leaves fits the next column of about its length.
 * A free range is chosen by best fit, and neighbouring free ranges are merged at once, so an arena without blocks is
 * one free range again. The sum of the free ranges can exceed what `allocate` finds room for. An owner that frees
 * blocks until an allocation succeeds, as a cache does, always succeeds for up to `bytesMax - reservedBytes`.
 */
import assert from "node:assert/strict";
import { createSharedMemory, type SharedMemory, wasmPageBytes } from "./webassembly.ts";

/** Addresses of WebAssembly memory have 32 bits; the last page is not used, so that no end of a block wraps around. */
const addressableBytes = 65_535 * wasmPageBytes;
/** The memory grows by at least so much. Growing is cheap: the system commits a page when it is first written. */
const growthBytes = 16 * 1024 * 1024;
const alignment = 16;

/** Bytes after every block's data that kernels may read but never write. */
export const overreadBytes = 16;
/** The first bytes of the memory, where kernels keep their tables and operands. */
export const reservedBytes = 512 * 1024;

/**
 * An allocated range of an arena's memory. Its views begin `byteOffset` bytes after its start and by default reach to
 * its end. They must not be used once the block is freed: the bytes may belong to another block then.
 */
export class ArenaBlock {
  /** Address of the first byte, a multiple of 16. */
  readonly at: number;
  readonly byteLength: number;
  /** With alignment, rounding and the bytes that kernels may read past the end. */
  readonly allocatedBytes: number;
  readonly #memory: SharedMemory;

  constructor(memory: SharedMemory, at: number, byteLength: number, heldBytes: number) {
    this.#memory = memory;
    this.at = at;
    this.byteLength = byteLength;
    this.allocatedBytes = heldBytes;
  }

  /** Whether the bytes lie in this block. False also where the memory has grown since their view was made. */
  holds({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
    const end = this.at + this.byteLength;
    return buffer === this.#memory.buffer && byteOffset >= this.at && byteOffset + byteLength <= end;
  }

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

interface FreeRange {
  at: number;
  bytes: number;
}

export class Arena {
  readonly memory: SharedMemory;
  /** The memory never grows beyond this; a multiple of the page size. */
  readonly bytesMax: number;
  /** In the order of their addresses; no two are neighbours. */
  readonly #freeRanges: FreeRange[] = [];
  /** Sum of `allocatedBytes` of the blocks that are not freed. */
  #usedBytes = 0;
  readonly #blocks = new Set<ArenaBlock>();
  /**
   * Every byte before this address belongs to a block, a free range or the kernels; every byte after it was never
   * allocated.
   */
  #end = reservedBytes;

  /** @param bytesMax budget of the whole memory; what exceeds 4 GiB less a page is ignored */
  constructor({ bytesMax }: { bytesMax: number }) {
    const pages = Math.max(
      Math.floor(Math.min(bytesMax, addressableBytes) / wasmPageBytes),
      reservedBytes / wasmPageBytes,
    );
    this.bytesMax = pages * wasmPageBytes;
    this.memory = createSharedMemory(reservedBytes / wasmPageBytes, pages);
  }

  /** Bytes that blocks take, with alignment and rounding. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The largest `byteLength` that `allocate` finds room for now. */
  get largestFreeBytes(): number {
    const largest = this.#freeRanges.reduce(
      (most, { bytes }) => Math.max(most, bytes),
      this.bytesMax - this.#end,
    );
    const last = this.#freeRanges.at(-1);
    const tail = last !== undefined && last.at + last.bytes === this.#end ? this.bytesMax - last.at : 0;
    return Math.max(roundDown(Math.max(largest, tail)) - overreadBytes, 0);
  }

  /**
   * Allocates a block of at least `byteLength` bytes of arbitrary content. Returns undefined where no free range is
   * large enough.
   */
  allocate(byteLength: number): ArenaBlock | undefined {
    const bytes = roundUp(byteLength + overreadBytes);
    const at = this.#takeBestFit(bytes) ?? this.#extend(bytes);
    if (at === undefined) return undefined;
    const block = new ArenaBlock(this.memory, at, byteLength, bytes);
    this.#blocks.add(block);
    this.#usedBytes += bytes;
    return block;
  }

  free(block: ArenaBlock): void {
    assert(this.#blocks.delete(block), "arena: a block is freed that is not one of its own");
    this.#usedBytes -= block.allocatedBytes;
    const index = this.#findRangeAfter(block.at);
    const before = this.#freeRanges[index - 1];
    const after = this.#freeRanges[index];
    const touchesBefore = before !== undefined && before.at + before.bytes === block.at;
    const touchesAfter = after !== undefined && block.at + block.allocatedBytes === after.at;
    if (touchesBefore) {
      before.bytes += block.allocatedBytes;
      if (touchesAfter) {
        before.bytes += after.bytes;
        this.#freeRanges.splice(index, 1);
      }
    } else if (touchesAfter) {
      after.at = block.at;
      after.bytes += block.allocatedBytes;
    } else {
      this.#freeRanges.splice(index, 0, { at: block.at, bytes: block.allocatedBytes });
    }
  }

  /** Takes bytes from the smallest free range that is large enough, of equal ones the first. */
  #takeBestFit(bytes: number): number | undefined {
    let best = -1;
    for (let i = 0; i < this.#freeRanges.length; i++) {
      const size = this.#freeRanges[i]!.bytes;
      if (size >= bytes && (best < 0 || size < this.#freeRanges[best]!.bytes)) best = i;
    }
    const range = this.#freeRanges[best];
    if (range === undefined) return undefined;
    const { at } = range;
    range.at += bytes;
    range.bytes -= bytes;
    if (range.bytes === 0) this.#freeRanges.splice(best, 1);
    return at;
  }

  /** Allocates bytes after all blocks. A free range at the end becomes a part of them. Undefined where there is no room. */
  #extend(bytes: number): number | undefined {
    const last = this.#freeRanges.at(-1);
    const at = last !== undefined && last.at + last.bytes === this.#end ? last.at : this.#end;
    const end = at + bytes;
    if (end > this.bytesMax || !this.#grow(end)) return undefined;
    if (at !== this.#end) this.#freeRanges.pop();
    this.#end = end;
    return at;
  }

  /** Returns false where the system has no more memory. */
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

  #findRangeAfter(at: number): number {
    let low = 0;
    let high = this.#freeRanges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#freeRanges[middle]!.at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The step between sizes: an eighth of the power of two below, and at least the alignment. */
function granuleOf(bytes: number): number {
  return Math.max(2 ** (Math.floor(Math.log2(bytes)) - 3), alignment);
}

function roundUp(bytes: number): number {
  const granule = granuleOf(bytes);
  return Math.ceil(bytes / granule) * granule;
}

function roundDown(bytes: number): number {
  if (bytes < alignment) return 0;
  const granule = granuleOf(bytes);
  return Math.floor(bytes / granule) * granule;
}

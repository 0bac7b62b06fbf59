/** The memory that columns are decoded into: the JavaScript heap, or a thread's column cache. */
import type { Codes } from "../vector/codes.ts";
import type { Kernels } from "./contract.ts";
import { plainKernels } from "./plain.ts";

/** Allocates vectors, filled with zeros or with given bytes if not said otherwise, and aligned for the widest kernel. */
export interface Heap {
  /** Kernels that can read and write vectors on this heap. */
  readonly kernels: Kernels<ArrayBufferLike>;
  uint8(length: number): Uint8Array;
  /** Memory that is not zeroed: the caller must write every byte before it is read. */
  unfilled(length: number): Uint8Array;
  uint16(length: number): Uint16Array;
  uint32(length: number): Uint32Array;
  float64(length: number): Float64Array;
  /** Whether `place` always copies. The JavaScript heap copies only what is not aligned. */
  readonly copies: boolean;
  /** Returns the same bytes on this heap. */
  place(bytes: Uint8Array): Uint8Array;
  /** As `place`, of bytes that nobody will change: those that lie in memory which this heap allocated are not copied. */
  retain(bytes: Uint8Array): Uint8Array;
  /**
   * Memory for bytes that are read once. All columns of the heap share it, so that the next call overwrites what is in it. It
   * is [from, from + byteLength) of the view that is returned; the bytes before must not be used. Undefined where the heap
   * has no such memory, or too little.
   */
  window(from: number, byteLength: number): Uint8Array | undefined;
  /** Calls `use` with memory on this heap that is freed when it returns. */
  withScratch<T>(use: (scratch: Heap) => T): T;
}

/** The memory of one decoded column. */
export interface ColumnMemory extends Heap {
  readonly byteLength: number;
}

/**
 * The memory for one piece of work (such as reading a chunk): decoded columns and intermediate vectors. `end` ends the
 * work.
 */
export interface ColumnHeap {
  /** Kernels that can only read and write vectors on this heap. */
  kernels: Kernels<ArrayBufferLike>;
  /** For vectors that are freed when the work ends. */
  scratch: Heap;
  /**
   * Allocates memory for a column, which may stay in a cache after the work has ended. Before the cache evicts the column,
   * it calls `onEvict` with the time at which the column was used last, by `performance.now`. Who asks for the column again
   * hands that time over as `evictedUsedMs`.
   */
  allocateColumn(onEvict: (usedMs: number) => unknown, evictedUsedMs?: number): ColumnMemory;
  /** Returns whether a column that the work can do without is worth keeping; see `ColumnCacheOptions`. */
  hasRoom(byteLength: number): boolean;
  /** Returns whether so much memory is free without an eviction. */
  hasFree(byteLength: number): boolean;
  /** Protects memory from eviction until `end` is called. */
  pin(memory: ColumnMemory): void;
  /** Frees memory at once, such as that of a column whose decoding failed. */
  release(memory: ColumnMemory): void;
  /** Ends the work: frees its scratch vectors, and its columns may be evicted from now on. */
  end(): void;
}

function placeAligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

/** The JavaScript heap, for work that decodes each column once and does not keep it. */
export const plainHeap: Heap = {
  uint8: (length) => new Uint8Array(length),
  unfilled: (length) => new Uint8Array(length),
  uint16: (length) => new Uint16Array(length),
  uint32: (length) => new Uint32Array(length),
  float64: (length) => new Float64Array(length),
  kernels: plainKernels,
  copies: false,
  place: placeAligned,
  retain: placeAligned,
  window: () => undefined,
  withScratch: (use) => use(plainHeap),
};

/** A vector for codes of `width` bytes (1, 2 or 4). Its memory is not zeroed: the caller must write every code first. */
export function unfilledCodes(heap: Heap, width: number, rows: number): Codes {
  if (width === 1) return heap.unfilled(rows);
  const { buffer, byteOffset } = heap.unfilled(rows * (width === 2 ? 2 : 4));
  return width === 2 ? new Uint16Array(buffer, byteOffset, rows) : new Uint32Array(buffer, byteOffset, rows);
}

const plainColumnMemory: ColumnMemory = { ...plainHeap, byteLength: 0 };

/** Columns on the JavaScript heap: nothing is cached or evicted. */
export const plainColumns: ColumnHeap = {
  kernels: plainKernels,
  scratch: plainHeap,
  allocateColumn: () => plainColumnMemory,
  hasRoom: () => true,
  hasFree: () => true,
  pin: () => undefined,
  release: () => undefined,
  end: () => undefined,
};

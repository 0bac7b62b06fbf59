import type { Kernels } from "./contract.ts";
import { plainKernels } from "./plain.ts";

/** Where decoded columns lie: vectors of zeros or of given bytes, each aligned for the widest kernel. */
export interface Heap {
  uint8(length: number): Uint8Array;
  uint16(length: number): Uint16Array;
  uint32(length: number): Uint32Array;
  float64(length: number): Float64Array;
  /** The same bytes on this heap; they may be the given ones. */
  place(bytes: Uint8Array): Uint8Array;
}

/** Memory of one decoded column. */
export interface Held extends Heap {
  readonly byteLength: number;
}

/** Where the columns of views lie and are worked on. */
export interface ColumnHeap {
  /** For vectors that lie here alone. */
  kernels: Kernels<ArrayBufferLike>;
  /** Vectors for as long as the work takes. */
  scratch: Heap;
  /** Memory that may be taken back, which `onDrop` is told. */
  hold(onDrop: () => unknown): Held;
  /** Whether it is worth holding what can be done without; see `ColumnMemoryOptions`. */
  hasRoom(byteLength: number): boolean;
  /** Keeps memory for as long as the work takes. */
  touch(held: Held): void;
  /** Takes back what could not be filled. */
  release(held: Held): void;
  /** Ends the work. */
  end(): void;
}

/** The JavaScript heap, for work that decodes a column once and lets it go. */
export const plainHeap: Heap = {
  uint8: (length) => new Uint8Array(length),
  uint16: (length) => new Uint16Array(length),
  uint32: (length) => new Uint32Array(length),
  float64: (length) => new Float64Array(length),
  place: (bytes) => (bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()),
};

const plainHeld: Held = { ...plainHeap, byteLength: 0 };

export const plainColumns: ColumnHeap = {
  kernels: plainKernels,
  scratch: plainHeap,
  hold: () => plainHeld,
  hasRoom: () => true,
  touch: () => undefined,
  release: () => undefined,
  end: () => undefined,
};

/** Memory for the vectors of kernel tests: at any alignment, between guard bytes that must not be written. */
import { type Arena, type ArenaBlock, overreadBytes } from "../../../engine/kernels/arena.ts";

/** Allocates vectors, in an arena or on the JavaScript heap. */
export interface TestMemory<B extends ArrayBufferLike> {
  /**
   * A copy of the values, `alignment` bytes after a multiple of 16, rounded down to a multiple of the element's size.
   */
  bytes(values: ArrayLike<number>, alignment: number): Uint8Array<B>;
  shorts(values: ArrayLike<number>, alignment: number): Uint16Array<B>;
  words(values: ArrayLike<number>, alignment: number): Uint32Array<B>;
  doubles(values: ArrayLike<number>, alignment: number): Float64Array<B>;
  /** Frees all vectors. Throws where a guard byte beside one was written. */
  clear(): void;
}

const guard = 0xa5;
const marginBytes = 64;

interface GuardedVector<B extends ArrayBufferLike> {
  all: Uint8Array<B>;
  from: number;
  to: number;
  block?: ArenaBlock;
}

function makeTestMemory<B extends ArrayBufferLike>(
  allocate: (byteLength: number) => { all: Uint8Array<B>; block?: ArenaBlock },
  free: (block: ArenaBlock) => void,
): TestMemory<B> {
  let vectors: GuardedVector<B>[] = [];
  const place = (byteLength: number, elementBytes: number, alignment: number): Uint8Array<B> => {
    const { all, ...rest } = allocate(byteLength + 2 * marginBytes);
    all.fill(guard);
    const from = marginBytes + alignment - (alignment % elementBytes);
    const to = from + byteLength;
    vectors.push({ all, from, to, ...rest });
    return all.subarray(from, to) as Uint8Array<B>;
  };
  return {
    bytes(values, alignment) {
      const view = place(values.length, 1, alignment);
      view.set(values);
      return view;
    },
    shorts(values, alignment) {
      const { buffer, byteOffset } = place(values.length * 2, 2, alignment);
      const view = new Uint16Array(buffer, byteOffset, values.length);
      view.set(values);
      return view;
    },
    words(values, alignment) {
      const { buffer, byteOffset } = place(values.length * 4, 4, alignment);
      const view = new Uint32Array(buffer, byteOffset, values.length);
      view.set(values);
      return view;
    },
    doubles(values, alignment) {
      const { buffer, byteOffset } = place(values.length * 8, 8, alignment);
      const view = new Float64Array(buffer, byteOffset, values.length);
      view.set(values);
      return view;
    },
    clear() {
      const checked = vectors;
      vectors = [];
      for (const { all, from, to, block } of checked) {
        const stray = all.findIndex((byte, i) => (i < from || i >= to) && byte !== guard);
        if (block !== undefined) free(block);
        if (stray >= 0) throw new Error(`byte ${stray - from} of a vector of ${to - from} was written`);
      }
    },
  };
}

export function createArenaMemory(arena: Arena): TestMemory<SharedArrayBuffer> {
  return makeTestMemory(
    (byteLength) => {
      const block = arena.allocate(byteLength);
      if (block === undefined) throw new Error(`no room for ${byteLength} bytes`);
      // Reads past the end see guard bytes too, so a kernel whose result depends on them fails.
      return { all: block.uint8(byteLength + overreadBytes), block };
    },
    (block) => arena.free(block),
  );
}

export function createPlainMemory(): TestMemory<ArrayBufferLike> {
  return makeTestMemory<ArrayBufferLike>(
    (byteLength) => ({ all: new Uint8Array(byteLength) }),
    () => undefined,
  );
}

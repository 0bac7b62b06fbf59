/** Where vectors of the kernel tests lie: at any alignment, between bytes that nobody may write. */
import { type Arena, type Block, overreadBytes } from "../../../engine/kernels/arena.ts";

/** What both kinds of memory hand out. */
export interface Ground<B extends ArrayBufferLike> {
  /** A copy of the values, `alignment` bytes behind a multiple of 16 (as far as the element allows). */
  bytes(values: ArrayLike<number>, alignment: number): Uint8Array<B>;
  shorts(values: ArrayLike<number>, alignment: number): Uint16Array<B>;
  words(values: ArrayLike<number>, alignment: number): Uint32Array<B>;
  doubles(values: ArrayLike<number>, alignment: number): Float64Array<B>;
  /** Throws where a byte beside the vectors was written, and gives all of them up. */
  clear(): void;
}

const guard = 0xa5;
const marginBytes = 64;

interface Piece<B extends ArrayBufferLike> {
  all: Uint8Array<B>;
  from: number;
  to: number;
  block?: Block;
}

function ground<B extends ArrayBufferLike>(
  take: (byteLength: number) => { all: Uint8Array<B>; block?: Block },
  give: (block: Block) => void,
): Ground<B> {
  let pieces: Piece<B>[] = [];
  const place = (byteLength: number, elementBytes: number, alignment: number): Uint8Array<B> => {
    const { all, ...rest } = take(byteLength + 2 * marginBytes);
    all.fill(guard);
    const from = marginBytes + alignment - (alignment % elementBytes);
    const to = from + byteLength;
    pieces.push({ all, from, to, ...rest });
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
      const done = pieces;
      pieces = [];
      for (const { all, from, to, block } of done) {
        const stray = all.findIndex((byte, i) => (i < from || i >= to) && byte !== guard);
        if (block !== undefined) give(block);
        if (stray >= 0) throw new Error(`byte ${stray - from} of a vector of ${to - from} was written`);
      }
    },
  };
}

export function arenaGround(arena: Arena): Ground<SharedArrayBuffer> {
  return ground(
    (byteLength) => {
      const block = arena.allocate(byteLength);
      if (block === undefined) throw new Error(`no room for ${byteLength} bytes`);
      // Over-reads see the guard too, so that what they see must not matter.
      return { all: block.uint8(byteLength + overreadBytes), block };
    },
    (block) => arena.free(block),
  );
}

export function plainGround(): Ground<ArrayBufferLike> {
  return ground<ArrayBufferLike>(
    (byteLength) => ({ all: new Uint8Array(byteLength) }),
    () => undefined,
  );
}

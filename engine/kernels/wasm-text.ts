/** Text search in WebAssembly, over the vectors of one arena. */
import type { Kernels } from "./contract.ts";
import type { Needle } from "./needle.ts";
import { plainKernels } from "./plain.ts";
import type { Global } from "./webassembly.ts";

/** What `assembly/text.ts` and `assembly/xxhash.ts` export; parameters as in `wasm-kernels.ts`. */
export interface TextExports {
  needleAt: Global;
  foldAt: Global;
  needleBytesMax: Global;
  setNeedle(length: number, first: number, second: number, third: number, fold: boolean): void;
  findHits(bytes: number, from: number, to: number, hits: number, hitsMax: number): number;
  findRows(bytes: number, offsets: number, rows: number, found: number): number;
  fingerprintTexts(offsets: number, bytes: number, count: number, out: number): void;
}

/** Where the kernels read the needle of a search. */
export class NeedlePlace {
  readonly #exports: TextExports;
  readonly #scratch: Uint8Array;
  #placed: Needle | undefined;

  /** `scratch` is the part of the memory that the arena leaves to the kernels. */
  constructor(exports: TextExports, scratch: Uint8Array) {
    this.#exports = exports;
    this.#scratch = scratch;
  }

  /** Copies the needle to the kernels' memory. Returns false for a needle that is too long for it. */
  place(needle: Needle): boolean {
    if (needle === this.#placed) return true;
    const { bytes, ignoreCase, first, second, third } = needle;
    const { needleAt, foldAt, needleBytesMax } = this.#exports;
    if (bytes.byteLength > needleBytesMax.value) return false;
    this.#scratch.set(bytes, needleAt.value);
    this.#scratch.fill(0, foldAt.value, foldAt.value + Math.max(bytes.byteLength, 16));
    // Upper and lower case of a letter, a to z, differ in bit 5.
    for (let i = 0; ignoreCase && i < bytes.byteLength; i++) {
      if (bytes[i]! >= 0x61 && bytes[i]! <= 0x7a) this.#scratch[foldAt.value + i] = 0x20;
    }
    this.#exports.setNeedle(bytes.byteLength, first, second, third, ignoreCase);
    this.#placed = needle;
    return true;
  }
}

export function makeTextKernels(
  exports: TextExports,
  needlePlace: NeedlePlace,
): Pick<Kernels<SharedArrayBuffer>, "findHits" | "rowsHolding" | "countHolding" | "hashTexts"> {
  return {
    findHits(bytes, from, to, needle, hits) {
      if (!needlePlace.place(needle)) return plainKernels.findHits(bytes, from, to, needle, hits);
      if (hits.length === 0) return 0;
      return exports.findHits(bytes.byteOffset, from, to, hits.byteOffset, hits.length);
    },
    rowsHolding(text, needle, found) {
      if (!needlePlace.place(needle)) return plainKernels.rowsHolding(text, needle, found);
      found.fill(0);
      const { bytes, offsets } = text;
      return exports.findRows(bytes.byteOffset, offsets.byteOffset, offsets.length - 1, found.byteOffset);
    },
    countHolding(text, needle) {
      if (!needlePlace.place(needle)) return plainKernels.countHolding(text, needle);
      const { bytes, offsets } = text;
      return exports.findRows(bytes.byteOffset, offsets.byteOffset, offsets.length - 1, 0);
    },
    hashTexts({ bytes, offsets }, hashes) {
      exports.fingerprintTexts(offsets.byteOffset, bytes.byteOffset, offsets.length - 1, hashes.byteOffset);
    },
  };
}

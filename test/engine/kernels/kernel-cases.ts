/** What the tests of kernels share: both implementations, their cases, and comparisons with a loop over rows. */
import { expect } from "vitest";
import { Arena } from "../../../engine/kernels/arena.ts";
import type { CodeVector, Kernels } from "../../../engine/kernels/contract.ts";
import { plainKernels } from "../../../engine/kernels/plain.ts";
import { openKernels } from "../../../engine/kernels/wasm-kernels.ts";
import { Random } from "../../../fixtures/random.ts";
import { arenaGround, type Ground, plainGround } from "./memory.ts";

export const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

export interface Implementation {
  name: string;
  kernels: Kernels<ArrayBufferLike>;
  ground: Ground<ArrayBufferLike>;
}

const arena = new Arena({ bytesMax: 256 * 1024 * 1024 });

export const implementations: Implementation[] = [
  {
    name: "SIMD",
    kernels: openKernels(arena),
    ground: arenaGround(arena),
  },
  { name: "plain", kernels: plainKernels, ground: plainGround() },
];

/** Around the widths of vectors and words, a page of memory, and what 16 bits hold. */
export const sizes = [
  0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 255, 511, 1027, 4099,
  65_539,
];

/** Short vectors at every alignment, long ones at three. */
export function eachCase(
  ground: Ground<ArrayBufferLike>,
  run: (rows: number, alignment: number, random: Random) => void,
): void {
  for (const rows of sizes) {
    const random = new Random(seed, rows);
    const every = Array.from({ length: 16 }, (_, i) => i);
    const alignments = rows < 200 ? every : [0, 8, 1 + random.below(15)];
    for (const alignment of alignments) {
      run(rows, alignment, random);
      ground.clear();
    }
  }
}

export function codesOf(
  ground: Ground<ArrayBufferLike>,
  width: number,
  values: ArrayLike<number>,
  alignment: number,
): CodeVector<ArrayBufferLike> {
  if (width === 1) return ground.bytes(values, alignment);
  return width === 2 ? ground.shorts(values, alignment) : ground.words(values, alignment);
}

/** A bitmap to write to, with other bits in it. */
export function dirtyBitmap(
  ground: Ground<ArrayBufferLike>,
  rows: number,
  alignment: number,
): Uint8Array<ArrayBufferLike> {
  return ground.bytes(new Uint8Array((rows + 7) >> 3).fill(0x5a), alignment);
}

export function randomBits(rows: number, share: number, random: Random): Uint8Array {
  return bitsWhere(rows, () => fraction(random) < share);
}

/** A number from 0 up to 1. */
export function fraction(random: Random): number {
  return random.next() / 2 ** 32;
}

export function bitAt(bitmap: Uint8Array, row: number): boolean {
  return ((bitmap[row >> 3]! >> (row & 7)) & 1) === 1;
}

/** Compares a bitmap, the bits past its last row included. */
export function expectBits<T>(
  bitmap: Uint8Array,
  values: readonly T[],
  passes: (value: T, row: number) => boolean,
): void {
  expectSame(
    bitmap,
    bitsWhere(values.length, (row) => passes(values[row]!, row)),
  );
}

/** As `toEqual`, for long vectors: says where they first differ. */
export function expectSame(vector: ArrayLike<number>, truth: ArrayLike<number>): void {
  expect(vector.length).toBe(truth.length);
  for (let i = 0; i < truth.length; i++) {
    if (vector[i] !== truth[i]) expect.fail(`${vector[i]} at ${i} of ${truth.length}, not ${truth[i]}`);
  }
}

/** All that a kernel gives which fills `out` and goes on behind its last entry. */
export function inParts(out: Uint32Array, next: (from: number) => number): number[] {
  const all: number[] = [];
  for (let from = 0; ; from = all.at(-1)! + 1) {
    const count = next(from);
    all.push(...out.subarray(0, count));
    if (count < out.length) return all;
  }
}

function bitsWhere(rows: number, passes: (row: number) => boolean): Uint8Array {
  const bits = new Uint8Array((rows + 7) >> 3);
  for (let row = 0; row < rows; row++) if (passes(row)) bits[row >> 3]! |= 1 << (row & 7);
  return bits;
}

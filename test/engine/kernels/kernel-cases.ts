/** What the kernel tests share: both implementations, sizes and alignments, and comparisons with a loop over rows. */
import { expect } from "vitest";
import { Arena } from "../../../engine/kernels/arena.ts";
import type { Kernels } from "../../../engine/kernels/contract.ts";
import { plainKernels } from "../../../engine/kernels/plain.ts";
import type { CodeVector } from "../../../engine/kernels/vectors.ts";
import { openKernels } from "../../../engine/kernels/wasm-kernels.ts";
import { Random } from "../../../fixtures/random.ts";
import { isSoak } from "../../durability/campaign.ts";
import { createArenaMemory, createPlainMemory, type TestMemory } from "./memory.ts";

export const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

export interface Implementation {
  name: string;
  kernels: Kernels<ArrayBufferLike>;
  memory: TestMemory<ArrayBufferLike>;
}

const arena = new Arena({ bytesMax: 256 * 1024 * 1024 });

export const implementations: Implementation[] = [
  {
    name: "SIMD",
    kernels: openKernels(arena),
    memory: createArenaMemory(arena),
  },
  { name: "plain", kernels: plainKernels, memory: createPlainMemory() },
];

/** Row counts on both sides of the widths of vectors and words, of a page of memory, and of what 16 bits hold. */
export const sizes = [
  0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 255, 511, 1027, 4099,
  65_539,
];
const longestRows = sizes.at(-1)!;

/**
 * Calls `run` with short vectors at every alignment, with long ones at three, and with the longest at one of these, which
 * take most of the time; in the long form at all three.
 */
export function forEachCase(
  memory: TestMemory<ArrayBufferLike>,
  run: (rows: number, alignment: number, random: Random) => void,
): void {
  for (const rows of sizes) {
    const random = new Random(seed, rows);
    const everyAlignment = Array.from({ length: 16 }, (_, i) => i);
    const some = [0, 8, 1 + random.below(15)];
    const alignments =
      rows < 200 ? everyAlignment : rows < longestRows || isSoak ? some : [random.pick(some)];
    for (const alignment of alignments) {
      run(rows, alignment, random);
      memory.clear();
    }
  }
}

export function makeCodes(
  memory: TestMemory<ArrayBufferLike>,
  width: number,
  values: ArrayLike<number>,
  alignment: number,
): CodeVector<ArrayBufferLike> {
  if (width === 1) return memory.bytes(values, alignment);
  return width === 2 ? memory.shorts(values, alignment) : memory.words(values, alignment);
}

/** A bitmap for a result, with stray bits that the kernel must clear. */
export function dirtyBitmap(
  memory: TestMemory<ArrayBufferLike>,
  rows: number,
  alignment: number,
): Uint8Array<ArrayBufferLike> {
  return memory.bytes(new Uint8Array((rows + 7) >> 3).fill(0x5a), alignment);
}

export function randomBits(rows: number, share: number, random: Random): Uint8Array {
  return makeBits(rows, () => randomFraction(random) < share);
}

/** A random number from 0 up to, but not including, 1. */
export function randomFraction(random: Random): number {
  return random.next() / 2 ** 32;
}

export function bitAt(bitmap: Uint8Array, row: number): boolean {
  return ((bitmap[row >> 3]! >> (row & 7)) & 1) === 1;
}

/** Compares a bitmap with the rows that pass, including the bits past its last row, which must be zero. */
export function expectBits<T>(
  bitmap: Uint8Array,
  values: readonly T[],
  passes: (value: T, row: number) => boolean,
): void {
  expectSame(
    bitmap,
    makeBits(values.length, (row) => passes(values[row]!, row)),
  );
}

/** Like `toEqual`, but fast for long vectors: reports the first difference. */
export function expectSame(vector: ArrayLike<number>, truth: ArrayLike<number>): void {
  expect(vector.length).toBe(truth.length);
  for (let i = 0; i < truth.length; i++) {
    if (vector[i] !== truth[i]) expect.fail(`${vector[i]} at ${i} of ${truth.length}, not ${truth[i]}`);
  }
}

/** All that a kernel returns which fills its output vector and is called again after its last entry. */
export function collectParts(out: Uint32Array, next: (from: number) => number): number[] {
  const all: number[] = [];
  for (let from = 0; ; from = all.at(-1)! + 1) {
    const count = next(from);
    all.push(...out.subarray(0, count));
    if (count < out.length) return all;
  }
}

function makeBits(rows: number, passes: (row: number) => boolean): Uint8Array {
  const bits = new Uint8Array((rows + 7) >> 3);
  for (let row = 0; row < rows; row++) if (passes(row)) bits[row >> 3]! |= 1 << (row & 7);
  return bits;
}

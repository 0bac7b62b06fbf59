/** The fingerprints of series: xxHash64 of their identities, computed in WebAssembly as `vector/xxhash.ts` does it. */

import { BlockMemory } from "../kernels/block-memory.ts";
import type { TextVector } from "../vector/text.ts";

/** What assembly/xxhash.ts exports; all parameters but numbers of things are addresses. */
export interface FingerprintKernels {
  fingerprintTexts(offsets: number, bytes: number, count: number, out: number): void;
  fingerprintText(at: number, length: number, out: number): void;
  fingerprintWithNumber(
    at: number,
    length: number,
    low: number,
    high: number,
    room: number,
    out: number,
  ): void;
}

/** The memory is kept for other work unless the texts made it grow beyond this. */
const keptBytesMax = 64 * 1024 * 1024;

/** The fingerprint of each text as 32-bit halves: low, high, low, high … */
export function fingerprintTexts({ offsets, bytes }: TextVector): Uint32Array {
  const count = offsets.length - 1;
  const memory = BlockMemory.take();
  const out = memory.reserve(count * 8);
  const places = [memory.placeVector(offsets), memory.placeVector(bytes)] as const;
  memory.kernels<FingerprintKernels>().fingerprintTexts(...places, count, out);
  const fingerprints = memory.uint32(out, count * 2).slice();
  memory.giveBack(keptBytesMax);
  return fingerprints;
}

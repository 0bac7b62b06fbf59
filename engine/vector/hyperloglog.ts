/**
 * HyperLogLog: an estimate of how many distinct hashes were added, from 2^14 registers. The standard error is 1.04 /
 * sqrt(2^14) = 0.81 %. The estimator is Ertl's (New cardinality estimation algorithms for HyperLogLog sketches, 2017,
 * algorithm 6), which needs no tables and has no bias at any cardinality.
 */

const indexBits = 14;
export const registerCount = 2 ** indexBits;
/** Bits of a hash after the register's index; a register keeps the longest run of leading zeros in them, plus one. */
const rankBits = 64 - indexBits;

/** A byte a register, `registerCount` of them. */
export type Registers = Uint8Array;

export function createRegisters(): Registers {
  return new Uint8Array(registerCount);
}

export function addHash(registers: Registers, low: number, high: number): void {
  const index = high >>> (32 - indexBits);
  const upper = high & ((1 << (32 - indexBits)) - 1);
  // Leading zeros of the remaining 50 bits: 18 of the high half, then 32 of the low one.
  const zeros = upper === 0 ? 32 - indexBits + Math.clz32(low) : Math.clz32(upper) - indexBits;
  if (zeros + 1 > registers[index]!) registers[index] = zeros + 1;
}

/** Takes for each register the greater of the two, as if the hashes of both had been added to `registers`. */
export function mergeRegisters(registers: Registers, other: Registers): void {
  for (let i = 0; i < registers.length; i++) if (other[i]! > registers[i]!) registers[i] = other[i]!;
}

/** About how many distinct hashes were added. */
export function estimateCardinality(registers: Registers): number {
  const counts = new Uint32Array(rankBits + 2);
  for (const rank of registers) counts[rank] = counts[rank]! + 1;
  let z = registerCount * tau(1 - counts[rankBits + 1]! / registerCount);
  for (let rank = rankBits; rank >= 1; rank--) z = 0.5 * (z + counts[rank]!);
  z += registerCount * sigma(counts[0]! / registerCount);
  return Math.round((registerCount * registerCount) / (2 * Math.LN2 * z));
}

function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY;
  let x = share;
  let y = 1;
  let z = x;
  for (let before = Number.NaN; z !== before; y += y) {
    x *= x;
    before = z;
    z += x * y;
  }
  return z;
}

function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let x = share;
  let y = 1;
  let z = 1 - x;
  for (let before = Number.NaN; z !== before; ) {
    x = Math.sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) ** 2 * y;
  }
  return z / 3;
}

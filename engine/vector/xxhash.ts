/**
 * xxHash64 with seed 0 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), computed in 32-bit halves:
 * with BigInt it takes thirty times as long.
 */

/** A 64-bit number as two unsigned halves. */
interface Word {
  high: number;
  low: number;
}

const prime1: Word = { high: 0x9e3779b1, low: 0x85ebca87 };
const prime2: Word = { high: 0xc2b2ae3d, low: 0x27d4eb4f };
const prime3: Word = { high: 0x165667b1, low: 0x9e3779f9 };
const prime4: Word = { high: 0x85ebca77, low: 0xc2b2ae63 };
const prime5: Word = { high: 0x27d4eb2f, low: 0x165667c5 };
const stripeBytes = 32;

/** The hash of bytes[from, to) as 16 lower-case hexadecimal digits, the most significant first. */
export function hash64(bytes: Uint8Array, from: number, to: number): string {
  const { high, low } = hash64Words(bytes, from, to);
  return hexOf(high) + hexOf(low);
}

/** The hash of bytes[from, to) as two halves. */
export function hash64Words(bytes: Uint8Array, from: number, to: number): Word {
  const hash: Word = { high: 0, low: 0 };
  let at = from;
  if (to - from >= stripeBytes) at = hashStripes(hash, bytes, from, to);
  else set(hash, prime5);
  add(hash, { high: 0, low: to - from });
  hashTail(hash, bytes, at, to);
  avalanche(hash);
  return hash;
}

/** Hashes whole stripes of 32 bytes, in four lanes of eight bytes each; returns where the last whole stripe ends. */
function hashStripes(hash: Word, bytes: Uint8Array, from: number, to: number): number {
  const lanes = [sum(prime1, prime2), sum(prime2), sum(), negate(prime1)];
  const lane: Word = { high: 0, low: 0 };
  let at = from;
  for (; at + stripeBytes <= to; at += stripeBytes) {
    for (let i = 0; i < 4; i++) {
      read(lane, bytes, at + i * 8);
      round(lanes[i]!, lane);
    }
  }
  for (const [i, bits] of [1, 7, 12, 18].entries()) {
    set(lane, lanes[i]!);
    rotate(lane, bits);
    add(hash, lane);
  }
  for (const each of lanes) {
    set(lane, { high: 0, low: 0 });
    round(lane, each);
    xor(hash, lane);
    multiply(hash, prime1);
    add(hash, prime4);
  }
  return at;
}

/** Hashes the bytes after the stripes: eight at a time, then four, then one by one. */
function hashTail(hash: Word, bytes: Uint8Array, from: number, to: number): void {
  const word: Word = { high: 0, low: 0 };
  const lane: Word = { high: 0, low: 0 };
  let at = from;
  for (; at + 8 <= to; at += 8) {
    set(word, { high: 0, low: 0 });
    read(lane, bytes, at);
    round(word, lane);
    mixTail(hash, word, 27, prime1, prime4);
  }
  if (at + 4 <= to) {
    set(word, { high: 0, low: read32(bytes, at) });
    multiply(word, prime1);
    mixTail(hash, word, 23, prime2, prime3);
    at += 4;
  }
  for (; at < to; at++) {
    set(word, { high: 0, low: bytes[at]! });
    multiply(word, prime5);
    xor(hash, word);
    rotate(hash, 11);
    multiply(hash, prime1);
  }
}

function mixTail(hash: Word, word: Word, bits: number, factor: Word, addend: Word): void {
  xor(hash, word);
  rotate(hash, bits);
  multiply(hash, factor);
  add(hash, addend);
}

function round(accumulator: Word, lane: Word): void {
  multiply(lane, prime2);
  add(accumulator, lane);
  rotate(accumulator, 31);
  multiply(accumulator, prime1);
}

function avalanche(hash: Word): void {
  // hash ^= hash >>> 33
  hash.low = (hash.low ^ (hash.high >>> 1)) >>> 0;
  multiply(hash, prime2);
  // hash ^= hash >>> 29
  hash.low = (hash.low ^ ((hash.low >>> 29) | (hash.high << 3))) >>> 0;
  hash.high = (hash.high ^ (hash.high >>> 29)) >>> 0;
  multiply(hash, prime3);
  // hash ^= hash >>> 32
  hash.low = (hash.low ^ hash.high) >>> 0;
}

function set(target: Word, { high, low }: Word): void {
  target.high = high;
  target.low = low;
}

function add(target: Word, { high, low }: Word): void {
  const sumOfLow = target.low + low;
  target.high = (target.high + high + (sumOfLow > 0xffff_ffff ? 1 : 0)) >>> 0;
  target.low = sumOfLow >>> 0;
}

function xor(target: Word, { high, low }: Word): void {
  target.high = (target.high ^ high) >>> 0;
  target.low = (target.low ^ low) >>> 0;
}

/** Rotates left by 1 to 31 bits. */
function rotate(target: Word, bits: number): void {
  const { high, low } = target;
  target.high = ((high << bits) | (low >>> (32 - bits))) >>> 0;
  target.low = ((low << bits) | (high >>> (32 - bits))) >>> 0;
}

/** Multiplies modulo 2^64. */
function multiply(target: Word, { high, low }: Word): void {
  const top = Math.imul(target.high, low) + Math.imul(target.low, high);
  // The product of the low halves is made in pieces of 16 bits, which float64 holds exactly.
  const a = target.low & 0xffff;
  const b = target.low >>> 16;
  const c = low & 0xffff;
  const d = low >>> 16;
  const middle = a * d + ((a * c) >>> 16) + b * c;
  target.low = Math.imul(target.low, low) >>> 0;
  target.high = (top + b * d + Math.floor(middle / 0x1_0000)) >>> 0;
}

function sum(...words: Word[]): Word {
  const total: Word = { high: 0, low: 0 };
  for (const word of words) add(total, word);
  return total;
}

function negate({ high, low }: Word): Word {
  return sum({ high: ~high >>> 0, low: ~low >>> 0 }, { high: 0, low: 1 });
}

function read(target: Word, bytes: Uint8Array, at: number): void {
  target.low = read32(bytes, at);
  target.high = read32(bytes, at + 4);
}

function read32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

function hexOf(half: number): string {
  return half.toString(16).padStart(8, "0");
}

/**
 * Membership filters: split-block Bloom filters as Apache Parquet specifies them (blocks of eight 32-bit words, one bit
 * set in each), over the 32-bit MurmurHash3 of a value's UTF-8 bytes. A filter never denies a value that it holds; it
 * sometimes accepts one that it does not.
 */

import type { TextVector } from "./text.ts";

/**
 * Default number of filter bits per value. With it, a filter accepts about 0.5 % of the values that it does not
 * contain.
 */
const bitsPerValue = 12;
/** Length of a block of a filter. */
export const filterBlockBytes = 32;
/** Multipliers of the specification, one for each word of a block. */
const salts = Uint32Array.of(
  0x47b6137b,
  0x44974d91,
  0x8824ad5b,
  0xa2b7289d,
  0x705495c7,
  0x2df1424b,
  0x9efc4947,
  0x5c6bfb31,
);

/** A filter that holds these hashes. `bitsEach`: its size in bits a hash. */
export function buildMembershipFilter(hashes: Uint32Array, bitsEach = bitsPerValue): Uint8Array {
  const blocks = Math.max(1, Math.ceil((hashes.length * bitsEach) / (filterBlockBytes * 8)));
  const words = new Uint32Array(blocks * 8);
  for (const hash of hashes) {
    const block = chooseBlock(hash, blocks);
    const key = mixHash(hash);
    for (let i = 0; i < 8; i++) {
      const word = block * 8 + i;
      words[word] = words[word]! | (1 << (Math.imul(key, salts[i]!) >>> 27));
    }
  }
  return new Uint8Array(words.buffer);
}

/** False: the filter surely lacks the hash. True: it may hold it. */
export function mayContain(filter: Uint8Array, hash: number): boolean {
  const words = new Uint32Array(filter.buffer, filter.byteOffset, filter.byteLength >> 2);
  return mayContainIn(words, 0, words.length, hash);
}

/** `mayContain` for a filter that is the words [from, to) of a larger vector. */
export function mayContainIn(words: Uint32Array, from: number, to: number, hash: number): boolean {
  const block = from + chooseBlock(hash, (to - from) >> 3) * 8;
  const key = mixHash(hash);
  for (let i = 0; i < 8; i++) {
    if ((words[block + i]! & (1 << (Math.imul(key, salts[i]!) >>> 27))) === 0) return false;
  }
  return true;
}

/** Where the bits of a hash lie in a filter of so many bytes: in the `filterBlockBytes` from there. */
export function placeOfHash(hash: number, filterBytes: number): number {
  return chooseBlock(hash, filterBytes / filterBlockBytes) * filterBlockBytes;
}

/** `mayContain`, by the bytes at `placeOfHash` alone. */
export function mayHoldHash(block: Uint8Array, hash: number): boolean {
  const mask = makeBlockMask(hash);
  for (let i = 0; i < filterBlockBytes; i++) if ((mask[i]! & ~block[i]!) !== 0) return false;
  return true;
}

/** The bits that a hash sets in its block: 32 bytes, overwritten by the next call. */
export function makeBlockMask(hash: number): Uint8Array {
  const key = mixHash(hash);
  for (let i = 0; i < 8; i++) maskWords[i] = 1 << (Math.imul(key, salts[i]!) >>> 27);
  return maskBytes;
}

const maskWords = new Uint32Array(8);
const maskBytes = new Uint8Array(maskWords.buffer);

/** The high bits of a hash choose its block. */
function chooseBlock(hash: number, blocks: number): number {
  return Math.floor((hash / 0x1_0000_0000) * blocks);
}

/** Makes the bits within a block independent of the high bits, which chose the block. */
function mixHash(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) ^ 0x297a2d39;
}

/** MurmurHash3 (`hashBytes`) of each text. */
export function hashTexts({ offsets, bytes }: TextVector): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hashes = new Uint32Array(offsets.length - 1);
  for (let i = 0; i < hashes.length; i++) hashes[i] = hashBytes(view, offsets[i]!, offsets[i + 1]!);
  return hashes;
}

/** MurmurHash3 of the text's UTF-8 bytes. */
export function hashText(text: string): number {
  const bytes = Buffer.from(text, "utf8");
  return hashBytes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.byteLength);
}

/** MurmurHash3 (x86, 32 bit, seed 0) of bytes [from, to) of the view, as an unsigned number. */
export function hashBytes(view: DataView, from: number, to: number): number {
  let hash = 0;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    hash ^= scramble(view.getInt32(at, true));
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let i = to - 1; i >= at; i--) tail = (tail << 8) | view.getUint8(i);
  if (at < to) hash ^= scramble(tail);
  hash ^= to - from;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scramble(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

/**
 * Membership filters: "this chunk cannot hold that value", with no false "cannot".
 * Split-block Bloom filters as Apache Parquet specifies them (eight 32-bit words a block, one bit in each), over a
 * 32-bit MurmurHash3 of the value's UTF-8 bytes.
 */

/** Gives about 0.5 % false "may". */
const bitsAValue = 12;
const blockBytes = 32;
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

/** `bits`: a value. */
export function buildMembershipFilter(hashes: Uint32Array, bits = bitsAValue): Uint8Array {
  const blocks = Math.max(1, Math.ceil((hashes.length * bits) / (blockBytes * 8)));
  const words = new Uint32Array(blocks * 8);
  for (const hash of hashes) {
    const block = blockOf(hash, blocks);
    const key = mix(hash);
    for (let i = 0; i < 8; i++) {
      const word = block * 8 + i;
      words[word] = words[word]! | (1 << (Math.imul(key, salts[i]!) >>> 27));
    }
  }
  return new Uint8Array(words.buffer);
}

export function mayContain(filter: Uint8Array, hash: number): boolean {
  const words = new Uint32Array(filter.buffer, filter.byteOffset, filter.byteLength >> 2);
  return mayContainIn(words, 0, words.length, hash);
}

/** The same of a filter that is the words [from, to) of others. */
export function mayContainIn(words: Uint32Array, from: number, to: number, hash: number): boolean {
  const block = from + blockOf(hash, (to - from) >> 3) * 8;
  const key = mix(hash);
  for (let i = 0; i < 8; i++) {
    if ((words[block + i]! & (1 << (Math.imul(key, salts[i]!) >>> 27))) === 0) return false;
  }
  return true;
}

/** The bits that a hash sets in its block, 32 bytes that are good until the next call. */
export function bitsOf(hash: number): Uint8Array {
  const key = mix(hash);
  for (let i = 0; i < 8; i++) blockBits[i] = 1 << (Math.imul(key, salts[i]!) >>> 27);
  return blockBytesOf;
}

const blockBits = new Uint32Array(8);
const blockBytesOf = new Uint8Array(blockBits.buffer);

function blockOf(hash: number, blocks: number): number {
  return Math.floor((hash / 0x1_0000_0000) * blocks);
}

/** Makes the bits within a block independent of the block that the same hash chose. */
function mix(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) ^ 0x297a2d39;
}

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

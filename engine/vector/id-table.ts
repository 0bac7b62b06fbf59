/** A table of distinct ids of one width, each with a code: the dictionary of a column of ids, without their texts. */
import { randomInt } from "node:crypto";
import { growArray } from "./arrays.ts";
import type { TextVector } from "./text.ts";

/** Ids of equal width, one after the other. */
export interface PackedIds {
  /** Bytes of an id. */
  width: number;
  bytes: Uint8Array;
}

const firstIds = 64;
/** The low 24 bits of a slot of the hash table hold the id's code + 1. A free slot is 0. */
const codeBits = 0xff_ffff;
/**
 * The high 8 bits of a slot hold the same bits of the id's hash. Where they differ from those of an id that is looked up, the
 * ids differ, and the stored id need not be read from memory.
 */
const hashBits = ~codeBits;
/** Nobody who sends ids can know which of them meet in the table. */
const seed = randomInt(2 ** 32);

const makeSlot = (hash: number, code: number): number => (hash & hashBits) | (code + 1);

/** The two lower-case hexadecimal digits of each byte, as they follow one another in memory. */
const digitsOfByte = Uint16Array.from({ length: 256 }, (_, byte) => {
  const text = byte.toString(16).padStart(2, "0");
  return text.charCodeAt(0) | (text.charCodeAt(1) << 8);
});

/** An id for each code, zeros where the code is negative. */
export function gatherIds({ width, bytes }: PackedIds, codes: ArrayLike<number>): PackedIds {
  const gathered = new Uint8Array(codes.length * width);
  for (let i = 0, target = 0; i < codes.length; i++, target += width) {
    const from = codes[i]! * width;
    if (from >= 0) for (let at = 0; at < width; at++) gathered[target + at] = bytes[from + at]!;
  }
  return { width, bytes: gathered };
}

/**
 * Codes count from 0 in the order in which ids were first added. The table uses open addressing with linear probing and is at
 * most half full. It holds fewer than 2^24 ids: it is filled from the rows of one chunk, which has 131,072 at most.
 */
export class IdTable {
  readonly width: number;
  size = 0;
  readonly #wordsEach: number;
  #words: Uint32Array<ArrayBuffer>;
  #slots = new Int32Array(firstIds * 2);

  /** @param width a multiple of four bytes */
  constructor(width: number) {
    this.width = width;
    this.#wordsEach = width >> 2;
    this.#words = new Uint32Array(firstIds * this.#wordsEach);
  }

  static canHold(width: number): boolean {
    return width > 0 && width % 4 === 0;
  }

  /** Makes room for more ids. */
  reserve(ids: number): void {
    const most = this.size + ids;
    if (most * this.#wordsEach > this.#words.length)
      this.#words = growArray(this.#words, most * this.#wordsEach);
    let slots = this.#slots.length;
    while (slots < most * 2) slots *= 2;
    if (slots > this.#slots.length) this.#placeIn(new Int32Array(slots));
  }

  /** The code of the id at words[at]; an id that the table lacks is added. */
  intern(words: Uint32Array, at: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hash = this.#hash(words, at);
    let slot = hash & mask;
    for (let found = slots[slot]!; found !== 0; found = slots[slot]!) {
      const known = (found & codeBits) - 1;
      if (((found ^ hash) & hashBits) === 0 && this.#equals(known, words, at)) return known;
      slot = (slot + 1) & mask;
    }
    const code = this.size;
    if ((code + 1) * this.#wordsEach > this.#words.length || (code + 1) * 2 > slots.length) {
      this.reserve(Math.max(firstIds, code));
      return this.intern(words, at);
    }
    for (let i = 0, to = code * this.#wordsEach; i < this.#wordsEach; i++)
      this.#words[to + i] = words[at + i]!;
    slots[slot] = makeSlot(hash, code);
    this.size++;
    return code;
  }

  /** The ids in the order of their codes. A view, valid until the next id is added. */
  packed(): PackedIds {
    const { buffer } = this.#words;
    return { width: this.width, bytes: new Uint8Array(buffer, 0, this.size * this.width) };
  }

  /** The ids as texts of lower-case hexadecimal digits, in the order of their codes. */
  texts(): TextVector {
    const { bytes } = this.packed();
    const digits = new Uint16Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) digits[i] = digitsOfByte[bytes[i]!]!;
    const offsets = new Uint32Array(this.size + 1);
    for (let code = 0; code <= this.size; code++) offsets[code] = code * this.width * 2;
    return { offsets, bytes: new Uint8Array(digits.buffer) };
  }

  #placeIn(slots: Int32Array<ArrayBuffer>): void {
    const mask = slots.length - 1;
    for (let code = 0; code < this.size; code++) {
      const hash = this.#hash(this.#words, code * this.#wordsEach);
      let slot = hash & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = makeSlot(hash, code);
    }
    this.#slots = slots;
  }

  #equals(code: number, words: Uint32Array, at: number): boolean {
    const own = code * this.#wordsEach;
    for (let i = 0; i < this.#wordsEach; i++) if (this.#words[own + i] !== words[at + i]) return false;
    return true;
  }

  /** The words of an id mixed with the seed, then the final mix of MurmurHash3. */
  #hash(words: Uint32Array, at: number): number {
    let hash = seed;
    for (let i = 0; i < this.#wordsEach; i++) {
      hash = Math.imul(hash ^ words[at + i]!, 0x9e3779b1);
      hash = Math.imul(hash ^ (hash >>> 15), seed | 1);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }
}

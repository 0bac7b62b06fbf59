/**
 * A table of distinct texts, each with a code: dictionary encoding. Texts are found by their bytes, so a value that was
 * seen before costs no string.
 */

import { growArray } from "./arrays.ts";
import { hashWithKey, probesMax, threadKey } from "./keyed-hash.ts";
import { hashBytes } from "./membership-filter.ts";
import { decodeText, type TextVector, toPlainBytes } from "./text.ts";

/** Bytes, and a view that reads words of the same bytes. */
export interface ByteSource {
  bytes: Buffer;
  view: DataView;
}

export function toByteSource(bytes: Uint8Array): ByteSource {
  const { buffer, byteOffset, byteLength } = bytes;
  return {
    bytes: Buffer.from(buffer, byteOffset, byteLength),
    view: new DataView(buffer, byteOffset, byteLength),
  };
}

/** Texts that a new table has room for; small, as there is a table an attribute. */
const initialValues = 8;
const initialBytes = 64;

/** From this size on a table grows by a quarter, so that it does not hold twice what it needs. */
const largeBytes = 16 * 1024 * 1024;

/**
 * Codes count from 0 in the order in which texts were first added. The table uses open addressing with linear probing
 * and is at most half full. Slots come of the hash that filters store. Anybody can choose texts for which it is the same, so a
 * table that meets such texts goes over to a hash with a secret.
 */
export class TextTable {
  size = 0;
  #source: ByteSource = toByteSource(new Uint8Array(initialBytes));
  #offsets = new Uint32Array(initialValues + 1);
  #hashes = new Uint32Array(initialValues);
  /** The hash with a secret of each text, where the table has gone over to it. */
  #keyed: Uint32Array<ArrayBuffer> | undefined;
  /** Code + 1; 0 in a free slot. */
  #slots = new Uint32Array(initialValues * 2);
  /** The code that was returned last. */
  #lastCode = 0;

  /** About how many bytes the table takes. */
  get byteLength(): number {
    return this.#source.bytes.length + this.#slots.byteLength * 2;
  }

  /** The code of the text source[from, to); a text that the table lacks is added. */
  intern(source: ByteSource, from: number, to: number): number {
    // Rows often repeat the value of the row before, and comparing takes a third of the time of hashing.
    if (this.#lastCode < this.size && this.equals(this.#lastCode, source, from, to)) return this.#lastCode;
    const hash = hashBytes(source.view, from, to);
    const slot = this.#findSlot(source, from, to, hash);
    const found = this.#slots[slot]!;
    this.#lastCode = found === 0 ? this.#add(source, from, to, hash, slot) : found - 1;
    return this.#lastCode;
  }

  /** The code of the text source[from, to), or -1. */
  find(source: ByteSource, from: number, to: number): number {
    return this.#slots[this.#findSlot(source, from, to, hashBytes(source.view, from, to))]! - 1;
  }

  /** Length in bytes of the text with that code. */
  lengthOf(code: number): number {
    return this.#offsets[code + 1]! - this.#offsets[code]!;
  }

  textOf(code: number): string {
    return decodeText(this.#source.bytes, this.#offsets[code]!, this.#offsets[code + 1]!);
  }

  /** The texts in the order of their codes. A view, valid until the next text is added. */
  texts(): TextVector {
    const { size } = this;
    return {
      offsets: this.#offsets.subarray(0, size + 1),
      bytes: toPlainBytes(this.#source.bytes.subarray(0, this.#offsets[size])),
    };
  }

  /** MurmurHash3 (`hashBytes`) of each text, in the order of the codes. A view, valid until the next text is added. */
  hashes(): Uint32Array {
    return this.#hashes.subarray(0, this.size);
  }

  /** The slot that holds the text, or else the free slot where it belongs. */
  #findSlot(source: ByteSource, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const hashes = this.#keyed ?? this.#hashes;
    const wanted = this.#keyed === undefined ? hash : hashWithKey(source.view, from, to, threadKey);
    let slot = wanted & mask;
    let probes = 0;
    for (let found = slots[slot]!; found !== 0; found = slots[slot]!) {
      if (hashes[found - 1] === wanted && this.equals(found - 1, source, from, to)) break;
      if (++probes > probesMax && this.#keyed === undefined) {
        this.#goOverToKeyedHash();
        return this.#findSlot(source, from, to, hash);
      }
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #goOverToKeyedHash(): void {
    this.#keyed = new Uint32Array(this.#hashes.length);
    for (let code = 0; code < this.size; code++) this.#keyed[code] = this.#keyedHashOf(code);
    this.#placeIn(new Uint32Array(this.#slots.length));
  }

  #keyedHashOf(code: number): number {
    return hashWithKey(this.#source.view, this.#offsets[code]!, this.#offsets[code + 1]!, threadKey);
  }

  /** Returns whether source[from, to) is the text with that code. */
  equals(code: number, source: ByteSource, from: number, to: number): boolean {
    const start = this.#offsets[code]!;
    if (this.#offsets[code + 1]! - start !== to - from) return false;
    const { view } = this.#source;
    let at = from;
    let own = start;
    for (; at + 4 <= to; at += 4, own += 4) {
      if (view.getUint32(own, true) !== source.view.getUint32(at, true)) return false;
    }
    for (; at < to; at++, own++) if (view.getUint8(own) !== source.view.getUint8(at)) return false;
    return true;
  }

  #add(source: ByteSource, from: number, to: number, hash: number, slot: number): number {
    const code = this.size++;
    const start = this.#offsets[code]!;
    const end = start + to - from;
    if (end > this.#source.bytes.length) this.#growBytes(end);
    source.bytes.copy(this.#source.bytes, start, from, to);
    if (code + 1 === this.#offsets.length - 1) this.#growCodes();
    this.#offsets[code + 1] = end;
    this.#hashes[code] = hash;
    if (this.#keyed !== undefined) this.#keyed[code] = this.#keyedHashOf(code);
    this.#slots[slot] = code + 1;
    if (this.size * 2 > this.#slots.length) this.#placeIn(new Uint32Array(this.#slots.length * 2));
    return code;
  }

  #growBytes(byteLength: number): void {
    const { length } = this.#source.bytes;
    const grown = length < largeBytes ? length * 2 : Math.ceil(length * 1.25);
    const larger = new Uint8Array(Math.max(byteLength, grown));
    larger.set(this.#source.bytes);
    this.#source = toByteSource(larger);
  }

  #growCodes(): void {
    this.#offsets = growArray(this.#offsets, this.#hashes.length * 2 + 1);
    this.#hashes = growArray(this.#hashes, this.#hashes.length * 2);
    if (this.#keyed !== undefined) this.#keyed = growArray(this.#keyed, this.#hashes.length);
  }

  /** Places all texts in these slots, which are free. */
  #placeIn(slots: Uint32Array<ArrayBuffer>): void {
    const mask = slots.length - 1;
    const hashes = this.#keyed ?? this.#hashes;
    for (let code = 0; code < this.size; code++) {
      let slot = hashes[code]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = code + 1;
    }
    this.#slots = slots;
  }
}

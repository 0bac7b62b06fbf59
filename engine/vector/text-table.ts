/** Distinct texts and their codes, found by their bytes: no string is made for a value that was seen before. */
import { hashBytes } from "./membership-filter.ts";
import { decodeText, growArray, plainBytes, type TextVector } from "./text.ts";

/** Bytes, and a view of the same bytes for code that reads words of them. */
export interface ByteSource {
  bytes: Buffer;
  view: DataView;
}

export function byteSource(bytes: Uint8Array): ByteSource {
  const { buffer, byteOffset, byteLength } = bytes;
  return {
    bytes: Buffer.from(buffer, byteOffset, byteLength),
    view: new DataView(buffer, byteOffset, byteLength),
  };
}

const valuesFirst = 8;
const bytesFirst = 64;

/** Codes count from 0 in the order in which texts first came. Open addressing with linear probing, at most half full. */
export class TextTable {
  size = 0;
  #source: ByteSource = byteSource(new Uint8Array(bytesFirst));
  #offsets = new Uint32Array(valuesFirst + 1);
  #hashes = new Uint32Array(valuesFirst);
  /** Code + 1; 0 where the slot is free. */
  #slots = new Uint32Array(valuesFirst * 2);
  /** The code that was given last. */
  #last = 0;

  /** Forgets all texts, and keeps the room that they took. */
  clear(): void {
    this.size = 0;
    this.#last = 0;
    this.#slots.fill(0);
  }

  /** Bytes that it takes up. */
  get byteLength(): number {
    return this.#source.bytes.length + this.#slots.byteLength * 2;
  }

  /** The code of source[from, to), which is a new one where the text was not there. */
  codeOf(source: ByteSource, from: number, to: number): number {
    // Rows repeat what the row before had: comparing takes a third of the time of hashing.
    if (this.#last < this.size && this.equals(this.#last, source, from, to)) return this.#last;
    const hash = hashBytes(source.view, from, to);
    const slot = this.#slotOf(source, from, to, hash);
    const found = this.#slots[slot]!;
    this.#last = found === 0 ? this.#add(source, from, to, hash, slot) : found - 1;
    return this.#last;
  }

  /** The code of source[from, to), or -1. */
  find(source: ByteSource, from: number, to: number): number {
    return this.#slots[this.#slotOf(source, from, to, hashBytes(source.view, from, to))]! - 1;
  }

  /** Bytes of the text with that code. */
  lengthOf(code: number): number {
    return this.#offsets[code + 1]! - this.#offsets[code]!;
  }

  textOf(code: number): string {
    return decodeText(this.#source.bytes, this.#offsets[code]!, this.#offsets[code + 1]!);
  }

  /** The texts in the order of their codes; in place, so valid until the next one is added. */
  texts(): TextVector {
    const { size } = this;
    return {
      offsets: this.#offsets.subarray(0, size + 1),
      bytes: plainBytes(this.#source.bytes.subarray(0, this.#offsets[size])),
    };
  }

  /** As `hashBytes` gives them, in the order of the codes; in place. */
  hashes(): Uint32Array {
    return this.#hashes.subarray(0, this.size);
  }

  /** The slot that holds the text, else the free one where it belongs. */
  #slotOf(source: ByteSource, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let found = slots[slot]!; found !== 0; found = slots[slot]!) {
      if (this.#hashes[found - 1] === hash && this.equals(found - 1, source, from, to)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  /** Whether source[from, to) is the text with that code. */
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
    this.#slots[slot] = code + 1;
    if (this.size * 2 > this.#slots.length) this.#growSlots();
    return code;
  }

  #growBytes(byteLength: number): void {
    const larger = new Uint8Array(Math.max(byteLength, this.#source.bytes.length * 2));
    larger.set(this.#source.bytes);
    this.#source = byteSource(larger);
  }

  #growCodes(): void {
    this.#offsets = growArray(this.#offsets, this.#hashes.length * 2 + 1);
    this.#hashes = growArray(this.#hashes, this.#hashes.length * 2);
  }

  #growSlots(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let code = 0; code < this.size; code++) {
      let slot = this.#hashes[code]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = code + 1;
    }
    this.#slots = slots;
  }
}

import { randomInt } from "node:crypto";
import type { WorkDeadline } from "../time/deadline.ts";

/** The code of rows that have none of the labels: they belong to no group. */
export const noCode = -1;

/** One label of some rows: 64-bit hashes of its texts, 0 for rows that lack it. */
export interface KeyPart {
  low: (row: number) => number;
  high: (row: number) => number;
}

/**
 * Numbers the distinct texts of several labels together, by their hashes: 0, 1, 2 … A hash table with open addressing;
 * tables that are joined share one.
 */
export class KeyCodes {
  /** Unknown to senders, so that nobody can choose texts whose places in the table collide. */
  readonly #seed = randomInt(2 ** 32);
  #slots = new Int32Array(1024).fill(-1);
  #low = new Uint32Array(512);
  #high = new Uint32Array(512);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The code of each row: equal for rows with equal texts of the labels. Without labels all rows have the code 0. */
  async codesOf(rows: Uint32Array, parts: readonly KeyPart[], work: WorkDeadline): Promise<Int32Array> {
    const codes = new Int32Array(rows.length);
    if (parts.length === 0) {
      this.#count = Math.max(this.#count, 1);
      return codes;
    }
    for (let i = 0; i < rows.length; i++) {
      codes[i] = this.#codeOf(rows[i]!, parts);
      if (i % 256 === 0 && work.isTurnOver(16)) await work.yield();
    }
    return codes;
  }

  #codeOf(row: number, parts: readonly KeyPart[]): number {
    let [low, high, isThere] = [0, 0, false];
    for (const part of parts) {
      const [partLow, partHigh] = [part.low(row), part.high(row)];
      isThere ||= (partLow | partHigh) !== 0;
      if (parts.length === 1) [low, high] = [partLow, partHigh];
      else {
        // Each label changes the hash in another way, so that ("a", "") and ("", "a") differ.
        low = (Math.imul(low ^ partLow, 0x9e3779b1) + 0x7f4a7c15) >>> 0;
        high = (Math.imul(high ^ partHigh ^ (low >>> 15), 0x85ebca6b) + 0x165667b1) >>> 0;
      }
    }
    return isThere ? this.#findOrAdd(low, high) : noCode;
  }

  #findOrAdd(low: number, high: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#slotOf(low, high) & mask;
    for (; this.#slots[slot] !== -1; slot = (slot + 1) & mask) {
      const code = this.#slots[slot]!;
      if (this.#low[code] === low && this.#high[code] === high) return code;
    }
    const code = this.#count++;
    this.#slots[slot] = code;
    this.#low[code] = low;
    this.#high[code] = high;
    if (this.#count === this.#low.length) this.#grow();
    return code;
  }

  #slotOf(low: number, high: number): number {
    const mixed = Math.imul(low ^ this.#seed, 0x9e3779b1) ^ Math.imul(high + this.#seed, 0x85ebca6b);
    return mixed ^ (mixed >>> 15);
  }

  #grow(): void {
    const [low, high] = [this.#low, this.#high];
    const capacity = low.length * 2;
    this.#low = new Uint32Array(capacity);
    this.#low.set(low);
    this.#high = new Uint32Array(capacity);
    this.#high.set(high);
    this.#slots = new Int32Array(capacity * 2).fill(-1);
    const mask = this.#slots.length - 1;
    for (let code = 0; code < this.#count; code++) {
      let slot = this.#slotOf(low[code]!, high[code]!) & mask;
      while (this.#slots[slot] !== -1) slot = (slot + 1) & mask;
      this.#slots[slot] = code;
    }
  }
}

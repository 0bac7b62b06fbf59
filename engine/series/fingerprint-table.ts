/** Numbers series by their fingerprints, in the order in which they are added: a hash table with open addressing. */
import { growArray } from "../vector/arrays.ts";
export class FingerprintTable {
  count = 0;
  /** Fingerprint of each series as two halves: low, high, low, high … */
  #halves = new Uint32Array(128);
  /** Series number plus 1, or 0 for an empty slot; a power of two, at least twice the number of series. */
  #slots = new Int32Array(128);

  get byteLength(): number {
    return this.#halves.byteLength + this.#slots.byteLength;
  }

  /** The number of a series; a new one is added. */
  findOrAdd(low: number, high: number): number {
    const mask = this.#slots.length - 1;
    // A fingerprint is already a hash. Its lowest bits are not used, because they selected the thread.
    let slot = (low >>> 8) & mask;
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      const at = (taken - 1) * 2;
      if (this.#halves[at] === low && this.#halves[at + 1] === high) return taken - 1;
      slot = (slot + 1) & mask;
    }
    if (this.count * 2 === this.#slots.length) {
      this.#grow();
      return this.findOrAdd(low, high);
    }
    this.#slots[slot] = this.count + 1;
    this.#halves[this.count * 2] = low;
    this.#halves[this.count * 2 + 1] = high;
    return this.count++;
  }

  #grow(): void {
    const halves = growArray(this.#halves, this.#halves.length * 2);
    this.#halves = halves;
    this.#slots = new Int32Array(this.#slots.length * 2);
    const mask = this.#slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = (halves[number * 2]! >>> 8) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = number + 1;
    }
  }
}

/**
 * A set of 64-bit hashes for each point, none of them 0. Each set is an open-addressing table of its own in one vector: the sets of
 * points that come together, as those of one bucket do, stay in the processor's cache, which one large table would not.
 */

import { growArray } from "./text.ts";

/** Tables in the order of their points: `capacities` hashes long, low and high half one after the other, 0 where nothing is. */
export interface HashSetsPart {
  capacities: Uint32Array;
  sizes: Uint32Array;
  tables: Uint32Array;
}

const capacityFirst = 8;

export class HashSets {
  #points = 64;
  /** Of each point's table: its first hash, its length in hashes (a power of two; 0: none), and the hashes in it. */
  #starts = new Uint32Array(this.#points);
  #capacities = new Uint32Array(this.#points);
  #sizes = new Uint32Array(this.#points);
  #tables = new Uint32Array(1024);
  /** Hashes from here on are free. */
  #end = 0;

  get byteLength(): number {
    return this.#tables.byteLength + this.#points * 12;
  }

  sizeOf(point: number): number {
    return this.#sizes[point]!;
  }

  reserve(points: number): void {
    if (points <= this.#points) return;
    this.#points = Math.max(points, this.#points * 2);
    this.#starts = growArray(this.#starts, this.#points);
    this.#capacities = growArray(this.#capacities, this.#points);
    this.#sizes = growArray(this.#sizes, this.#points);
  }

  /** Returns how many hashes the point has then. */
  add(point: number, low: number, high: number): number {
    const size = this.#sizes[point]!;
    // Tables are at most three quarters full.
    if ((size + 1) * 4 > this.#capacities[point]! * 3) this.#widen(point, size + 1);
    const first = this.#starts[point]! * 2;
    const mask = this.#capacities[point]! * 2 - 1;
    const tables = this.#tables;
    // Low halves choose the slot.
    for (let at = (low << 1) & mask; ; at = (at + 2) & mask) {
      const ownLow = tables[first + at]!;
      const ownHigh = tables[first + at + 1]!;
      if (ownLow === low && ownHigh === high) return size;
      if (ownLow !== 0 || ownHigh !== 0) continue;
      tables[first + at] = low;
      tables[first + at + 1] = high;
      this.#sizes[point] = size + 1;
      return size + 1;
    }
  }

  /** Hands over the hashes of a point and forgets them. */
  take(point: number, visit: (low: number, high: number) => void): void {
    const first = this.#starts[point]! * 2;
    eachHash(this.#tables.subarray(first, first + this.#capacities[point]! * 2), visit);
    this.#capacities[point] = 0;
    this.#sizes[point] = 0;
  }

  /**
   * Copies the tables of points that have none here, unless they are kept elsewhere, and hands over the hashes of the others.
   * `places`: of each of the part's points the place here.
   */
  join(
    part: HashSetsPart,
    places: Uint32Array,
    isElsewhere: (point: number) => boolean,
    add: (point: number, low: number, high: number) => void,
  ): void {
    let from = 0;
    for (let i = 0; i < places.length; i++) {
      const point = places[i]!;
      const capacity = part.capacities[i]!;
      const table = part.tables.subarray(from, from + capacity * 2);
      from += capacity * 2;
      if (this.#capacities[point] === 0 && !isElsewhere(point)) {
        const start = this.#allocate(capacity);
        this.#tables.set(table, start * 2);
        this.#starts[point] = start;
        this.#capacities[point] = capacity;
        this.#sizes[point] = part.sizes[i]!;
      } else {
        // Hashes that come in the order of another table would crowd one end of a table that is too small for them.
        if (!isElsewhere(point)) this.#widen(point, this.#sizes[point]! + part.sizes[i]!);
        eachHash(table, (low, high) => add(point, low, high));
      }
    }
  }

  finish(points: number): HashSetsPart {
    this.#compact(0);
    return {
      capacities: this.#capacities.slice(0, points),
      sizes: this.#sizes.slice(0, points),
      tables: this.#tables.slice(0, this.#end * 2),
    };
  }

  /** Doubles a point's table until it is at most three quarters full of so many hashes. */
  #widen(point: number, hashes: number): void {
    const before = this.#capacities[point]!;
    let capacity = Math.max(before, capacityFirst);
    while (hashes * 4 > capacity * 3) capacity *= 2;
    if (capacity === before) return;
    const start = this.#allocate(capacity);
    const tables = this.#tables;
    const mask = capacity * 2 - 1;
    const old = this.#starts[point]! * 2;
    for (let from = old; from < old + before * 2; from += 2) {
      const low = tables[from]!;
      const high = tables[from + 1]!;
      if (low === 0 && high === 0) continue;
      let at = (low << 1) & mask;
      while (tables[start * 2 + at] !== 0 || tables[start * 2 + at + 1] !== 0) at = (at + 2) & mask;
      tables[start * 2 + at] = low;
      tables[start * 2 + at + 1] = high;
    }
    this.#starts[point] = start;
    this.#capacities[point] = capacity;
  }

  /** Zeros for so many hashes; returns the first. */
  #allocate(capacity: number): number {
    if ((this.#end + capacity) * 2 > this.#tables.length) this.#compact(capacity);
    const start = this.#end;
    this.#end += capacity;
    return start;
  }

  /** Moves the tables together, in the order of their points, with room for more. */
  #compact(room: number): void {
    let used = 0;
    for (let point = 0; point < this.#points; point++) used += this.#capacities[point]!;
    const tables = new Uint32Array(room === 0 ? used * 2 : (used + room) * 4);
    let end = 0;
    for (let point = 0; point < this.#points; point++) {
      const capacity = this.#capacities[point]!;
      if (capacity === 0) continue;
      const from = this.#starts[point]! * 2;
      tables.set(this.#tables.subarray(from, from + capacity * 2), end * 2);
      this.#starts[point] = end;
      end += capacity;
    }
    this.#tables = tables;
    this.#end = end;
  }
}

function eachHash(table: Uint32Array, visit: (low: number, high: number) => void): void {
  for (let at = 0; at < table.length; at += 2) {
    if (table[at] !== 0 || table[at + 1] !== 0) visit(table[at]!, table[at + 1]!);
  }
}

/**
 * A set of 64-bit hashes for each point (group × bucket) of an aggregation. Each set is an open-addressing table of its
 * own, and all tables lie in one vector. The tables of points that come together, as those of one bucket do, stay in
 * the processor's cache; one large table for all points would not. The hash 0 marks a free slot, so no hash is 0.
 */
import { growArray } from "./arrays.ts";

/**
 * The sets as scan threads send them: the tables in the order of their points, each `capacities` hashes long. A hash is
 * its low and its high half, both 0 in a free slot.
 */
export interface HashSetsState {
  capacities: Uint32Array;
  sizes: Uint32Array;
  tables: Uint32Array;
}

/** Hashes that a point's first table has slots for. */
const initialCapacity = 8;

export class HashSets {
  #points = 64;
  /** Of each point's table: the index of its first hash. */
  #starts = new Uint32Array(this.#points);
  /** Of each point's table: its length in hashes, a power of two; 0 where there is no table. */
  #capacities = new Uint32Array(this.#points);
  /** Of each point's table: how many hashes it holds. */
  #sizes = new Uint32Array(this.#points);
  #tables = new Uint32Array(1024);
  /** The vector is free from this hash on. */
  #end = 0;

  get byteLength(): number {
    return this.#tables.byteLength + this.#points * 12;
  }

  sizeOf(point: number): number {
    return this.#sizes[point]!;
  }

  /** Makes room for `points` points. */
  reserve(points: number): void {
    if (points <= this.#points) return;
    this.#points = Math.max(points, this.#points * 2);
    this.#starts = growArray(this.#starts, this.#points);
    this.#capacities = growArray(this.#capacities, this.#points);
    this.#sizes = growArray(this.#sizes, this.#points);
  }

  /** Adds a hash to the set of a point; returns the size of the set afterwards. */
  add(point: number, low: number, high: number): number {
    const size = this.#sizes[point]!;
    // Tables are at most three quarters full.
    if ((size + 1) * 4 > this.#capacities[point]! * 3) this.#growTable(point, size + 1);
    const first = this.#starts[point]! * 2;
    const mask = this.#capacities[point]! * 2 - 1;
    const tables = this.#tables;
    // The low half chooses the slot; probing is linear.
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

  /** Empties the set of a point, and calls `visit` with each hash that was in it. */
  drain(point: number, visit: (low: number, high: number) => void): void {
    const first = this.#starts[point]! * 2;
    forEachHash(this.#tables.subarray(first, first + this.#capacities[point]! * 2), visit);
    this.#capacities[point] = 0;
    this.#sizes[point] = 0;
  }

  /**
   * Adds the sets of another state. The table of a point that has none here is copied whole. For other points, and for
   * points whose hashes the caller keeps elsewhere, `add` is called with each hash.
   * @param targetPoints for each point of `state`, the same point here
   */
  merge(
    state: HashSetsState,
    targetPoints: Uint32Array,
    isKeptElsewhere: (point: number) => boolean,
    add: (point: number, low: number, high: number) => void,
  ): void {
    let from = 0;
    for (let i = 0; i < targetPoints.length; i++) {
      const point = targetPoints[i]!;
      const capacity = state.capacities[i]!;
      const table = state.tables.subarray(from, from + capacity * 2);
      from += capacity * 2;
      if (this.#capacities[point] === 0 && !isKeptElsewhere(point)) {
        const start = this.#allocate(capacity);
        this.#tables.set(table, start * 2);
        this.#starts[point] = start;
        this.#capacities[point] = capacity;
        this.#sizes[point] = state.sizes[i]!;
      } else {
        // Hashes in the order of another table would crowd one end of a table that is too small for all of them.
        if (!isKeptElsewhere(point)) this.#growTable(point, this.#sizes[point]! + state.sizes[i]!);
        forEachHash(table, (low, high) => add(point, low, high));
      }
    }
  }

  /** The sets of the first `points` points, copied without gaps. */
  finish(points: number): HashSetsState {
    this.#compact(0);
    return {
      capacities: this.#capacities.slice(0, points),
      sizes: this.#sizes.slice(0, points),
      tables: this.#tables.slice(0, this.#end * 2),
    };
  }

  /** Doubles a point's table until `hashes` hashes fill at most three quarters of it. */
  #growTable(point: number, hashes: number): void {
    const before = this.#capacities[point]!;
    let capacity = Math.max(before, initialCapacity);
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

  /** Reserves free slots (zeros) for so many hashes; returns the index of the first. */
  #allocate(capacity: number): number {
    if ((this.#end + capacity) * 2 > this.#tables.length) this.#compact(capacity);
    const start = this.#end;
    this.#end += capacity;
    return start;
  }

  /**
   * Moves all tables together in the order of their points. With `spare` above 0 the vector becomes twice as large as
   * the tables and `spare` more hashes need; with 0 it fits the tables exactly.
   */
  #compact(spare: number): void {
    let used = 0;
    for (let point = 0; point < this.#points; point++) used += this.#capacities[point]!;
    const tables = new Uint32Array(spare === 0 ? used * 2 : (used + spare) * 4);
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

function forEachHash(table: Uint32Array, visit: (low: number, high: number) => void): void {
  for (let at = 0; at < table.length; at += 2) {
    if (table[at] !== 0 || table[at + 1] !== 0) visit(table[at]!, table[at + 1]!);
  }
}

/** Different texts of points, by their hashes: all hashes of a point are kept while they are few enough, else a HyperLogLog. */

import { distinctHashesMax } from "../limits.ts";
import type { Codes } from "../vector/codes.ts";
import type { Fingerprints } from "../vector/fingerprint.ts";
import { HashSets, type HashSetsPart } from "../vector/hash-sets.ts";
import {
  addHash,
  emptyRegisters,
  estimate,
  joinRegisters,
  type Registers,
  registerCount,
} from "../vector/hyperloglog.ts";
import { type CellRows, selectedList } from "./cells.ts";

/** Hash of row i is that of place codes[i], or of place i where there are no codes. */
export interface RowFingerprints extends Fingerprints {
  codes: Codes | null;
}

/** Pairs of cells and texts a row up to which those that occur are marked first: a look at a mark costs a part of one into a set. */
const pairsARow = 8;

/** Tables of point after point as they lie in `HashSets`, and the registers of points that have them, one after the other. */
export interface DistinctsPart {
  sets: HashSetsPart;
  manyPlaces: Uint32Array;
  registers: Uint8Array;
}

export class Distincts {
  readonly #hashesMax: number;
  readonly #sets = new HashSets();
  readonly #many = new Map<number, Registers>();

  /** `hashesMax`: hashes that are kept of one point. */
  constructor(hashesMax = distinctHashesMax) {
    this.#hashesMax = hashesMax;
  }

  get byteLength(): number {
    return this.#sets.byteLength + this.#many.size * registerCount;
  }

  add(rows: CellRows, hashes: RowFingerprints, points: number): void {
    this.#sets.reserve(points);
    const { codes, low, high } = hashes;
    const pairs = rows.counts.length * low.length;
    if (codes !== null && pairs <= codes.length * pairsARow) this.#addMarked(rows, hashes);
    else {
      const cells = rows.cellOf();
      const placeOf = new Uint32Array(rows.counts.length);
      for (let i = 0; i < rows.used.length; i++) placeOf[rows.used[i]!] = rows.places[i]!;
      const list = selectedList(rows);
      const length = list?.length ?? cells.length;
      for (let i = 0; i < length; i++) {
        const row = list === null ? i : list[i]!;
        const at = codes === null ? row : codes[row]!;
        this.#add(placeOf[cells[row]!]!, low[at]!, high[at]!);
      }
    }
  }

  /** `places`: of each of the part's points the place here. */
  join({ sets, manyPlaces, registers }: DistinctsPart, places: Uint32Array, points: number): void {
    this.#sets.reserve(points);
    const add = (place: number, low: number, high: number) => this.#add(place, low, high);
    this.#sets.join(sets, places, (place) => this.#many.has(place), add);
    for (const [i, point] of manyPlaces.entries()) {
      const part = registers.subarray(i * registerCount, (i + 1) * registerCount);
      joinRegisters(this.#registersOf(places[point]!), part);
    }
  }

  finish(points: number): DistinctsPart {
    this.#sets.reserve(points);
    const registers = new Uint8Array(this.#many.size * registerCount);
    for (const [i, each] of [...this.#many.values()].entries()) registers.set(each, i * registerCount);
    return { sets: this.#sets.finish(points), manyPlaces: Uint32Array.from(this.#many.keys()), registers };
  }

  values(points: number): Float64Array {
    this.#sets.reserve(points);
    return Float64Array.from({ length: points }, (_, place) => {
      const registers = this.#many.get(place);
      return registers === undefined ? this.#sets.sizeOf(place) : estimate(registers);
    });
  }

  /** Marks the pairs of cells and codes that occur, which are few beside the rows, before any is looked up. */
  #addMarked(rows: CellRows, { codes, low, high }: RowFingerprints): void {
    const valueCount = low.length;
    const { kernels, scratch } = rows.heap;
    const marks = scratch.uint8(rows.counts.length * valueCount);
    kernels.markPairs(rows.cellOf(), codes!, rows.selection, valueCount, marks);
    for (let i = 0; i < rows.used.length; i++) {
      const first = rows.used[i]! * valueCount;
      for (let code = 0; code < valueCount; code++) {
        if (marks[first + code] === 1) this.#add(rows.places[i]!, low[code]!, high[code]!);
      }
    }
  }

  #add(place: number, low: number, high: number): void {
    if (low === 0 && high === 0) return;
    const registers = this.#many.size === 0 ? undefined : this.#many.get(place);
    if (registers !== undefined) addHash(registers, low, high);
    else if (this.#sets.add(place, low, high) > this.#hashesMax) this.#registersOf(place);
  }

  /** The registers of a point, made of its hashes where it had none. */
  #registersOf(place: number): Registers {
    const known = this.#many.get(place);
    if (known !== undefined) return known;
    const registers = emptyRegisters();
    this.#sets.take(place, (low, high) => addHash(registers, low, high));
    this.#many.set(place, registers);
    return registers;
  }
}

/** Different texts of points, by their hashes: all hashes of a point are kept while they are few enough, else a HyperLogLog. */
import { type CellRows, selectedList } from "./cells.ts";
import type { Codes } from "./column.ts";
import type { Fingerprints } from "./fingerprint.ts";
import { addHash, emptyRegisters, estimate, joinRegisters, type Registers } from "./hyperloglog.ts";
import { distinctHashesMax } from "./limits.ts";

/** Hash of row i is that of place codes[i], or of place i where there are no codes. */
export interface RowFingerprints extends Fingerprints {
  codes: Codes | null;
}

export interface DistinctsPart extends Fingerprints {
  /** Of each hash the point. */
  places: Uint32Array;
  /** Points that have registers, and the registers, one after the other. */
  manyPlaces: Uint32Array;
  registers: Uint8Array;
}

const entriesFirst = 256;

export class Distincts {
  readonly #hashesMax: number;
  #count = 0;
  #places = new Uint32Array(entriesFirst);
  #low = new Uint32Array(entriesFirst);
  #high = new Uint32Array(entriesFirst);
  /** Of each entry the entry before it of the same point, plus 1; 0 for none. */
  #before = new Uint32Array(entriesFirst);
  /** Entries plus 1, 0 for none; a power of two, at most half full. */
  #slots = new Uint32Array(entriesFirst * 2);
  /** Of each point its newest entry plus 1, and its entries. */
  #newest = new Uint32Array(64);
  #sizes = new Uint32Array(64);
  readonly #many = new Map<number, Registers>();

  /** `hashesMax`: hashes that are kept of one point. */
  constructor(hashesMax = distinctHashesMax) {
    this.#hashesMax = hashesMax;
  }

  get byteLength(): number {
    const entries = this.#places.byteLength * 4 + this.#slots.byteLength + this.#newest.byteLength * 2;
    return entries + this.#many.size * emptyRegisters().byteLength;
  }

  add(rows: CellRows, hashes: RowFingerprints, points: number): void {
    this.#reserve(points);
    const { codes, low, high } = hashes;
    if (codes !== null && rows.counts.length * low.length <= codes.length) this.#addMarked(rows, hashes);
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
  join(part: DistinctsPart, places: Uint32Array, points: number): void {
    this.#reserve(points);
    for (let i = 0; i < part.places.length; i++) {
      this.#add(places[part.places[i]!]!, part.low[i]!, part.high[i]!);
    }
    const { byteLength } = emptyRegisters();
    for (const [i, point] of part.manyPlaces.entries()) {
      const own = this.#registersOf(places[point]!);
      joinRegisters(own, part.registers.subarray(i * byteLength, (i + 1) * byteLength));
    }
  }

  finish(): DistinctsPart {
    this.#compact();
    const registers = Buffer.concat([...this.#many.values()]);
    return {
      places: this.#places.slice(0, this.#count),
      low: this.#low.slice(0, this.#count),
      high: this.#high.slice(0, this.#count),
      manyPlaces: Uint32Array.from(this.#many.keys()),
      registers: new Uint8Array(registers),
    };
  }

  values(points: number): Float64Array {
    this.#reserve(points);
    return Float64Array.from({ length: points }, (_, place) => {
      const registers = this.#many.get(place);
      return registers === undefined ? this.#sizes[place]! : estimate(registers);
    });
  }

  /** Marks the pairs of cells and codes that occur, which are fewer than the rows, before any is looked up. */
  #addMarked(rows: CellRows, { codes, low, high }: RowFingerprints): void {
    const valueCount = low.length;
    const marks = new Uint8Array(rows.counts.length * valueCount);
    const cells = rows.cellOf();
    const list = selectedList(rows);
    const length = list?.length ?? cells.length;
    for (let i = 0; i < length; i++) {
      const row = list === null ? i : list[i]!;
      marks[cells[row]! * valueCount + codes![row]!] = 1;
    }
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
    else this.#keep(place, low, high);
  }

  #keep(place: number, low: number, high: number): void {
    if (this.#count === this.#places.length) this.#makeRoom();
    const mask = this.#slots.length - 1;
    let slot = slotOf(place, low, mask);
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      const entry = taken - 1;
      if (this.#low[entry] === low && this.#high[entry] === high && this.#places[entry] === place) return;
      slot = (slot + 1) & mask;
    }
    if (this.#sizes[place]! >= this.#hashesMax) addHash(this.#registersOf(place), low, high);
    else {
      this.#slots[slot] = this.#count + 1;
      this.#append(place, low, high);
    }
  }

  #append(place: number, low: number, high: number): void {
    const entry = this.#count++;
    this.#places[entry] = place;
    this.#low[entry] = low;
    this.#high[entry] = high;
    this.#before[entry] = this.#newest[place]!;
    this.#newest[place] = entry + 1;
    this.#sizes[place] = this.#sizes[place]! + 1;
  }

  /** The registers of a point, made of its hashes where it had none; the hashes stay as entries until the next `#compact`. */
  #registersOf(place: number): Registers {
    const known = this.#many.get(place);
    if (known !== undefined) return known;
    const registers = emptyRegisters();
    for (let next = this.#newest[place]!; next !== 0; next = this.#before[next - 1]!) {
      addHash(registers, this.#low[next - 1]!, this.#high[next - 1]!);
    }
    this.#many.set(place, registers);
    return registers;
  }

  #makeRoom(): void {
    this.#compact();
    if (this.#count * 2 > this.#places.length) this.#resize(this.#places.length * 2);
  }

  /** Lets go of the entries of points that have registers. */
  #compact(): void {
    if (this.#many.size > 0) this.#resize(this.#places.length);
  }

  /** Enters the entries that are still needed anew. */
  #resize(length: number): void {
    const [places, low, high, count] = [this.#places, this.#low, this.#high, this.#count];
    this.#places = new Uint32Array(length);
    this.#low = new Uint32Array(length);
    this.#high = new Uint32Array(length);
    this.#before = new Uint32Array(length);
    this.#slots = new Uint32Array(length * 2);
    this.#newest.fill(0);
    this.#sizes.fill(0);
    this.#count = 0;
    const mask = length * 2 - 1;
    for (let entry = 0; entry < count; entry++) {
      const place = places[entry]!;
      if (this.#many.has(place)) continue;
      let slot = slotOf(place, low[entry]!, mask);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#count + 1;
      this.#append(place, low[entry]!, high[entry]!);
    }
  }

  #reserve(points: number): void {
    if (points <= this.#newest.length) return;
    const length = Math.max(points, this.#newest.length * 2);
    const [newest, sizes] = [this.#newest, this.#sizes];
    this.#newest = new Uint32Array(length);
    this.#newest.set(newest);
    this.#sizes = new Uint32Array(length);
    this.#sizes.set(sizes);
  }
}

function slotOf(place: number, low: number, mask: number): number {
  const mixed = low ^ Math.imul(place, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) & mask;
}

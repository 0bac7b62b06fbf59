/** Counts the distinct texts of each point by their hashes: exactly while there are few, then with a HyperLogLog. */

import { distinctHashesMax } from "../limits.ts";
import type { Codes } from "../vector/codes.ts";
import type { Fingerprints } from "../vector/fingerprint.ts";
import { HashSets, type HashSetsState } from "../vector/hash-sets.ts";
import {
  addHash,
  createRegisters,
  estimateCardinality,
  mergeRegisters,
  type Registers,
  registerCount,
} from "../vector/hyperloglog.ts";
import { type CellRows, listSelectedRows } from "./cell-assignment.ts";

/** Hashes of rows: row i has hash codes[i], or hash i where there are no codes. */
export interface RowFingerprints extends Fingerprints {
  codes: Codes | null;
}

/**
 * If there are at most this many possible pairs of cell and text for each row, the pairs that occur are first marked in
 * a table: a probe of the table is cheaper than a probe of a hash set.
 */
const markedPairsPerRowMax = 8;

/** Mergeable state of the distinct counts of all points. */
export interface DistinctCountsPart {
  /** Hash sets of all points. */
  sets: HashSetsState;
  /** Points that have HyperLogLog registers instead of a hash set. */
  estimatedPoints: Uint32Array;
  /** The registers of `estimatedPoints`, one point after the other. */
  registers: Uint8Array;
}

/** The distinct count of every point over one field. */
export class DistinctCounts {
  readonly #hashesMax: number;
  readonly #sets = new HashSets();
  readonly #registers = new Map<number, Registers>();

  /** `hashesMax`: a point with more hashes gets a HyperLogLog. */
  constructor(hashesMax = distinctHashesMax) {
    this.#hashesMax = hashesMax;
  }

  get byteLength(): number {
    return this.#sets.byteLength + this.#registers.size * registerCount;
  }

  add(rows: CellRows, hashes: RowFingerprints, pointCount: number): void {
    this.#sets.reserve(pointCount);
    const { codes, low, high } = hashes;
    const pairs = rows.counts.length * low.length;
    if (codes !== null && pairs <= codes.length * markedPairsPerRowMax) this.#addMarked(rows, hashes);
    else {
      const cells = rows.cellOf();
      const pointOfCell = new Uint32Array(rows.counts.length);
      for (let i = 0; i < rows.usedCells.length; i++) pointOfCell[rows.usedCells[i]!] = rows.points[i]!;
      const list = listSelectedRows(rows);
      const length = list?.length ?? cells.length;
      for (let i = 0; i < length; i++) {
        const row = list === null ? i : list[i]!;
        const at = codes === null ? row : codes[row]!;
        this.#add(pointOfCell[cells[row]!]!, low[at]!, high[at]!);
      }
    }
  }

  /** Merges another state; `pointOf` maps its points to points here. */
  merge(part: DistinctCountsPart, pointOf: Uint32Array, pointCount: number): void {
    const { sets, estimatedPoints, registers } = part;
    this.#sets.reserve(pointCount);
    const add = (point: number, low: number, high: number) => this.#add(point, low, high);
    this.#sets.merge(sets, pointOf, (point) => this.#registers.has(point), add);
    for (const [i, partPoint] of estimatedPoints.entries()) {
      const part = registers.subarray(i * registerCount, (i + 1) * registerCount);
      mergeRegisters(this.#registersOf(pointOf[partPoint]!), part);
    }
  }

  finish(pointCount: number): DistinctCountsPart {
    this.#sets.reserve(pointCount);
    const registers = new Uint8Array(this.#registers.size * registerCount);
    for (const [i, each] of [...this.#registers.values()].entries()) registers.set(each, i * registerCount);
    return {
      sets: this.#sets.finish(pointCount),
      estimatedPoints: Uint32Array.from(this.#registers.keys()),
      registers,
    };
  }

  values(pointCount: number): Float64Array {
    this.#sets.reserve(pointCount);
    return Float64Array.from({ length: pointCount }, (_, point) => {
      const registers = this.#registers.get(point);
      return registers === undefined ? this.#sets.sizeOf(point) : estimateCardinality(registers);
    });
  }

  /** Marks the pairs of cell and code that occur, then adds each of them once: there are far fewer pairs than rows. */
  #addMarked(rows: CellRows, { codes, low, high }: RowFingerprints): void {
    const valueCount = low.length;
    const { kernels, scratch } = rows.heap;
    const marks = scratch.uint8(rows.counts.length * valueCount);
    kernels.markPairs(rows.cellOf(), codes!, rows.selection, valueCount, marks);
    for (let i = 0; i < rows.usedCells.length; i++) {
      const first = rows.usedCells[i]! * valueCount;
      for (let code = 0; code < valueCount; code++) {
        if (marks[first + code] === 1) this.#add(rows.points[i]!, low[code]!, high[code]!);
      }
    }
  }

  #add(point: number, low: number, high: number): void {
    if (low === 0 && high === 0) return;
    const registers = this.#registers.size === 0 ? undefined : this.#registers.get(point);
    if (registers !== undefined) addHash(registers, low, high);
    else if (this.#sets.add(point, low, high) > this.#hashesMax) this.#registersOf(point);
  }

  /** Returns the registers of a point. Where it has none yet, makes them from its hash set, which they replace. */
  #registersOf(point: number): Registers {
    const known = this.#registers.get(point);
    if (known !== undefined) return known;
    const registers = createRegisters();
    this.#sets.drain(point, (low, high) => addHash(registers, low, high));
    this.#registers.set(point, registers);
    return registers;
  }
}

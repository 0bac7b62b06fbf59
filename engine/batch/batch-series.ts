/** The series of one batch, numbered in the order in which they were admitted, with the types and units that samples declare. */

import type { EncodableSeries } from "../metrics/series-table.ts";
import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/arrays.ts";
import type { TextVector } from "../vector/text.ts";
import type { SeriesDeclaration, SeriesMemory } from "./series-memory.ts";

/** Numbers of the types, in memory only: chunks store the type as text. */
const types: readonly MetricType[] = ["unknown", "gauge", "counter", "delta"];

export class BatchSeries implements EncodableSeries {
  size = 0;
  readonly #memory: SeriesMemory;
  /** By number: the series in the memory. */
  #series = new Uint32Array(64);
  #types = new Uint8Array(64);
  /** By number: the unit plus 1; 0: none. */
  #units = new Uint32Array(64);
  /** By number: the alias plus 1 whose rows are added without being asked for; 0: none. */
  #direct = new Uint32Array(64);

  constructor(memory: SeriesMemory) {
    this.#memory = memory;
  }

  /** Numbers a series of the memory that has no number yet. */
  add(series: number): number {
    const number = this.size++;
    if (number === this.#series.length) this.#grow();
    this.#series[number] = series;
    this.#memory.setNumber(series, number);
    return number;
  }

  /** Sets type and unit of a series. The last declaration holds; "unknown" and a unit below 0 declare nothing. */
  declare(number: number, type: MetricType, unit: number): void {
    if (type !== "unknown") this.#types[number] = types.indexOf(type);
    if (unit >= 0) this.#units[number] = unit + 1;
    // Rows of an alias that are added directly declare nothing again.
    const direct = this.#direct[number]!;
    if (direct === 0) return;
    this.#memory.kernels.setDirect(direct - 1, 0);
    this.#direct[number] = 0;
  }

  /** Sets type and unit by an alias, whose rows are added from now on without being asked for. */
  declareBy(alias: number, number: number, { type, unit }: SeriesDeclaration): void {
    this.declare(number, type, unit);
    this.#memory.kernels.setDirect(alias, number + 1);
    this.#direct[number] = alias + 1;
  }

  /** Ends the batch: the numbers mean nothing any more. */
  release(): void {
    for (let number = 0; number < this.size; number++) {
      const direct = this.#direct[number]!;
      if (direct > 0) this.#memory.kernels.setDirect(direct - 1, 0);
    }
  }

  identities(): TextVector {
    return this.#memory.identitiesOf(this.#series.subarray(0, this.size));
  }

  fingerprints(): Uint32Array {
    const fingerprints = new Uint32Array(this.size * 2);
    for (let number = 0; number < this.size; number++) {
      const { low, high } = this.#memory.fingerprintOf(this.#series[number]!);
      fingerprints[number * 2] = low;
      fingerprints[number * 2 + 1] = high;
    }
    return fingerprints;
  }

  typeOf(number: number): MetricType {
    return types[this.#types[number]!]!;
  }

  unitOf(number: number): number {
    return this.#units[number]! - 1;
  }

  units(): TextVector {
    return this.#memory.units();
  }

  #grow(): void {
    const length = this.#series.length * 2;
    this.#series = growArray(this.#series, length);
    this.#types = growArray(this.#types, length);
    this.#units = growArray(this.#units, length);
    this.#direct = growArray(this.#direct, length);
  }
}

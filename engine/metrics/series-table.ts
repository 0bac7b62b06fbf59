/** The series of a batch or a chunk under construction, numbered in the order in which they were added. */

import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/text.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";

/** Numbers of the types, in memory only: chunks store the type as text. */
const types: readonly MetricType[] = ["unknown", "gauge", "counter", "delta"];

export class SeriesTable {
  /** Identities by the number of the series. */
  readonly identities = new TextTable();
  readonly units = new TextTable();
  #types = new Uint8Array(64);
  /** For each series the code of its unit plus 1; 0: none. */
  #unitOf = new Uint32Array(64);

  /** The number of the series whose identity is at [from, to), given now where it has none. */
  addSeries(source: ByteSource, from: number, to: number): number {
    const number = this.identities.intern(source, from, to);
    if (number === this.#types.length) this.#grow();
    return number;
  }

  typeOf(series: number): MetricType {
    return types[this.#types[series]!]!;
  }

  /** Code in `units`; -1 where the series has none. */
  unitOf(series: number): number {
    return this.#unitOf[series]! - 1;
  }

  /** Sets type and unit of a series. The last declaration holds; "unknown" and an empty unit declare nothing. */
  declare(series: number, type: MetricType, source: ByteSource, unitFrom: number, unitTo: number): void {
    if (type !== "unknown") this.#types[series] = types.indexOf(type);
    if (unitFrom < unitTo) this.#unitOf[series] = this.units.intern(source, unitFrom, unitTo) + 1;
  }

  /** As `declare`, with the number of a unit; -1 declares none. */
  declareAgain(series: number, type: MetricType, unit: number): void {
    if (type !== "unknown") this.#types[series] = types.indexOf(type);
    if (unit >= 0) this.#unitOf[series] = unit + 1;
  }

  /** As `declare`, with the unit as a string. */
  declareText(series: number, type: MetricType, unit: string): void {
    const source = toByteSource(Buffer.from(unit, "utf8"));
    this.declare(series, type, source, 0, source.bytes.length);
  }

  #grow(): void {
    this.#types = growArray(this.#types, this.#types.length * 2);
    this.#unitOf = growArray(this.#unitOf, this.#types.length);
  }
}

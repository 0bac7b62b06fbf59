/** The series of a batch or a chunk under construction, numbered in the order in which they were added. */

import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/arrays.ts";
import type { TextVector } from "../vector/text.ts";
import { type ByteSource, TextTable, toByteSource } from "../vector/text-table.ts";
import { fingerprintTexts } from "./fingerprints.ts";

/** Numbers of the types, in memory only: chunks store the type as text. */
const types: readonly MetricType[] = ["unknown", "gauge", "counter", "delta"];

/** What an encoder asks of the series that samples name by their numbers. */
export interface EncodableSeries {
  /** Number of series. */
  readonly size: number;
  /** Identities by the number of the series; see series-identity.ts. A view, valid until the next series is added. */
  identities(): TextVector;
  /** Fingerprints by the number of the series, as 32-bit halves: low, high, low, high … */
  fingerprints(): Uint32Array;
  typeOf(series: number): MetricType;
  /** Code in `units`; -1 where the series has none. */
  unitOf(series: number): number;
  units(): TextVector;
}

export class SeriesTable implements EncodableSeries {
  readonly #identities = new TextTable();
  readonly #units = new TextTable();
  /** Of all series, unless some were added since. */
  #fingerprints: Uint32Array = new Uint32Array(0);
  #types = new Uint8Array(64);
  /** For each series the code of its unit plus 1; 0: none. */
  #unitOf = new Uint32Array(64);

  get size(): number {
    return this.#identities.size;
  }

  identities(): TextVector {
    return this.#identities.texts();
  }

  fingerprints(): Uint32Array {
    if (this.#fingerprints.length < this.size * 2) this.#fingerprints = fingerprintTexts(this.identities());
    return this.#fingerprints;
  }

  units(): TextVector {
    return this.#units.texts();
  }

  /** The number of the series whose identity is at [from, to), given now where it has none. */
  addSeries(source: ByteSource, from: number, to: number): number {
    const number = this.#identities.intern(source, from, to);
    if (number === this.#types.length) this.#grow();
    return number;
  }

  typeOf(series: number): MetricType {
    return types[this.#types[series]!]!;
  }

  unitOf(series: number): number {
    return this.#unitOf[series]! - 1;
  }

  /** Sets type and unit of a series. The last declaration holds; "unknown" and an empty unit declare nothing. */
  declare(series: number, type: MetricType, unit: string): void {
    if (type !== "unknown") this.#types[series] = types.indexOf(type);
    if (unit === "") return;
    const source = toByteSource(Buffer.from(unit, "utf8"));
    this.#unitOf[series] = this.#units.intern(source, 0, source.bytes.length) + 1;
  }

  #grow(): void {
    this.#types = growArray(this.#types, this.#types.length * 2);
    this.#unitOf = growArray(this.#unitOf, this.#types.length);
  }
}

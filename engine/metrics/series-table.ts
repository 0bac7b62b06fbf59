/** Series on their way to a chunk, numbered in the order in which they first came. */

import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/text.ts";
import { type ByteSource, byteSource, TextTable } from "../vector/text-table.ts";

/** Numbers of the types: part of no format, for in chunks the type is a text. */
const types: readonly MetricType[] = ["unknown", "gauge", "counter", "delta"];

export class SeriesTable {
  readonly identities = new TextTable();
  readonly units = new TextTable();
  #types = new Uint8Array(64);
  #unitOf = new Uint32Array(64);

  /** The number of the series with these bytes as identity. */
  addSeries(source: ByteSource, from: number, to: number): number {
    const number = this.identities.codeOf(source, from, to);
    if (number === this.#types.length) this.#grow();
    return number;
  }

  typeOf(series: number): MetricType {
    return types[this.#types[series]!]!;
  }

  unitOf(series: number): number {
    return this.#unitOf[series]! - 1;
  }

  /** What is declared last holds; "unknown" and no unit declare nothing. */
  declare(series: number, type: MetricType, source: ByteSource, unitFrom: number, unitTo: number): void {
    if (type !== "unknown") this.#types[series] = types.indexOf(type);
    if (unitFrom < unitTo) this.#unitOf[series] = this.units.codeOf(source, unitFrom, unitTo) + 1;
  }

  declareText(series: number, type: MetricType, unit: string): void {
    const source = byteSource(Buffer.from(unit, "utf8"));
    this.declare(series, type, source, 0, source.bytes.length);
  }

  #grow(): void {
    const larger = new Uint8Array(this.#types.length * 2);
    larger.set(this.#types);
    this.#types = larger;
    this.#unitOf = growArray(this.#unitOf, larger.length);
  }
}

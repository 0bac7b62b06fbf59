/** A list of rows as they came from the scan threads; a row is decoded when it is read. */

import type { FoundRow } from "../model/row.ts";
import type { FoundRows } from "../scan/found-rows.ts";
import { decodeFoundRow, foundRowBytes } from "../scan/found-rows.ts";

/** Where a row stands among the rows of one thread. */
export interface RowPlace {
  arrival: number;
  rows: FoundRows;
  i: number;
}

/**
 * Rows in the order of their arrival. `length`, `at(i)` and iteration are as of an array; each row is decoded when it
 * is read.
 */
export class RowList {
  readonly #places: readonly RowPlace[];

  constructor(places: readonly RowPlace[]) {
    this.#places = places;
  }

  get length(): number {
    return this.#places.length;
  }

  at(index: number): FoundRow {
    const { rows, i } = this.#places[index]!;
    return decodeFoundRow(rows, i);
  }

  /** Bytes of UTF-8 of all texts of a row. */
  bytesAt(index: number): number {
    const { rows, i } = this.#places[index]!;
    return foundRowBytes(rows, i);
  }

  /** Arrival number of a row. */
  arrivalAt(index: number): number {
    return this.#places[index]!.arrival;
  }

  *[Symbol.iterator](): Generator<FoundRow> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}

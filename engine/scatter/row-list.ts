/** Rows as they came from the scan threads: each is decoded only when it is asked for. */

import type { FoundRow } from "../model/row.ts";
import type { FoundRows } from "../scan/found-rows.ts";
import { decodeFoundRow } from "../scan/found-rows.ts";

/** One row among those of a thread. */
export interface RowPlace {
  arrival: number;
  rows: FoundRows;
  i: number;
}

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

  /** Bytes of a row's texts. */
  bytesAt(index: number): number {
    const { rows, i } = this.#places[index]!;
    const { texts, firstText } = rows;
    return texts.offsets[firstText[i + 1]!]! - texts.offsets[firstText[i]!]!;
  }

  arrivalAt(index: number): number {
    return this.#places[index]!.arrival;
  }

  *[Symbol.iterator](): Generator<FoundRow> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}

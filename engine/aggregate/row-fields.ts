/** Reads what aggregates need of rows: from columns, or from rows that went through extraction steps. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { RowState } from "../filter/row-state.ts";
import { fieldTextOf } from "../filter/row-steps.ts";
import type { Aggregation, Value } from "../plan/aggregation.ts";
import type { Field } from "../plan/filter.ts";
import { toLabel } from "../summary/header-counts.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import type { Fingerprints } from "../vector/fingerprint.ts";
import type { SelectedRows } from "./cell-assignment.ts";
import type { RowFingerprints } from "./distinct-counts.ts";
import { allocateFingerprints, hashField, hashString } from "./field-fingerprints.ts";
import {
  compileNumberParser,
  type FieldNumbers,
  type FieldRead,
  type NumberParser,
  readNumbers,
} from "./field-numbers.ts";
import { collectReadFields, fieldReadKey, type RowFields } from "./point-states.ts";
import type { DayTimes } from "./row-counts.ts";

/** Fields of rows, read from a chunk's columns. */
export class ColumnFields implements RowFields {
  readonly #read: Omit<FieldRead, "list">;

  constructor(read: Omit<FieldRead, "list">) {
    this.#read = read;
  }

  times(): DayTimes {
    return dayTimes(this.#read);
  }

  numbers(value: Value, list: Uint32Array | null): Promise<FieldNumbers | undefined> {
    return readNumbers({ ...this.#read, list }, value);
  }

  fingerprints(field: Field, list: Uint32Array | null): Promise<RowFingerprints | undefined> {
    return hashField({ ...this.#read, list }, field);
  }
}

interface ExtractedNumbers {
  value: Value;
  parse: NumberParser;
  values: Float64Array;
  valid: Bitmap;
}

/** Fields of rows that are added one by one after their extraction steps. */
export class ExtractedFields implements RowFields {
  readonly #view: ChunkView;
  readonly #rows: SelectedRows;
  readonly #numbers: ExtractedNumbers[];
  readonly #texts: { field: Field; into: Fingerprints }[];

  constructor(view: ChunkView, rows: SelectedRows, aggregates: readonly Aggregation[]) {
    this.#view = view;
    this.#rows = rows;
    const { scratch } = view.heap;
    const length = rows.to - rows.from;
    const { values, fields } = collectReadFields(aggregates);
    this.#numbers = values.map((value) => ({
      value,
      parse: compileNumberParser(value),
      values: scratch.float64(length),
      valid: scratch.uint8((length + 7) >> 3),
    }));
    this.#texts = fields.map((field) => ({ field, into: allocateFingerprints(length) }));
  }

  /** Adds row i, counted from `rows.from`. */
  add(i: number, state: RowState): void {
    for (const { value, parse, values, valid } of this.#numbers) {
      const text = fieldTextOf(state, value.field);
      const number = text === undefined ? Number.NaN : parse(text);
      if (Number.isNaN(number)) continue;
      values[i] = number;
      setBit(valid, i);
    }
    for (const { field, into } of this.#texts) {
      hashString(into, i, toLabel(field, fieldTextOf(state, field)));
    }
  }

  times(): DayTimes {
    return dayTimes({ view: this.#view, rows: this.#rows });
  }

  async numbers(value: Value): Promise<FieldNumbers | undefined> {
    return this.#numbers.find((each) => fieldReadKey(each.value) === fieldReadKey(value));
  }

  async fingerprints(field: Field): Promise<RowFingerprints | undefined> {
    const { into } = this.#texts.find((each) => fieldReadKey(each.field) === fieldReadKey(field))!;
    return { ...into, codes: null };
  }
}

function dayTimes({ view, rows }: Pick<FieldRead, "view" | "rows">): DayTimes {
  return { day: view.day, timeNs: view.timeNs.subarray(rows.from, rows.to) };
}

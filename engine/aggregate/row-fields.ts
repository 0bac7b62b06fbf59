/** What aggregates read of rows: out of columns, or out of rows that went through steps. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { fieldText, type RowState } from "../filter/row-steps.ts";
import type { Aggregation, Value } from "../plan/aggregation.ts";
import type { Field } from "../plan/filter.ts";
import { toLabel } from "../summary/header-counts.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import type { Fingerprints } from "../vector/fingerprint.ts";
import type { SelectedRows } from "./cells.ts";
import type { RowFingerprints } from "./distinct-counts.ts";
import { emptyFingerprints, fieldFingerprints, fingerprintString } from "./field-fingerprints.ts";
import {
  type FieldNumbers,
  fieldNumbers,
  type NumberOfText,
  numberOfText,
  type YieldTurn,
} from "./field-numbers.ts";
import { fieldReadKey, fieldsReadBy, type RowFields } from "./point-states.ts";
import type { DayTimes } from "./row-counts.ts";

export class ColumnFields implements RowFields {
  readonly #view: ChunkView;
  readonly #rows: SelectedRows;
  readonly #turn: YieldTurn;

  constructor(view: ChunkView, rows: SelectedRows, turn: YieldTurn) {
    this.#view = view;
    this.#rows = rows;
    this.#turn = turn;
  }

  times(): DayTimes {
    return dayTimes(this.#view, this.#rows);
  }

  numbers(value: Value, list: Uint32Array | null): Promise<FieldNumbers | undefined> {
    return fieldNumbers(this.#view, value, this.#rows, list, this.#turn);
  }

  fingerprints(field: Field, list: Uint32Array | null): Promise<RowFingerprints | undefined> {
    return fieldFingerprints(this.#view, field, this.#rows, list, this.#turn);
  }
}

interface ReadNumbers {
  value: Value;
  parse: NumberOfText;
  values: Float64Array;
  valid: Bitmap;
}

/** Fields as they are put in row by row. */
export class ExtractedFields implements RowFields {
  readonly #view: ChunkView;
  readonly #rows: SelectedRows;
  readonly #numbers: ReadNumbers[];
  readonly #texts: { field: Field; into: Fingerprints }[];

  constructor(view: ChunkView, rows: SelectedRows, aggregates: readonly Aggregation[]) {
    this.#view = view;
    this.#rows = rows;
    const { scratch } = view.heap;
    const length = rows.to - rows.from;
    const { values, fields } = fieldsReadBy(aggregates);
    this.#numbers = values.map((value) => ({
      value,
      parse: numberOfText(value),
      values: scratch.float64(length),
      valid: scratch.uint8((length + 7) >> 3),
    }));
    this.#texts = fields.map((field) => ({ field, into: emptyFingerprints(length) }));
  }

  /** Row i of those that are read. */
  put(i: number, state: RowState): void {
    for (const { value, parse, values, valid } of this.#numbers) {
      const text = fieldText(state, value.field);
      const number = text === undefined ? Number.NaN : parse(text);
      if (Number.isNaN(number)) continue;
      values[i] = number;
      setBit(valid, i);
    }
    for (const { field, into } of this.#texts) {
      fingerprintString(into, i, toLabel(field, fieldText(state, field)));
    }
  }

  times(): DayTimes {
    return dayTimes(this.#view, this.#rows);
  }

  async numbers(value: Value): Promise<FieldNumbers | undefined> {
    return this.#numbers.find((each) => fieldReadKey(each.value) === fieldReadKey(value));
  }

  async fingerprints(field: Field): Promise<RowFingerprints | undefined> {
    const { into } = this.#texts.find((each) => fieldReadKey(each.field) === fieldReadKey(field))!;
    return { ...into, codes: null };
  }
}

function dayTimes({ day, timeNs }: ChunkView, { from, to }: SelectedRows): DayTimes {
  return { day, timeNs: timeNs.subarray(from, to) };
}

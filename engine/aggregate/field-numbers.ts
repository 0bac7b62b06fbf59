/** Numbers of a field of a chunk's rows, as the text of each row is one in decimal notation. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import {
  type Column,
  columnBytes,
  type DictionaryColumn,
  dictionaryTexts,
  hasValue,
} from "../column/column.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import { timeMs } from "../model/day.ts";
import type { Value } from "../plan/aggregation.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import { decimalIn, parseDecimal } from "../vector/number.ts";
import { decodeText, textAt } from "../vector/text.ts";
import type { SelectedRows } from "./cells.ts";

/** Row by row from the first of the selected rows on; on the heap. */
export interface FieldNumbers {
  values: Float64Array;
  /** Rows that have a number; null: all of them. */
  valid: Bitmap | null;
}

/** Lets other queries run, and throws where this one is to end. */
export type YieldTurn = () => Promise<void>;

/** Rows read one by one between two turns. */
const turnEvery = 1024;

/** The number of a text, NaN where it is none. */
export type NumberOfText = (text: string) => number;

export function numberOfText({ path }: Value): NumberOfText {
  if (path === undefined) return (text) => parseDecimal(text) ?? Number.NaN;
  return (text) => numberAt(text, path);
}

/** Undefined where no row has a number. `list`: the selected rows, counted from the first; null for all. */
export async function fieldNumbers(
  view: ChunkView,
  value: Value,
  rows: SelectedRows,
  list: Uint32Array | null,
  turn: YieldTurn,
): Promise<FieldNumbers | undefined> {
  const { field } = value;
  const { from, to } = rows;
  const parse = numberOfText(value);
  if (field.kind === "time") {
    if (value.path !== undefined && value.path.length > 0) return undefined;
    const { timeNs, day } = view;
    const values = view.heap.scratch.float64(to - from);
    for (let i = 0; i < values.length; i++) values[i] = timeMs(day, timeNs[from + i]!);
    return { values, valid: null };
  }
  const column = view.column(field);
  switch (column.kind) {
    case "absent":
      return undefined;
    case "constant": {
      const number = parse(field.kind === "level" ? column.value.toLowerCase() : column.value);
      if (Number.isNaN(number)) return undefined;
      return { values: view.heap.scratch.float64(to - from).fill(number), valid: bitsOf(column.valid, rows) };
    }
    case "dictionary":
      return dictionaryNumbers(view.heap, column, rows, await tableOf(column, value, rows, list, turn));
    case "number":
      if (value.path !== undefined && value.path.length > 0) return undefined;
      return { values: column.values.subarray(from, to), valid: bitsOf(column.valid, rows) };
    default:
      return rowNumbers(view.heap, column, rows, list, value, turn);
  }
}

function bitsOf(valid: Bitmap | null, { from, to }: SelectedRows): Bitmap | null {
  return valid === null ? null : valid.subarray(from >> 3, (to + 7) >> 3);
}

/** The numbers of a dictionary's values; the last is that of rows that lack the field. */
async function tableOf(
  column: DictionaryColumn,
  value: Value,
  { from, to }: SelectedRows,
  list: Uint32Array | null,
  turn: YieldTurn,
): Promise<Float64Array> {
  if (value.path === undefined) {
    const parse = numberOfText(value);
    column.numbers ??= Float64Array.from([...dictionaryTexts(column).map(parse), Number.NaN]);
    return column.numbers;
  }
  // Documents are long, so only those are parsed that a selected row has.
  const codes = column.codes.subarray(from, to);
  const isUsed = new Uint8Array(column.valueCount + 1);
  const length = list?.length ?? codes.length;
  for (let k = 0; k < length; k++) isUsed[codes[list === null ? k : list[k]!]!] = 1;
  const table = new Float64Array(isUsed.length).fill(Number.NaN);
  for (let code = 0; code < column.valueCount; code++) {
    if (code % turnEvery === 0) await turn();
    if (isUsed[code] === 1) table[code] = numberAt(textAt(column.values, code), value.path);
  }
  return table;
}

function dictionaryNumbers(
  { kernels, scratch }: ColumnHeap,
  column: DictionaryColumn,
  { from, to }: SelectedRows,
  table: Float64Array,
): FieldNumbers | undefined {
  const isNumber = Uint8Array.from(table, (number) => (Number.isNaN(number) ? 0 : 1));
  if (!isNumber.includes(1)) return undefined;
  const codes = column.codes.subarray(from, to);
  const values = scratch.float64(codes.length);
  for (let i = 0; i < values.length; i++) values[i] = table[codes[i]!]!;
  if (!isNumber.includes(0)) return { values, valid: null };
  const valid = scratch.uint8((codes.length + 7) >> 3);
  kernels.codesInTable(codes, isNumber, valid);
  return { values, valid };
}

/** Text by text, of the selected rows alone. */
async function rowNumbers(
  { scratch }: ColumnHeap,
  column: Column,
  { from, to }: SelectedRows,
  list: Uint32Array | null,
  { path }: Value,
  turn: YieldTurn,
): Promise<FieldNumbers | undefined> {
  const values = scratch.float64(to - from);
  const valid = scratch.uint8((values.length + 7) >> 3);
  const length = list?.length ?? values.length;
  let count = 0;
  for (let k = 0; k < length; k++) {
    if (k % turnEvery === 0) await turn();
    const i = list === null ? k : list[k]!;
    if (!hasValue(column, from + i)) continue;
    const bytes = columnBytes(column, from + i);
    const { byteLength } = bytes;
    const number =
      path === undefined ? decimalIn(bytes, 0, byteLength) : numberAt(decodeText(bytes, 0, byteLength), path);
    if (Number.isNaN(number)) continue;
    values[i] = number;
    setBit(valid, i);
    count++;
  }
  return count === 0 ? undefined : { values, valid };
}

/** The number at a path of JSON text; NaN where something else stands there, or nothing, or the text is no JSON. */
function numberAt(text: string, path: readonly (string | number)[]): number {
  let at: unknown;
  try {
    at = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return Number.NaN;
  }
  for (const step of path) {
    const isMember = typeof step === "string";
    if (typeof at !== "object" || at === null || Array.isArray(at) === isMember || !Object.hasOwn(at, step)) {
      return Number.NaN;
    }
    at = (at as Record<string | number, unknown>)[step];
  }
  return typeof at === "number" ? at : Number.NaN;
}

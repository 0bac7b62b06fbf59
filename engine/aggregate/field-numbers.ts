/** Reads the numbers of a field in a chunk's rows: texts in decimal notation, or numbers inside JSON. */

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
import { parseDecimal, parseDecimalBytes } from "../vector/number.ts";
import { decodeText, textAt } from "../vector/text.ts";
import type { SelectedRows } from "./cell-assignment.ts";

/** The numbers of rows, one per row, on the heap. */
export interface FieldNumbers {
  values: Float64Array;
  /** Rows that have a number; null: all. */
  valid: Bitmap | null;
}

/** Lets other queries run; throws Failure "cancelled" or "deadline" where this query must end. */
type YieldTurn = () => Promise<void>;

/** Rows read one by one before other queries may run. */
const rowsPerTurn = 1024;

/** Parses the number of a text; NaN where there is none. */
export type NumberParser = (text: string) => number;

export function compileNumberParser({ path }: Value): NumberParser {
  if (path === undefined) return (text) => parseDecimal(text) ?? Number.NaN;
  return (text) => parseNumberAt(text, path);
}

/** The rows whose field is read. */
export interface FieldRead {
  view: ChunkView;
  rows: SelectedRows;
  /** The selected rows, relative to `rows.from`; null selects all. */
  list: Uint32Array | null;
  yieldTurn: YieldTurn;
}

/** The numbers of the rows [from, to); undefined where no row has one. */
export async function readNumbers(read: FieldRead, value: Value): Promise<FieldNumbers | undefined> {
  const { field } = value;
  const { view, rows } = read;
  const { from, to } = rows;
  const parse = compileNumberParser(value);
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
      const values = view.heap.scratch.float64(to - from).fill(number);
      return { values, valid: validityOf(column.valid, rows) };
    }
    case "dictionary":
      return lookUpNumbers(column, rows, await parseDictionary(column, value, read), view.heap);
    case "number":
      if (value.path !== undefined && value.path.length > 0) return undefined;
      return { values: column.values.subarray(from, to), valid: validityOf(column.valid, rows) };
    default:
      return parseRows(column, value, read);
  }
}

function validityOf(valid: Bitmap | null, { from, to }: SelectedRows): Bitmap | null {
  return valid === null ? null : valid.subarray(from >> 3, (to + 7) >> 3);
}

/** The numbers of a dictionary's values; the last one, NaN, stands for rows that lack the field. */
async function parseDictionary(
  column: DictionaryColumn,
  value: Value,
  { rows, list, yieldTurn }: FieldRead,
): Promise<Float64Array> {
  if (value.path === undefined) {
    const parse = compileNumberParser(value);
    column.numbers ??= Float64Array.from([...dictionaryTexts(column).map(parse), Number.NaN]);
    return column.numbers;
  }
  // JSON documents are long, so only those that a selected row has are parsed.
  const codes = column.codes.subarray(rows.from, rows.to);
  const isUsed = new Uint8Array(column.valueCount + 1);
  const length = list?.length ?? codes.length;
  for (let k = 0; k < length; k++) isUsed[codes[list === null ? k : list[k]!]!] = 1;
  const table = new Float64Array(isUsed.length).fill(Number.NaN);
  for (let code = 0; code < column.valueCount; code++) {
    if (code % rowsPerTurn === 0) await yieldTurn();
    if (isUsed[code] === 1) table[code] = parseNumberAt(textAt(column.values, code), value.path);
  }
  return table;
}

function lookUpNumbers(
  column: DictionaryColumn,
  { from, to }: SelectedRows,
  table: Float64Array,
  { kernels, scratch }: ColumnHeap,
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

/** Parses the texts of the selected rows. */
async function parseRows(
  column: Column,
  { path }: Value,
  read: FieldRead,
): Promise<FieldNumbers | undefined> {
  const { rows, list, yieldTurn } = read;
  const { from, to } = rows;
  const { scratch } = read.view.heap;
  const values = scratch.float64(to - from);
  const valid = scratch.uint8((values.length + 7) >> 3);
  const length = list?.length ?? values.length;
  let count = 0;
  for (let k = 0; k < length; k++) {
    if (k % rowsPerTurn === 0) await yieldTurn();
    const i = list === null ? k : list[k]!;
    if (!hasValue(column, from + i)) continue;
    const bytes = columnBytes(column, from + i);
    const { byteLength } = bytes;
    const number =
      path === undefined
        ? parseDecimalBytes(bytes, 0, byteLength)
        : parseNumberAt(decodeText(bytes, 0, byteLength), path);
    if (Number.isNaN(number)) continue;
    values[i] = number;
    setBit(valid, i);
    count++;
  }
  return count === 0 ? undefined : { values, valid };
}

/** The number at a path of a JSON text; NaN where the text is not JSON or has no number there. */
function parseNumberAt(text: string, path: readonly (string | number)[]): number {
  let node: unknown;
  try {
    node = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return Number.NaN;
  }
  for (const step of path) {
    const isMember = typeof step === "string";
    if (
      typeof node !== "object" ||
      node === null ||
      Array.isArray(node) === isMember ||
      !Object.hasOwn(node, step)
    ) {
      return Number.NaN;
    }
    node = (node as Record<string | number, unknown>)[step];
  }
  return typeof node === "number" ? node : Number.NaN;
}

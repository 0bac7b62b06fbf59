/** Decoded columns: what kernels and filters read. */

import type { MessageColumn } from "../template/message-column.ts";
import { type Bitmap, hasBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import type { Fingerprints } from "../vector/fingerprint.ts";
import { decodeText, type TextVector, textAt } from "../vector/text.ts";
import type { TextTable } from "../vector/text-table.ts";

/** A column of distinct values, with a code for each row. */
export interface DictionaryColumn {
  kind: "dictionary";
  rows: number;
  values: TextVector;
  valueCount: number;
  /** A row's code is the index of its value in `values`. The code `valueCount` means that the row lacks the field. */
  codes: Codes;
  /** The values as strings, cached by the first caller that needs them. */
  texts?: readonly string[];
  /**
   * Each value as a number, NaN where it is none, and one NaN more for the code `valueCount`. Cached by the first
   * caller that needs them.
   */
  numbers?: Float64Array;
  /**
   * Each value's hash, and one more for the code `valueCount` (no text). Cached by the first caller that needs them.
   */
  fingerprints?: Fingerprints;
  /**
   * Cached by the second caller that needs them; the first caller stores "asked".
   */
  labels?: NumberedLabels | "asked";
}

/** Numbers for the values of a column, which stand for the same labels in other columns of the field. */
export interface NumberedLabels {
  /** The labels by their numbers. Only numbers of one table can be compared. */
  table: TextTable;
  /** The number of each value. */
  numbers: Uint32Array;
}

/** A column with a text for each row. */
export interface PlainTextColumn {
  kind: "text";
  rows: number;
  /** Reading it may decompress all texts. */
  readonly text: TextVector;
  /**
   * The same, of which only the texts of the rows [from, to) are in memory, until `textOf` of any column of the thread is
   * called for other rows. Absent where all texts are in memory.
   */
  textOf?: (from: number, to: number) => TextVector;
  valid: Bitmap | null;
}

/** Returns the texts of a column, with those of the rows [from, to) in memory for as long as `textOf` says. */
export function textOfRows(column: PlainTextColumn, from: number, to: number): TextVector {
  return column.textOf?.(from, to) ?? column.text;
}

/**
 * A column in one of its decoded forms. `valid` has a bit for each row, set where the row has the field; null where all
 * rows have it.
 */
export type Column =
  | { kind: "absent"; rows: number }
  | { kind: "constant"; rows: number; value: string; valid: Bitmap | null }
  | DictionaryColumn
  /** Numbers. The text of a row is what JavaScript prints for its number. */
  | { kind: "number"; rows: number; values: Float64Array; valid: Bitmap | null }
  /** Lower-case hexadecimal text of 2 × `width` digits. */
  | { kind: "hex"; rows: number; width: number; bytes: Uint8Array; valid: Bitmap | null }
  | PlainTextColumn
  /** Messages as templates and variables. */
  | { kind: "message"; rows: number; messages: MessageColumn };

/** A column of messages as templates and variables. */
export type ColumnOf<Kind extends Column["kind"]> = Extract<Column, { kind: Kind }>;

export type TemplateColumn = ColumnOf<"message">;

/** Returns the text of one row, or undefined where the row lacks the field. */
export function columnText(column: Column, row: number): string | undefined {
  switch (column.kind) {
    case "absent":
      return undefined;
    case "constant":
      return isValid(column.valid, row) ? column.value : undefined;
    case "dictionary": {
      const code = column.codes[row]!;
      if (code === column.valueCount) return undefined;
      return column.texts === undefined ? textAt(column.values, code) : column.texts[code]!;
    }
    case "number":
      return isValid(column.valid, row) ? String(column.values[row]!) : undefined;
    case "hex":
      return isValid(column.valid, row) ? hexAt(column.bytes, column.width, row) : undefined;
    case "text":
      return isValid(column.valid, row) ? textAt(textOfRows(column, row, row + 1), row) : undefined;
    case "message": {
      const bytes = column.messages.messageAt(row);
      return decodeText(bytes, 0, bytes.byteLength);
    }
  }
}

/** Returns the values as strings, and caches them in the column. */
export function dictionaryTexts(column: DictionaryColumn): readonly string[] {
  column.texts ??= Array.from({ length: column.valueCount }, (_, code) => textAt(column.values, code));
  return column.texts;
}

/** Returns whether a row has the field. */
export function hasValue(column: Column, row: number): boolean {
  switch (column.kind) {
    case "absent":
      return false;
    case "dictionary":
      return column.codes[row] !== column.valueCount;
    case "message":
      return true;
    default:
      return isValid(column.valid, row);
  }
}

/**
 * Returns the UTF-8 bytes of one row's text, empty where the row lacks the field. They are valid until the next call.
 */
export function columnBytes(column: Column, row: number): Uint8Array {
  if (column.kind === "dictionary") {
    const code = column.codes[row]!;
    const { offsets, bytes } = column.values;
    return code === column.valueCount ? noBytes : bytes.subarray(offsets[code], offsets[code + 1]);
  }
  if (column.kind === "message") return column.messages.messageAt(row);
  if (column.kind === "text" && isValid(column.valid, row)) {
    const { offsets, bytes } = textOfRows(column, row, row + 1);
    return bytes.subarray(offsets[row], offsets[row + 1]);
  }
  return Buffer.from(columnText(column, row) ?? "", "utf8");
}

const noBytes = new Uint8Array(0);

export function isValid(valid: Bitmap | null, row: number): boolean {
  return valid === null || hasBit(valid, row);
}

function hexAt(bytes: Uint8Array, width: number, row: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + row * width, width).toString("hex");
}

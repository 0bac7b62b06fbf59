/** Decoded columns: what kernels and filters read. */
import { type Bitmap, hasBit } from "./bitmap.ts";
import type { MessageColumn } from "./template/messages.ts";
import { decodeText, type TextVector, textAt } from "./text.ts";

export type Codes = Uint8Array | Uint16Array | Uint32Array;

export type Column =
  | { kind: "absent"; rows: number }
  | { kind: "constant"; rows: number; value: string; valid: Bitmap | null }
  /** A row's code is its place in `values`; the code `valueCount` says that the row lacks the field. */
  | { kind: "dictionary"; rows: number; values: TextVector; valueCount: number; codes: Codes }
  /** Numbers whose text is what JavaScript prints for them. */
  | { kind: "number"; rows: number; values: Float64Array; valid: Bitmap | null }
  /** Lower-case hexadecimal text of 2 × `width` digits. */
  | { kind: "hex"; rows: number; width: number; bytes: Uint8Array; valid: Bitmap | null }
  | { kind: "text"; rows: number; text: TextVector; valid: Bitmap | null }
  /** Messages as templates and variables. */
  | { kind: "message"; rows: number; messages: MessageColumn };

/** Text of one row, or undefined where the row lacks the field. */
export function columnText(column: Column, row: number): string | undefined {
  switch (column.kind) {
    case "absent":
      return undefined;
    case "constant":
      return isValid(column.valid, row) ? column.value : undefined;
    case "dictionary": {
      const code = column.codes[row]!;
      return code === column.valueCount ? undefined : textAt(column.values, code);
    }
    case "number":
      return isValid(column.valid, row) ? String(column.values[row]!) : undefined;
    case "hex":
      return isValid(column.valid, row) ? hexAt(column.bytes, column.width, row) : undefined;
    case "text":
      return isValid(column.valid, row) ? textAt(column.text, row) : undefined;
    case "message": {
      const bytes = column.messages.messageAt(row);
      return decodeText(bytes, 0, bytes.byteLength);
    }
  }
}

export function dictionaryTexts(column: Extract<Column, { kind: "dictionary" }>): string[] {
  return Array.from({ length: column.valueCount }, (_, code) => textAt(column.values, code));
}

/** Bytes that a decoded column keeps alive. */
export function columnBytes(column: Column): number {
  const valid = "valid" in column && column.valid !== null ? column.valid.byteLength : 0;
  switch (column.kind) {
    case "absent":
    case "constant":
      return valid + 64;
    case "dictionary":
      return column.codes.byteLength + column.values.bytes.byteLength + column.values.offsets.byteLength;
    case "number":
      return valid + column.values.byteLength;
    case "hex":
      return valid + column.bytes.byteLength;
    case "text":
      return valid + column.text.bytes.byteLength + column.text.offsets.byteLength;
    case "message":
      return column.messages.byteLength;
  }
}

export function isValid(valid: Bitmap | null, row: number): boolean {
  return valid === null || hasBit(valid, row);
}

function hexAt(bytes: Uint8Array, width: number, row: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + row * width, width).toString("hex");
}

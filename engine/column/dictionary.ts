/** Columns of other encodings as dictionaries, for grouping: a code for each distinct text. */

import type { Heap } from "../kernels/heap.ts";
import { hasBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import { toBuffer, toTextVector } from "../vector/text.ts";
import type { Column } from "./column.ts";

/**
 * Returns whether a column can be grouped as it is: a dictionary, or a column with the same value or none in all rows.
 */
export function canGroupByCodes(column: Column): boolean {
  return (
    column.kind === "absent" ||
    column.kind === "dictionary" ||
    (column.kind === "constant" && column.valid === null)
  );
}

/** The same column as a dictionary. Its codes lie on `heap`. */
export function toDictionary(column: Column, heap: Heap): Column {
  switch (column.kind) {
    case "absent":
    case "dictionary":
      return column;
    case "constant":
      return buildDictionary(column.rows, column.valid, () => column.value, String, heap);
    case "number": {
      const { values } = column;
      return buildDictionary(column.rows, column.valid, (row) => values[row]!, String, heap);
    }
    case "hex": {
      const { width } = column;
      const bytes = toBuffer(column.bytes);
      const idOf = (row: number) => bytes.toString("latin1", row * width, (row + 1) * width);
      const textOf = (id: string) => Buffer.from(id, "latin1").toString("hex");
      return buildDictionary(column.rows, column.valid, idOf, textOf, heap);
    }
    case "text": {
      const { offsets, bytes } = column.text;
      const buffer = toBuffer(bytes);
      const keyOf = (row: number) => buffer.toString("latin1", offsets[row]!, offsets[row + 1]!);
      return buildDictionary(column.rows, column.valid, keyOf, fromLatin1, heap);
    }
    case "message": {
      const keyOf = (row: number) => toBuffer(column.messages.messageAt(row)).toString("latin1");
      return buildDictionary(column.rows, null, keyOf, fromLatin1, heap);
    }
  }
}

/**
 * The bytes as a string with a character for each byte, as a key for comparisons: decoding UTF-8 of every row would
 * take longer.
 */
/** The text of such a key. */
function fromLatin1(key: string): string {
  return Buffer.from(key, "latin1").toString("utf8");
}

/**
 * Gives each distinct key a code in the order of first occurrence. `keyOf` makes the key of a row, `textOf` the text of
 * a key.
 */
function buildDictionary<Key>(
  rows: number,
  valid: Uint8Array | null,
  keyOf: (row: number) => Key,
  textOf: (key: Key) => string,
  heap: Heap,
): Column {
  const codeOf = new Map<Key, number>();
  const wideCodes = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    if (valid !== null && !hasBit(valid, row)) continue;
    const key = keyOf(row);
    let code = codeOf.get(key);
    if (code === undefined) {
      code = codeOf.size;
      codeOf.set(key, code);
    }
    wideCodes[row] = code;
  }
  const valueCount = codeOf.size;
  if (valid !== null)
    for (let row = 0; row < rows; row++) if (!hasBit(valid, row)) wideCodes[row] = valueCount;
  const values = toTextVector(Array.from(codeOf.keys(), textOf));
  const codes = narrowCodes(wideCodes, valueCount + 1, heap);
  return { kind: "dictionary", rows, values, valueCount, codes };
}

/** A column of the given rows' values. Its codes lie on `heap`. */
export function buildSparseColumn(values: ReadonlyMap<number, string>, rows: number, heap: Heap): Column {
  if (values.size === 0) return { kind: "absent", rows };
  const distinct = [...new Set(values.values())];
  const codeOf = new Map(distinct.map((value, code) => [value, code]));
  const codes = heap.uint32(rows).fill(distinct.length);
  for (const [row, value] of values) codes[row] = codeOf.get(value)!;
  return { kind: "dictionary", rows, values: toTextVector(distinct), valueCount: distinct.length, codes };
}

/** The same codes, all below `cardinality`, in as few bytes as that allows, on a heap. */
export function narrowCodes(codes: Uint32Array, cardinality: number, heap: Heap): Codes {
  const narrow = allocateCodes(cardinality, codes.length, heap);
  narrow.set(codes);
  return narrow;
}

/** Allocates codes (zeros) in as few bytes as codes below `cardinality` need. */
export function allocateCodes(cardinality: number, rows: number, heap: Heap): Codes {
  if (cardinality <= 0x100) return heap.uint8(rows);
  return cardinality <= 0x1_0000 ? heap.uint16(rows) : heap.uint32(rows);
}

/** Columns of other encodings as dictionaries, for grouping: a code for each distinct text. */

import type { Heap } from "../kernels/heap.ts";
import { hasBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import { textVector } from "../vector/text.ts";
import type { Column } from "./column.ts";

/** Whether grouping can take a column as it is: a dictionary, or one that is the same for all rows. */
export function isDictionary(column: Column): boolean {
  return (
    column.kind === "absent" ||
    column.kind === "dictionary" ||
    (column.kind === "constant" && column.valid === null)
  );
}

/** The same column as a dictionary on a heap. */
export function asDictionary(column: Column, heap: Heap): Column {
  switch (column.kind) {
    case "absent":
    case "dictionary":
      return column;
    case "constant":
      return distinct(column.rows, column.valid, () => column.value, String, heap);
    case "number": {
      const { values } = column;
      return distinct(column.rows, column.valid, (row) => values[row]!, String, heap);
    }
    case "hex": {
      const { width } = column;
      const bytes = bufferOf(column.bytes);
      const idOf = (row: number) => bytes.toString("latin1", row * width, (row + 1) * width);
      const textOf = (id: string) => Buffer.from(id, "latin1").toString("hex");
      return distinct(column.rows, column.valid, idOf, textOf, heap);
    }
    case "text": {
      const { offsets, bytes } = column.text;
      const buffer = bufferOf(bytes);
      const keyOf = (row: number) => buffer.toString("latin1", offsets[row]!, offsets[row + 1]!);
      return distinct(column.rows, column.valid, keyOf, textOfBytes, heap);
    }
    case "message":
      return distinct(
        column.rows,
        null,
        (row) => keyOfBytes(column.messages.messageAt(row)),
        textOfBytes,
        heap,
      );
  }
}

/** Bytes are compared as they are, each a character: decoding every row would take longer. */
function keyOfBytes(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("latin1");
}

function textOfBytes(key: string): string {
  return Buffer.from(key, "latin1").toString("utf8");
}

function distinct<Key>(
  rows: number,
  valid: Uint8Array | null,
  keyOf: (row: number) => Key,
  textOf: (key: Key) => string,
  heap: Heap,
): Column {
  const codeOf = new Map<Key, number>();
  const wide = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    if (valid !== null && !hasBit(valid, row)) continue;
    const key = keyOf(row);
    let code = codeOf.get(key);
    if (code === undefined) {
      code = codeOf.size;
      codeOf.set(key, code);
    }
    wide[row] = code;
  }
  const valueCount = codeOf.size;
  if (valid !== null) for (let row = 0; row < rows; row++) if (!hasBit(valid, row)) wide[row] = valueCount;
  const values = textVector(Array.from(codeOf.keys(), textOf));
  return { kind: "dictionary", rows, values, valueCount, codes: narrowCodes(wide, valueCount + 1, heap) };
}

/** Codes below `cardinality` in as few bytes as they need, on a heap. */
export function narrowCodes(codes: Uint32Array, cardinality: number, heap: Heap): Codes {
  const narrow = codesBelow(cardinality, codes.length, heap);
  narrow.set(codes);
  return narrow;
}

/** Zeros, in as few bytes as codes below `cardinality` need. */
export function codesBelow(cardinality: number, rows: number, heap: Heap): Codes {
  if (cardinality <= 0x100) return heap.uint8(rows);
  return cardinality <= 0x1_0000 ? heap.uint16(rows) : heap.uint32(rows);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

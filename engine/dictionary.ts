/** Columns of other encodings as dictionaries, for grouping: a code for each distinct text. */
import { hasBit } from "./bitmap.ts";
import type { Codes, Column } from "./column.ts";
import { type TextVector, textVector } from "./text.ts";

/** The same column as a dictionary; absent columns, dictionaries and constants that no row lacks stay as they are. */
export function asDictionary(column: Column): Column {
  switch (column.kind) {
    case "absent":
    case "dictionary":
      return column;
    case "constant":
      return column.valid === null ? column : distinct(column.rows, column.valid, () => column.value, String);
    case "number": {
      const { values } = column;
      return distinct(column.rows, column.valid, (row) => values[row]!, String);
    }
    case "hex": {
      const { width } = column;
      const bytes = bufferOf(column.bytes);
      const idOf = (row: number) => bytes.toString("latin1", row * width, (row + 1) * width);
      return distinct(column.rows, column.valid, idOf, (id) => Buffer.from(id, "latin1").toString("hex"));
    }
    case "text":
      return distinctTexts(column.rows, column.valid, column.text);
    case "message":
      return distinctTexts(column.rows, null, column.messages.text);
  }
}

/** Bytes are compared as they are, each a character: decoding every row would take longer. */
function distinctTexts(rows: number, valid: Uint8Array | null, { offsets, bytes }: TextVector): Column {
  const buffer = bufferOf(bytes);
  const keyOf = (row: number) => buffer.toString("latin1", offsets[row]!, offsets[row + 1]!);
  return distinct(rows, valid, keyOf, (key) => Buffer.from(key, "latin1").toString("utf8"));
}

function distinct<Key>(
  rows: number,
  valid: Uint8Array | null,
  keyOf: (row: number) => Key,
  textOf: (key: Key) => string,
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
  return { kind: "dictionary", rows, values, valueCount, codes: narrowed(wide, valueCount + 1) };
}

/** Codes below `cardinality` in as few bytes as they need. */
export function narrowed(codes: Uint32Array, cardinality: number): Codes {
  if (cardinality <= 0x100) return Uint8Array.from(codes);
  return cardinality <= 0x1_0000 ? Uint16Array.from(codes) : codes;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

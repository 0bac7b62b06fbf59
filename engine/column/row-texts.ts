/** The texts of some rows of a column, as one vector. */
import { Failure } from "../failure.ts";
import type { Heap } from "../kernels/heap.ts";
import { hexDigits } from "../kernels/plain-decoding.ts";
import type { TextVector } from "../vector/text.ts";
import { type Column, type ColumnOf, columnBytes, isValid } from "./column.ts";

/** The texts of `rows` on a heap; empty where a row lacks the field. Throws Failure "damage". */
export function gatherRowTexts(column: Column, rows: Uint32Array, heap: Heap): TextVector {
  if (column.kind === "dictionary") return gatherValues(column, rows, heap);
  if (column.kind === "hex") return gatherHex(column, rows, heap);
  const offsets = heap.uint32(rows.length + 1);
  for (let i = 0; i < rows.length; i++)
    offsets[i + 1] = offsets[i]! + columnBytes(column, rows[i]!).byteLength;
  const bytes = heap.unfilled(offsets[rows.length]!);
  for (let i = 0; i < rows.length; i++) bytes.set(columnBytes(column, rows[i]!), offsets[i]!);
  return { offsets, bytes };
}

function gatherValues(column: ColumnOf<"dictionary">, rows: Uint32Array, heap: Heap): TextVector {
  const { codes, values, valueCount } = column;
  const offsets = heap.uint32(rows.length + 1);
  for (let i = 0; i < rows.length; i++) {
    const code = codes[rows[i]!]!;
    if (code > valueCount) throw new Failure("damage", "column: a code has no value");
    const length = code === valueCount ? 0 : values.offsets[code + 1]! - values.offsets[code]!;
    offsets[i + 1] = offsets[i]! + length;
  }
  const bytes = heap.unfilled(offsets[rows.length]!);
  for (let i = 0; i < rows.length; i++) {
    const code = codes[rows[i]!]!;
    if (code !== valueCount)
      bytes.set(values.bytes.subarray(values.offsets[code]!, values.offsets[code + 1]!), offsets[i]!);
  }
  return { offsets, bytes };
}

function gatherHex(column: ColumnOf<"hex">, rows: Uint32Array, heap: Heap): TextVector {
  const { width, valid } = column;
  const offsets = heap.uint32(rows.length + 1);
  for (let i = 0; i < rows.length; i++)
    offsets[i + 1] = offsets[i]! + (isValid(valid, rows[i]!) ? 2 * width : 0);
  const bytes = heap.unfilled(offsets[rows.length]!);
  for (let i = 0, at = 0; i < rows.length; i++) {
    if (offsets[i + 1] === offsets[i]) continue;
    let from = rows[i]! * width;
    for (const end = from + width; from < end; from++) {
      const byte = column.bytes[from]!;
      bytes[at++] = hexDigits[byte >> 4]!;
      bytes[at++] = hexDigits[byte & 15]!;
    }
  }
  return { offsets, bytes };
}

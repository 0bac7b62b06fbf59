/** Hashes the texts of a field in a chunk's rows, for distinct counts. */

import { columnBytes, type DictionaryColumn, hasValue, isValid } from "../column/column.ts";
import { timeMs } from "../model/day.ts";
import type { Field } from "../plan/filter.ts";
import {
  type Fingerprints,
  fingerprintHex,
  fingerprintNumber,
  fingerprintText,
  toHashSource,
} from "../vector/fingerprint.ts";
import { decodeText, textAt } from "../vector/text.ts";
import type { RowFingerprints } from "./distinct-counts.ts";
import type { FieldRead } from "./field-numbers.ts";

type HashRow = (into: Fingerprints, i: number) => void;

/** Rows hashed one by one before other queries may run. */
const rowsPerTurn = 1024;

/** The hashes of a field in the rows [from, to); undefined where no row has the field. */
export async function hashField(read: FieldRead, field: Field): Promise<RowFingerprints | undefined> {
  const { view } = read;
  const { from, to } = read.rows;
  if (field.kind === "time") {
    const { timeNs, day } = view;
    return hashRows(read, (into, i) => fingerprintNumber(into, i, timeMs(day, timeNs[from + i]!)));
  }
  const column = view.column(field);
  switch (column.kind) {
    case "absent":
      return undefined;
    case "constant": {
      const into = allocateFingerprints(2);
      hashString(into, 0, field.kind === "level" ? column.value.toLowerCase() : column.value);
      const codes = view.heap.scratch.uint8(to - from);
      const { valid } = column;
      if (valid !== null) for (let i = 0; i < codes.length; i++) codes[i] = isValid(valid, from + i) ? 0 : 1;
      return { ...into, codes };
    }
    case "dictionary": {
      const known = field.kind === "level" ? hashLevels(column) : hashDictionary(column);
      return { ...known, codes: column.codes.subarray(from, to) };
    }
    case "number": {
      const { values, valid } = column;
      return hashRows(read, (into, i) => {
        if (isValid(valid, from + i)) fingerprintNumber(into, i, values[from + i]!);
      });
    }
    case "hex": {
      const { valid, width } = column;
      const source = toHashSource(column.bytes);
      return hashRows(read, (into, i) => {
        const at = (from + i) * width;
        if (isValid(valid, from + i)) fingerprintHex(into, i, source, at, at + width);
      });
    }
    default: {
      const isLevel = field.kind === "level";
      return hashRows(read, (into, i) => {
        if (!hasValue(column, from + i)) return;
        const bytes = columnBytes(column, from + i);
        if (isLevel) hashString(into, i, decodeText(bytes, 0, bytes.byteLength).toLowerCase());
        else fingerprintText(into, i, toHashSource(bytes), 0, bytes.byteLength);
      });
    }
  }
}

/** Hashes that are all zero, which stands for a missing or empty text. */
export function allocateFingerprints(length: number): Fingerprints {
  return { low: new Uint32Array(length), high: new Uint32Array(length) };
}

export function hashString(into: Fingerprints, i: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  fingerprintText(into, i, toHashSource(bytes), 0, bytes.byteLength);
}

async function hashRows({ rows, list, yieldTurn }: FieldRead, hash: HashRow): Promise<RowFingerprints> {
  const into = allocateFingerprints(rows.to - rows.from);
  const length = list?.length ?? rows.to - rows.from;
  for (let from = 0; from < length; from += rowsPerTurn) {
    await yieldTurn();
    const to = Math.min(from + rowsPerTurn, length);
    for (let k = from; k < to; k++) hash(into, list === null ? k : list[k]!);
  }
  return { ...into, codes: null };
}

/** Hashes of a dictionary's values, cached in the column; the last one, 0, stands for rows that lack the field. */
function hashDictionary(column: DictionaryColumn): Fingerprints {
  if (column.fingerprints !== undefined) return column.fingerprints;
  const into = allocateFingerprints(column.valueCount + 1);
  const { offsets, bytes } = column.values;
  const source = toHashSource(bytes);
  for (let code = 0; code < column.valueCount; code++) {
    fingerprintText(into, code, source, offsets[code]!, offsets[code + 1]!);
  }
  column.fingerprints = into;
  return into;
}

/** Hashes of a dictionary of levels; levels that differ only in case have the same hash. */
function hashLevels(column: DictionaryColumn): Fingerprints {
  const into = allocateFingerprints(column.valueCount + 1);
  for (let code = 0; code < column.valueCount; code++) {
    hashString(into, code, textAt(column.values, code).toLowerCase());
  }
  return into;
}

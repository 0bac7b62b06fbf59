/** Hashes of a field of a chunk's rows. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnBytes, type DictionaryColumn, hasValue, isValid } from "../column/column.ts";
import { timeMs } from "../model/day.ts";
import type { Field } from "../plan/filter.ts";
import {
  type Fingerprints,
  fingerprintHex,
  fingerprintNumber,
  fingerprintText,
  hashSource,
} from "../vector/fingerprint.ts";
import { decodeText, textAt } from "../vector/text.ts";
import type { SelectedRows } from "./cells.ts";
import type { RowFingerprints } from "./distinct-counts.ts";
import type { YieldTurn } from "./field-numbers.ts";

/** Rows read one by one between two turns. */
const turnEvery = 1024;

/** Undefined where no row has the field. `list`: the selected rows, counted from the first; null for all. */
export async function fieldFingerprints(
  view: ChunkView,
  field: Field,
  { from, to }: SelectedRows,
  list: Uint32Array | null,
  turn: YieldTurn,
): Promise<RowFingerprints | undefined> {
  if (field.kind === "time") {
    const { timeNs, day } = view;
    return rowFingerprints(to - from, list, turn, (into, i) =>
      fingerprintNumber(into, i, timeMs(day, timeNs[from + i]!)),
    );
  }
  const column = view.column(field);
  switch (column.kind) {
    case "absent":
      return undefined;
    case "constant": {
      const into = emptyFingerprints(2);
      fingerprintString(into, 0, field.kind === "level" ? column.value.toLowerCase() : column.value);
      const codes = view.heap.scratch.uint8(to - from);
      const { valid } = column;
      if (valid !== null) for (let i = 0; i < codes.length; i++) codes[i] = isValid(valid, from + i) ? 0 : 1;
      return { ...into, codes };
    }
    case "dictionary": {
      const known = field.kind === "level" ? levelFingerprints(column) : valueFingerprints(column);
      return { ...known, codes: column.codes.subarray(from, to) };
    }
    case "number": {
      const { values, valid } = column;
      return rowFingerprints(to - from, list, turn, (into, i) => {
        if (isValid(valid, from + i)) fingerprintNumber(into, i, values[from + i]!);
      });
    }
    case "hex": {
      const { valid, width } = column;
      const source = hashSource(column.bytes);
      return rowFingerprints(to - from, list, turn, (into, i) => {
        const at = (from + i) * width;
        if (isValid(valid, from + i)) fingerprintHex(into, i, source, at, at + width);
      });
    }
    default: {
      const isLevel = field.kind === "level";
      return rowFingerprints(to - from, list, turn, (into, i) => {
        if (!hasValue(column, from + i)) return;
        const bytes = columnBytes(column, from + i);
        if (isLevel) fingerprintString(into, i, decodeText(bytes, 0, bytes.byteLength).toLowerCase());
        else fingerprintText(into, i, hashSource(bytes), 0, bytes.byteLength);
      });
    }
  }
}

export function emptyFingerprints(length: number): Fingerprints {
  return { low: new Uint32Array(length), high: new Uint32Array(length) };
}

export function fingerprintString(into: Fingerprints, i: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  fingerprintText(into, i, hashSource(bytes), 0, bytes.byteLength);
}

async function rowFingerprints(
  rows: number,
  list: Uint32Array | null,
  turn: YieldTurn,
  hash: (into: Fingerprints, i: number) => void,
): Promise<RowFingerprints> {
  const into = emptyFingerprints(rows);
  const length = list?.length ?? rows;
  for (let from = 0; from < length; from += turnEvery) {
    await turn();
    const to = Math.min(from + turnEvery, length);
    for (let k = from; k < to; k++) hash(into, list === null ? k : list[k]!);
  }
  return { ...into, codes: null };
}

/** Hashes of a dictionary's values; the last is that of rows that lack the field. */
function valueFingerprints(column: DictionaryColumn): Fingerprints {
  if (column.fingerprints !== undefined) return column.fingerprints;
  const into = emptyFingerprints(column.valueCount + 1);
  const { offsets, bytes } = column.values;
  const source = hashSource(bytes);
  for (let code = 0; code < column.valueCount; code++) {
    fingerprintText(into, code, source, offsets[code]!, offsets[code + 1]!);
  }
  column.fingerprints = into;
  return into;
}

/** Levels that differ in case alone are one text. */
function levelFingerprints(column: DictionaryColumn): Fingerprints {
  const into = emptyFingerprints(column.valueCount + 1);
  for (let code = 0; code < column.valueCount; code++) {
    fingerprintString(into, code, textAt(column.values, code).toLowerCase());
  }
  return into;
}

/** Group numbers of a chunk's rows: dense codes of one field, or of several together. */
import type { Codes } from "./column.ts";
import { timeMs } from "./day.ts";
import { narrowed } from "./dictionary.ts";
import type { Field } from "./filter.ts";
import type { Kernels } from "./kernels/contract.ts";
import { labelText } from "./settle.ts";
import { textAt } from "./text.ts";
import type { ChunkView } from "./view.ts";

/** Codes are below `cardinality`, and not each of them need occur. */
export interface GroupCodes {
  /** A code a row of the chunk; null: all rows have code 0. */
  codes: Codes | null;
  cardinality: number;
  /** Texts of the fields in the rows that have a code. */
  labelsOf: (code: number) => string[];
}

/** Pairs of codes beyond this many are made dense through a map rather than a table. */
const tableCellsMax = 1 << 20;
/** Pairs of codes up to this many need not be made dense: their counters fit the cache. */
const cardinalityMax = 1 << 14;

export function groupCodes(
  view: ChunkView,
  groupBy: readonly Field[],
  kernels: Kernels<ArrayBufferLike>,
): GroupCodes {
  return groupBy.reduce<GroupCodes>((before, field) => combined(before, codesOf(view, field), kernels), {
    codes: null,
    cardinality: 1,
    labelsOf: () => [],
  });
}

function codesOf(view: ChunkView, field: Field): GroupCodes {
  if (field.kind === "time") return timeCodes(view);
  const column = view.dictionary(field);
  if (column.kind === "absent") return { codes: null, cardinality: 1, labelsOf: () => [""] };
  if (column.kind === "constant") {
    const label = labelText(field, column.value);
    return { codes: null, cardinality: 1, labelsOf: () => [label] };
  }
  if (column.kind !== "dictionary") throw new Error(`column: a ${column.kind} is no dictionary`);
  const { values, valueCount, codes } = column;
  return {
    codes,
    cardinality: valueCount + 1,
    labelsOf: (code) => [labelText(field, code === valueCount ? undefined : textAt(values, code))],
  };
}

/** Times ascend, so each new millisecond is a new code. */
function timeCodes(view: ChunkView): GroupCodes {
  const codes = new Uint32Array(view.rows);
  const milliseconds: number[] = [];
  for (let row = 0; row < codes.length; row++) {
    const ms = timeMs(view.day, view.timeNs[row]!);
    if (ms !== milliseconds.at(-1)) milliseconds.push(ms);
    codes[row] = milliseconds.length - 1;
  }
  const labelsOf = (code: number) => [String(milliseconds[code]!)];
  return { codes, cardinality: milliseconds.length, labelsOf };
}

function combined(a: GroupCodes, b: GroupCodes, kernels: Kernels<ArrayBufferLike>): GroupCodes {
  const cardinality = a.cardinality * b.cardinality;
  const labelsOf = (pair: number) => [
    ...a.labelsOf(Math.floor(pair / b.cardinality)),
    ...b.labelsOf(pair % b.cardinality),
  ];
  if (a.codes === null || b.codes === null) return { codes: a.codes ?? b.codes, cardinality, labelsOf };
  if (cardinality > tableCellsMax) return densePairs(a.codes, b.codes, b.cardinality, labelsOf);
  const rows = a.codes.length;
  const pairs =
    cardinality <= 0x100
      ? new Uint8Array(rows)
      : cardinality <= 0x1_0000
        ? new Uint16Array(rows)
        : new Uint32Array(rows);
  kernels.combineCodes(a.codes, b.codes, b.cardinality, pairs);
  if (cardinality <= cardinalityMax) return { codes: pairs, cardinality, labelsOf };
  return dense(pairs, cardinality, labelsOf);
}

/** New codes without gaps for those that occur, through a table of all that could. */
function dense(pairs: Codes, cardinality: number, labelsOf: GroupCodes["labelsOf"]): GroupCodes {
  const codeOf = new Uint32Array(cardinality);
  const codes = new Uint32Array(pairs.length);
  const numbers: number[] = [];
  for (let row = 0; row < pairs.length; row++) {
    const pair = pairs[row]!;
    if (codeOf[pair] === 0) codeOf[pair] = numbers.push(pair);
    codes[row] = codeOf[pair]! - 1;
  }
  return renumbered(codes, numbers, labelsOf);
}

/** The same through a map, for pairs whose number may pass 32 bits. */
function densePairs(a: Codes, b: Codes, cardinalityB: number, labelsOf: GroupCodes["labelsOf"]): GroupCodes {
  const codeOf = new Map<number, number>();
  const codes = new Uint32Array(a.length);
  for (let row = 0; row < a.length; row++) {
    const pair = a[row]! * cardinalityB + b[row]!;
    let code = codeOf.get(pair);
    if (code === undefined) {
      code = codeOf.size;
      codeOf.set(pair, code);
    }
    codes[row] = code;
  }
  return renumbered(codes, [...codeOf.keys()], labelsOf);
}

function renumbered(codes: Uint32Array, numbers: number[], labelsOf: GroupCodes["labelsOf"]): GroupCodes {
  const cardinality = Math.max(numbers.length, 1);
  return { codes: narrowed(codes, cardinality), cardinality, labelsOf: (code) => labelsOf(numbers[code]!) };
}

/** Gives each row of a chunk a group code: one code for the fields of `groupBy` together. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { NumberedLabels } from "../column/column.ts";
import { allocateCodes, narrowCodes } from "../column/dictionary.ts";
import type { ColumnHeap, Heap } from "../kernels/heap.ts";
import { timeMs } from "../model/day.ts";
import { type Field, fieldKey } from "../plan/filter.ts";
import { toLabel } from "../summary/header-counts.ts";
import type { Codes } from "../vector/codes.ts";
import { textAt } from "../vector/text.ts";
import type { GroupTable } from "./group-table.ts";
import { numberLabels } from "./label-numbers.ts";

/** Stages the texts of the fields that a code stands for, field by field. */
type Stage = (code: number, groups: GroupTable) => void;

/** Group codes of a chunk's rows. Codes are below `cardinality`; not all of them need occur. */
export interface GroupCodes {
  /** A code for each row of the chunk; null: all rows have code 0. */
  codes: Codes | null;
  cardinality: number;
  stage: Stage;
  /** The labels of the codes by their numbers, where the group is one field of many values. The last code has no number. */
  labels?: NumberedLabels | undefined;
}

/** With more possible pairs of codes, those that occur are renumbered through a map rather than a table. */
const codeTableSizeMax = 1 << 20;
/** Up to this many possible pairs of codes are not renumbered: their counters fit the processor's cache. */
const sparseCardinalityMax = 1 << 14;

/** The group codes of a chunk's rows by the fields of `groupBy`. */
export function computeGroupCodes(view: ChunkView, groupBy: readonly Field[]): GroupCodes {
  if (groupBy.length === 1) return codesOf(view, groupBy[0]!);
  const none: GroupCodes = { codes: null, cardinality: 1, stage: () => undefined };
  return groupBy.reduce((before, field) => combineCodes(before, codesOf(view, field), view.heap), none);
}

function codesOf(view: ChunkView, field: Field): GroupCodes {
  if (field.kind === "time") return codesOfTimes(view);
  const column = view.dictionary(field);
  if (column.kind === "absent")
    return { codes: null, cardinality: 1, stage: (_, groups) => groups.stageText("") };
  if (column.kind === "constant") {
    const label = toLabel(field, column.value);
    return { codes: null, cardinality: 1, stage: (_, groups) => groups.stageText(label) };
  }
  if (column.kind !== "dictionary") throw new Error(`column: a ${column.kind} is no dictionary`);
  const { values, valueCount, codes } = column;
  const stage: Stage = (code, groups) => {
    if (code === valueCount) groups.stageText("");
    else if (field.kind === "level") groups.stageText(toLabel(field, textAt(values, code)));
    else groups.stage(values.bytes, values.offsets[code]!, values.offsets[code + 1]!);
  };
  const labels = field.kind === "attribute" ? numberLabels(fieldKey(field), column) : undefined;
  return { codes, cardinality: valueCount + 1, stage, labels };
}

/** Codes of row times in milliseconds. Times ascend, so a time that differs from the one before is a new code. */
function codesOfTimes(view: ChunkView): GroupCodes {
  const codes = view.heap.scratch.uint32(view.rows);
  const milliseconds: number[] = [];
  for (let row = 0; row < codes.length; row++) {
    const ms = timeMs(view.day, view.timeNs[row]!);
    if (ms !== milliseconds.at(-1)) milliseconds.push(ms);
    codes[row] = milliseconds.length - 1;
  }
  const stage: Stage = (code, groups) => groups.stageText(String(milliseconds[code]!));
  return { codes, cardinality: milliseconds.length, stage };
}

function combineCodes(a: GroupCodes, b: GroupCodes, { kernels, scratch }: ColumnHeap): GroupCodes {
  const cardinality = a.cardinality * b.cardinality;
  const stage: Stage = (pair, groups) => {
    a.stage(Math.floor(pair / b.cardinality), groups);
    b.stage(pair % b.cardinality, groups);
  };
  if (a.codes === null || b.codes === null) return { codes: a.codes ?? b.codes, cardinality, stage };
  if (cardinality > codeTableSizeMax) return renumberByMap(a.codes, b.codes, b.cardinality, stage, scratch);
  const pairs = allocateCodes(cardinality, a.codes.length, scratch);
  kernels.combineCodes(a.codes, b.codes, b.cardinality, pairs);
  if (cardinality <= sparseCardinalityMax) return { codes: pairs, cardinality, stage };
  return renumberByTable(pairs, cardinality, stage, scratch);
}

/** Renumbers the pairs that occur without gaps, through a table of all possible pairs. */
function renumberByTable(pairs: Codes, cardinality: number, stage: Stage, heap: Heap): GroupCodes {
  const codeOf = new Uint32Array(cardinality);
  const codes = new Uint32Array(pairs.length);
  const numbers: number[] = [];
  for (let row = 0; row < pairs.length; row++) {
    const pair = pairs[row]!;
    if (codeOf[pair] === 0) codeOf[pair] = numbers.push(pair);
    codes[row] = codeOf[pair]! - 1;
  }
  return toGroupCodes(codes, numbers, stage, heap);
}

/** Renumbers the pairs that occur without gaps, through a map, because the number of a pair may exceed 32 bits. */
function renumberByMap(a: Codes, b: Codes, cardinalityB: number, stage: Stage, heap: Heap): GroupCodes {
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
  return toGroupCodes(codes, [...codeOf.keys()], stage, heap);
}

function toGroupCodes(codes: Uint32Array, numbers: number[], stage: Stage, heap: Heap): GroupCodes {
  const cardinality = Math.max(numbers.length, 1);
  return {
    codes: narrowCodes(codes, cardinality, heap),
    cardinality,
    stage: (code, groups) => stage(numbers[code]!, groups),
  };
}

/** Compiles a filter to a block filter of one chunk. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { type Column, type ColumnOf, type DictionaryColumn, dictionaryTexts } from "../column/column.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import { timeMs } from "../model/day.ts";
import type { CompareOp, Filter } from "../plan/filter.ts";
import { type Bitmap, clearBit } from "../vector/bitmap.ts";
import { compileArrivalFilter } from "./arrival-filter.ts";
import {
  type BlockFilter,
  type Checkpoint,
  type FilterScope,
  keepFoundRows,
  matchAll,
  matchAny,
  matchNot,
  passAll,
  passNone,
} from "./block-filter.ts";
import { compileMessageFilter, compilePatternFilter } from "./message-filter.ts";
import { compileValueTest, type LeafFilter, type ValueTest } from "./predicate.ts";
import { filterRows, filterValues } from "./row-filter.ts";
import { compileTextFilter } from "./text-filter.ts";

/** Whether a filter runs only on kernels, so that a whole chunk may be filtered as one block. */
export function isVectorised(filter: Filter): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.of.every(isVectorised);
    case "not":
      return isVectorised(filter.of);
    case "matches":
      return false;
    default:
      return !("field" in filter) || filter.field.kind !== "time";
  }
}

/**
 * Compiles a filter for one chunk; tests of dictionary values run once here, not once per row. Throws Failure "input"
 * for a pattern that is not RE2.
 */
export function compileFilter(filter: Filter, view: ChunkView, checkpoint: Checkpoint): BlockFilter {
  return compile(filter, { view, checkpoint });
}

/** The selection of all rows in [rowFrom, rowTo), for a block that begins at row `from`. */
export function selectRows(heap: ColumnHeap, from: number, rowFrom: number, rowTo: number): Bitmap {
  const rows = rowTo - from;
  const selection = heap.scratch.uint8((rows + 7) >> 3);
  heap.kernels.not(selection, rows);
  for (let row = from; row < rowFrom; row++) clearBit(selection, row - from);
  return selection;
}

function compile(filter: Filter, scope: FilterScope): BlockFilter {
  switch (filter.kind) {
    case "always":
      return passAll;
    case "never":
      return passNone;
    case "and":
      return matchAll(compileAll(filter.of, scope), scope.view.heap);
    case "or":
      return matchAny(compileAll(filter.of, scope), scope.view.heap);
    case "not":
      return matchNot(compile(filter.of, scope), scope.view.heap);
    case "arrived":
      return compileArrivalFilter(filter.numbers, scope.view);
    default:
      return compileLeaf(filter, scope);
  }
}

function compileAll(filters: readonly Filter[], scope: FilterScope): BlockFilter[] {
  return filters.map((filter) => compile(filter, scope));
}

function compileLeaf(filter: LeafFilter, scope: FilterScope): BlockFilter {
  const { view } = scope;
  const { field } = filter;
  if (field.kind === "time") return compileTimeFilter(filter, view);
  if (field.kind === "message" && filter.kind === "matches") {
    const column = view.column(field);
    return compilePatternFilter(filter, column, {
      ...scope,
      compile: (part) => compile(part, scope),
      byValue: () => compileValues(filter, column, scope),
    });
  }
  return compileValues(filter, view.column(field), scope);
}

function compileValues(filter: LeafFilter, column: Column, scope: FilterScope): BlockFilter {
  const { view, checkpoint } = scope;
  switch (column.kind) {
    case "absent":
      return compileValueTest(filter)(undefined) ? passAll : passNone;
    case "dictionary":
      return filter.kind === "equals" && filter.value !== "" && filter.field.kind !== "level"
        ? compileCodeFilter(column, codeOf(column, filter.value), view.heap)
        : compileDictionaryFilter(column, compileValueTest(filter), view.heap);
    case "message":
      return compileMessageFilter(filter, column, scope);
    case "text":
      return (
        compileTextFilter(filter, column, scope) ?? filterValues(column, compileValueTest(filter), checkpoint)
      );
    case "number":
      if (filter.kind !== "compares" || filter.unit !== undefined) break;
      return compileNumberFilter(column, filter.op, filter.number, view.heap);
    case "hex":
      // Levels of two digits, such as pino's, are stored as ids are; what is asked for may be the name of their range.
      if (filter.kind !== "equals" || filter.value === "" || filter.field.kind === "level") break;
      return compileIdFilter(column, filter.value, view.heap);
    case "constant":
      return compileConstantFilter(column, compileValueTest(filter), view.heap);
  }
  return filterValues(column, compileValueTest(filter), checkpoint);
}

function compileDictionaryFilter(column: DictionaryColumn, test: ValueTest, heap: ColumnHeap): BlockFilter {
  const passes = Uint8Array.from([...dictionaryTexts(column).map(test), test(undefined)], Number);
  const first = passes.indexOf(1);
  if (first < 0) return passNone;
  if (!passes.includes(0)) return passAll;
  if (passes.indexOf(1, first + 1) < 0) return compileCodeFilter(column, first, heap);
  return keepFoundRows(heap, (from, rows, found) => {
    heap.kernels.codesInTable(column.codes.subarray(from, from + rows), passes, found);
  });
}

function compileCodeFilter(
  column: DictionaryColumn,
  code: number | undefined,
  heap: ColumnHeap,
): BlockFilter {
  const { codes } = column;
  if (code === undefined) return passNone;
  return keepFoundRows(heap, (from, rows, found) => {
    heap.kernels.equalCodes(codes.subarray(from, from + rows), code, found);
  });
}

/** The code of a value, found by comparing bytes: decoding the texts of a large dictionary takes far longer. */
function codeOf({ values, valueCount }: DictionaryColumn, value: string): number | undefined {
  // A lone surrogate has no UTF-8, so no stored text contains it.
  if (!value.isWellFormed()) return undefined;
  const wanted = Buffer.from(value, "utf8");
  const { offsets, bytes } = values;
  for (let code = 0; code < valueCount; code++) {
    const from = offsets[code]!;
    if (offsets[code + 1]! - from !== wanted.length) continue;
    let at = 0;
    while (at < wanted.length && bytes[from + at] === wanted[at]) at++;
    if (at === wanted.length) return code;
  }
  return undefined;
}

function compileConstantFilter(column: ColumnOf<"constant">, test: ValueTest, heap: ColumnHeap): BlockFilter {
  const { value, valid } = column;
  const present = test(value);
  const absent = test(undefined);
  if (valid === null || present === absent) return present ? passAll : passNone;
  return ({ from, selection }) => {
    const bits = valid.subarray(from >> 3, (from >> 3) + selection.length);
    if (present) heap.kernels.and(selection, bits);
    else heap.kernels.andNot(selection, bits);
  };
}

function compileNumberFilter(
  { values, valid }: ColumnOf<"number">,
  op: CompareOp,
  number: number,
  heap: ColumnHeap,
): BlockFilter {
  const isLow = op === ">" || op === ">=";
  const range = {
    low: isLow ? number : Number.NEGATIVE_INFINITY,
    high: isLow ? Number.POSITIVE_INFINITY : number,
    lowOpen: op === ">",
    highOpen: op === "<",
  };
  return keepFoundRows(heap, (from, rows, found) => {
    const bits = valid?.subarray(from >> 3, (from >> 3) + found.length) ?? null;
    heap.kernels.numbersInRange(values.subarray(from, from + rows), range, bits, found);
  });
}

/** Compares ids as bytes: formatting them as text costs a hundred times as much. */
function compileIdFilter(column: ColumnOf<"hex">, value: string, heap: ColumnHeap): BlockFilter {
  const { bytes, width, valid } = column;
  if (value.length !== width * 2 || !/^[0-9a-f]+$/.test(value)) return passNone;
  const id = Buffer.from(value, "hex");
  return keepFoundRows(heap, (from, rows, found) => {
    heap.kernels.equalIds(bytes.subarray(from * width, (from + rows) * width), id, found);
    if (valid !== null) heap.kernels.and(found, valid.subarray(from >> 3, (from >> 3) + found.length));
  });
}

/** Filters by the text of a row's time. */
function compileTimeFilter(filter: LeafFilter, view: ChunkView): BlockFilter {
  const test = compileValueTest(filter);
  const { timeNs, day } = view;
  return filterRows((row) => test(formatTime(day, timeNs[row]!)));
}

/** The text of a time: whole milliseconds since the epoch. `timeNs` counts from the start of the day. */
export function formatTime(day: number, timeNs: number): string {
  return String(timeMs(day, timeNs));
}

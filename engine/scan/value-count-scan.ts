/** Counts the rows of each value of every field, on one thread. */

import type { ChunkRef, DamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import { type Column, columnText, hasValue } from "../column/column.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import { blockRows, countedKeysMax, countedValuesMax } from "../limits.ts";
import type { Field } from "../plan/filter.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { emptyScanStatistics } from "../plan/scan-statistics.ts";
import {
  answerFrom,
  type ChunkScan,
  eachChunk,
  fromColumns,
  type OpenChunk,
} from "../summary/answer-source.ts";
import { toLabel } from "../summary/header-counts.ts";
import { textAt } from "../vector/text.ts";
import { type ChunkMatch, matchedRowNumbers, matchRows } from "./matched-rows.ts";

/** Asks how many of the matching rows of some chunks have each value of each field. */
export interface ValueCountTask extends SelectionTask {
  kind: "values";
  /** A field with more values than this is left out. */
  valuesMax: number;
}

/** Values of one field, and the rows of each. */
interface CountedField {
  /** `level`, `template`, or `attribute` with its key. */
  field: Field;
  /** Undefined where the field has too many values. */
  values: string[] | undefined;
  counts: number[];
}

export interface ValueCountAnswer extends ScanAnswer {
  rows: number;
  fields: CountedField[];
  /** False where there were more attribute keys than are counted. */
  isWhole: boolean;
}

/** Rows by value; undefined once there were too many values. */
type FieldValues = Map<string, number> | undefined;

type CountableField = Exclude<Field, { kind: "time" | "message" }>;

/** A count on one thread. */
interface ValueCount extends ChunkScan {
  task: ValueCountTask;
  /** Steps from the first extraction on, if there is one. */
  extraction: RowSteps | undefined;
  level: FieldValues;
  template: FieldValues;
  attributes: Map<string, FieldValues>;
  /** Values of all fields together. */
  held: number;
  rows: number;
  isWhole: boolean;
}

/** Counts the values in all chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function countFieldValues(task: ValueCountTask, access: ChunkAccess): Promise<ValueCountAnswer> {
  const count = createValueCount(task, access);
  await answerFrom([eachChunk(count, [fromColumns((chunk) => countChunk(count, chunk))])], task);
  return finishValueCount(count);
}

/** Finds the chunks that may have matching rows, by their statistics: they must be read. Throws as `countFieldValues`. */
export async function pruneValueCount(
  task: ValueCountTask,
  access: ChunkAccess,
): Promise<{ answer: ValueCountAnswer; residual: readonly ChunkRef[] }> {
  const count = createValueCount(task, access);
  const residual = await answerFrom([eachChunk(count, [])], task);
  return { answer: finishValueCount(count), residual };
}

function createValueCount(task: ValueCountTask, access: ChunkAccess): ValueCount {
  const { filters, rest } = splitSteps(task.steps);
  const scanned = emptyScanStatistics();
  const damaged: DamagedChunk[] = [];
  return {
    ...{ ...access, task, scanned, damaged, held: 0, rows: 0, isWhole: true },
    filter: { kind: "and", of: filters },
    extraction: rest.length === 0 ? undefined : compileRowSteps(rest),
    ...{ level: new Map(), template: new Map(), attributes: new Map() },
  };
}

function finishValueCount(count: ValueCount): ValueCountAnswer {
  const { scanned, damaged } = count;
  return { rows: count.rows, fields: listFields(count), isWhole: count.isWhole, scanned, damaged };
}

function listFields({ level, template, attributes }: ValueCount): CountedField[] {
  return [
    toCounted({ kind: "level" }, level),
    toCounted({ kind: "template" }, template),
    ...Array.from(attributes, ([key, values]) => toCounted({ kind: "attribute", key }, values)),
  ];
}

function toCounted(field: Field, values: FieldValues): CountedField {
  if (values === undefined) return { field, values, counts: [] };
  return { field, values: [...values.keys()], counts: [...values.values()] };
}

async function countChunk(count: ValueCount, chunk: OpenChunk): Promise<void> {
  const { task, extraction, scanned } = count;
  scanned.chunks++;
  const { matched, scannedRows } = await matchRows(chunk, task, count);
  if (matched.rows > 0) {
    if (extraction !== undefined) await countExtracted(count, matched, extraction);
    else await countColumns(count, matched);
  }
  scanned.rows += scannedRows;
  scanned.bytes += chunk.view.readBytes;
  checkCaps(task.control, {
    columnBytes: chunk.view.decodedBytes,
    stateBytes: 0,
    scannedRows: scanned.rows,
  });
}

/** Takes rows one by one through the steps, since extracted attributes differ from row to row. */
async function countExtracted(count: ValueCount, matched: ChunkMatch, passes: RowSteps): Promise<void> {
  const { task, yieldThread } = count;
  const { view } = matched;
  const templates = view.column({ kind: "template" });
  let taken = 0;
  for (const row of matchedRowNumbers(matched)) {
    if (++taken % blockRows === 0) {
      checkControl(task.control);
      await yieldThread();
    }
    const state = new RowState(view, row);
    if (!passes(state)) continue;
    count.rows++;
    addRows(count, { kind: "level" }, toLabel({ kind: "level" }, state.level), 1);
    addRows(count, { kind: "template" }, columnText(templates, row), 1);
    for (const [key, value] of state.attributes) addRows(count, { kind: "attribute", key }, value, 1);
  }
}

async function countColumns(count: ValueCount, matched: ChunkMatch): Promise<void> {
  const { view } = matched;
  const { task, yieldThread } = count;
  count.rows += matched.rows;
  for (const [i, { role, key }] of view.header.columns.all().entries()) {
    if (role === "attribute") countColumn(count, { kind: "attribute", key }, matched, i);
    else if (role === "level") countColumn(count, { kind: "level" }, matched, i);
    else if (role === "message") countColumn(count, { kind: "template" }, matched);
    else if (role === "rest") countOverflow(count, view.overflow, matched);
    checkControl(task.control);
    await yieldThread();
  }
}

/** Counts one column: from its header where all rows of the chunk match and the header lists the values. */
function countColumn(count: ValueCount, field: CountableField, matched: ChunkMatch, index?: number): void {
  const { view } = matched;
  if (valuesOf(count, field) === undefined) return;
  const listed = matched.rows === view.rows && index !== undefined ? view.listedValues(index) : undefined;
  if (listed !== undefined) {
    for (const [value, rows] of listed) addRows(count, field, toLabel(field, value), rows);
    return;
  }
  const column = view.column(field);
  if (column.kind === "dictionary") {
    const codes = column.codes.subarray(matched.from, matched.to);
    const counts = view.heap.scratch.uint32(column.valueCount + 1);
    view.heap.kernels.countGroups(codes, matched.selection, counts);
    for (let code = 0; code < column.valueCount; code++) {
      if (counts[code]! > 0)
        addRows(count, field, toLabel(field, textAt(column.values, code)), counts[code]!);
    }
  } else countTexts(count, field, column, matched);
}

/** Counts a column without a dictionary row by row, until it has too many values. */
function countTexts(count: ValueCount, field: CountableField, column: Column, matched: ChunkMatch): void {
  if (column.kind === "constant" && column.valid === null) {
    addRows(count, field, toLabel(field, column.value), matched.rows);
    return;
  }
  for (const row of matchedRowNumbers(matched)) {
    if (!hasValue(column, row)) continue;
    addRows(count, field, toLabel(field, columnText(column, row)), 1);
    if (valuesOf(count, field) === undefined) return;
  }
}

/** Counts the attributes in the overflow column, which the rarest keys of a chunk share. */
function countOverflow(count: ValueCount, column: Column, matched: ChunkMatch): void {
  for (const row of matchedRowNumbers(matched)) {
    const text = columnText(column, row);
    if (text === undefined) continue;
    for (const [key, value] of parseOverflow(text)) addRows(count, { kind: "attribute", key }, value, 1);
  }
}

/** The values of a field so far; undefined where there were too many. */
function valuesOf(count: ValueCount, field: CountableField): FieldValues {
  if (field.kind !== "attribute") return count[field.kind];
  const { attributes } = count;
  if (!attributes.has(field.key)) {
    if (attributes.size >= countedKeysMax) {
      count.isWhole = false;
      return undefined;
    }
    attributes.set(field.key, new Map());
  }
  return attributes.get(field.key);
}

function addRows(count: ValueCount, field: CountableField, value: string | undefined, rows: number): void {
  const values = valuesOf(count, field);
  if (value === undefined || values === undefined) return;
  const known = values.get(value);
  if (known === undefined) {
    const isFull = field.kind !== "template" && values.size >= count.task.valuesMax;
    if (isFull || count.held >= countedValuesMax) {
      count.held -= values.size;
      if (field.kind === "attribute") count.attributes.set(field.key, undefined);
      else count[field.kind] = undefined;
      return;
    }
    count.held++;
  }
  values.set(value, (known ?? 0) + rows);
}

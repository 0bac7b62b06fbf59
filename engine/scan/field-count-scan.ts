/**
 * Counts how many rows have each field, on one thread: from chunk headers or templates where they tell it, else from the
 * columns.
 */

import { type ChunkRef, chunkSize, type DamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { type Column, columnText, dictionaryTexts } from "../column/column.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { isMessageTextFilter } from "../filter/message-search.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import { blockRows, countedKeysMax } from "../limits.ts";
import { clampToDay } from "../model/day-range.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { countSkippedChunk, emptyScanStatistics } from "../plan/scan-statistics.ts";
import {
  answerFrom,
  type ChunkAnswerSource,
  type ChunkScan,
  eachChunk,
  fromColumns,
  type OpenChunk,
} from "../summary/answer-source.ts";
import { countAttributeRows } from "../summary/attribute-groups.ts";
import type { KnownGroups, TemplateCounts } from "../summary/template-counts.ts";
import { passAll } from "../summary/template-groups.ts";
import { type ChunkMatch, matchedRowNumbers, matchRows } from "./matched-rows.ts";

/** Asks how many of the matching rows of some chunks have each field. */
export interface FieldCountTask extends SelectionTask {
  kind: "fields";
}

export interface FieldCountAnswer extends ScanAnswer {
  rows: number;
  /** Rows with a level that is not empty. */
  levels: number;
  /** Attribute keys. */
  keys: string[];
  /** For each key the rows that have it. */
  counts: number[];
  /** False where there were more keys than are matched. */
  isWhole: boolean;
}

/** A count on one thread. */
interface FieldCount extends ChunkScan {
  task: FieldCountTask;
  /** Steps from the first extraction on, if there is one. */
  extraction: RowSteps | undefined;
  /** Rows that have each attribute key. */
  keys: Map<string, number>;
  answer: FieldCountAnswer;
}

/** Counts the fields of all chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function countFields(task: FieldCountTask, access: ChunkAccess): Promise<FieldCountAnswer> {
  const count = createFieldCount(task, access);
  await answerFrom(
    [eachChunk(count, [fromHeader(count), fromColumns((chunk) => countChunk(count, chunk))])],
    task,
  );
  return finishFieldCount(count);
}

/**
 * Counts the fields of chunks whose headers or templates tell them; `residual` are the chunks that must be read. Throws as
 * `countFields`.
 */
export async function countFieldsFromMetadata(
  task: FieldCountTask,
  access: ChunkAccess,
  templates: TemplateCounts,
): Promise<{ answer: FieldCountAnswer; residual: readonly ChunkRef[] }> {
  const count = createFieldCount(task, access);
  const sources = [fromHeader(count), fromTemplates(count, templates)];
  const residual = await answerFrom([eachChunk(count, sources)], task);
  return { answer: finishFieldCount(count), residual };
}

function createFieldCount(task: FieldCountTask, access: ChunkAccess): FieldCount {
  const { filters, rest } = splitSteps(task.steps);
  const scanned = emptyScanStatistics();
  const damaged: DamagedChunk[] = [];
  return {
    ...{ ...access, task, scanned, damaged },
    filter: { kind: "and", of: filters },
    extraction: rest.length === 0 ? undefined : compileRowSteps(rest),
    keys: new Map(),
    answer: { rows: 0, levels: 0, keys: [], counts: [], isWhole: true, scanned, damaged },
  };
}

function finishFieldCount({ answer, keys }: FieldCount): FieldCountAnswer {
  return { ...answer, keys: [...keys.keys()], counts: [...keys.values()] };
}

/** Counts a chunk from its header, where all rows pass and every key has a column of its own. */
function fromHeader(count: FieldCount): ChunkAnswerSource {
  return ({ ref, view, residual }) => {
    if (residual.length > 0 || !mayCountWhole(count, view)) return false;
    const { answer } = count;
    const { header, rows } = view;
    const levels = view.listedValues(header.columns.find("level"));
    const levelless = levels && countOf(levels, "");
    if (levelless === undefined) return false;
    answer.rows += rows;
    answer.levels += rows - levelless;
    for (const { role, key, present } of header.columns.all())
      if (role === "attribute") addKey(count, key, present);
    countSkippedChunk(count.scanned, chunkSize(ref));
    return true;
  };
}

/**
 * Counts a chunk from its templates, where these tell which rows pass and which attributes the rows of each template have.
 */
function fromTemplates(count: FieldCount, templates: TemplateCounts): ChunkAnswerSource {
  return ({ ref, view, residual }) => {
    if (!mayCountWhole(count, view) || !residual.every(isMessageTextFilter)) return false;
    const known = templates.groupsOf(residual, ref, view);
    if (known === undefined) return false;
    const found = countPassing(known);
    if (found.rows > 0) {
      const attributes = templates.attributesOf(ref);
      if (attributes === undefined) return false;
      for (const { role, key, present } of view.header.columns.all())
        if (role === "attribute" && present === view.rows) addKey(count, key, found.rows);
      const counts = countAttributeRows(attributes, known.passing);
      for (const [i, key] of attributes.keys.entries()) addKey(count, key, counts[i]!);
    }
    count.answer.rows += found.rows;
    count.answer.levels += found.levels;
    count.scanned.chunksCounted++;
    countSkippedChunk(count.scanned, chunkSize(ref));
    return true;
  };
}

/** The rows of the templates that pass, and those of them with a level that is not empty. */
function countPassing({ groups, passing }: KnownGroups): Pick<FieldCountAnswer, "rows" | "levels"> {
  const { templates, levels, rows, levelTexts } = groups;
  const hasLevel = levelTexts.map((text) => text !== undefined && text !== "");
  const sum = { rows: 0, levels: 0 };
  for (let i = 0; i < rows.length; i++) {
    if (!passAll(passing, templates[i]!)) continue;
    sum.rows += rows[i]!;
    if (hasLevel[levels[i]!]!) sum.levels += rows[i]!;
  }
  return sum;
}

/** Whether all rows of a chunk are in the range, no extraction changes them, and each attribute has a column of its own. */
function mayCountWhole({ task, extraction }: FieldCount, { day, header }: ChunkView): boolean {
  const range = clampToDay(task.fromNs, task.toNs, day);
  const isWhole = header.timeNsMin >= range.from && header.timeNsMax < range.to;
  return isWhole && extraction === undefined && header.columns.find("rest") < 0;
}

function countOf(values: readonly [string, number][], text: string): number {
  return values.find(([value]) => value === text)?.[1] ?? 0;
}

async function countChunk(count: FieldCount, chunk: OpenChunk): Promise<void> {
  const { view } = chunk;
  const { task, extraction, scanned } = count;
  scanned.chunks++;
  const { matched, scannedRows } = await matchRows(chunk, task, count);
  if (matched.rows > 0) {
    if (extraction !== undefined) await countExtracted(count, matched, extraction);
    else await countColumns(count, matched);
  }
  scanned.rows += scannedRows;
  scanned.bytes += view.readBytes;
  checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes: 0, scannedRows: scanned.rows });
}

/** Takes rows one by one through the steps, since extracted attributes differ from row to row. */
async function countExtracted(count: FieldCount, matched: ChunkMatch, passes: RowSteps): Promise<void> {
  const { task, yieldThread, answer } = count;
  let taken = 0;
  for (const row of matchedRowNumbers(matched)) {
    if (++taken % blockRows === 0) {
      checkControl(task.control);
      await yieldThread();
    }
    const state = new RowState(matched.view, row);
    if (!passes(state)) continue;
    answer.rows++;
    if (state.level !== "") answer.levels++;
    for (const [key] of state.attributes) addKey(count, key, 1);
  }
}

async function countColumns(count: FieldCount, matched: ChunkMatch): Promise<void> {
  const { view } = matched;
  const { task, yieldThread, answer } = count;
  answer.rows += matched.rows;
  for (const { role, key, present } of view.header.columns.all()) {
    if (role === "attribute") {
      const isInEveryRow = present === view.rows;
      const rows = isInEveryRow
        ? matched.rows
        : presentRows(view.column({ kind: "attribute", key }), matched);
      addKey(count, key, rows);
    } else if (role === "level") answer.levels += levelRows(view.column({ kind: "level" }), matched);
    else if (role === "rest") countOverflow(count, view.overflow, matched);
    checkControl(task.control);
    await yieldThread();
  }
}

/** Counts the matching rows that have a value. */
function presentRows(column: Column, matched: ChunkMatch): number {
  const { view, from, to, selection, rows } = matched;
  const { kernels, scratch } = view.heap;
  switch (column.kind) {
    case "absent":
      return 0;
    case "message":
      return rows;
    case "dictionary": {
      const present = scratch.uint8(selection.length);
      kernels.unequalCodes(column.codes.subarray(from, to), column.valueCount, present);
      kernels.and(present, selection);
      return kernels.countBits(present);
    }
    default: {
      if (column.valid === null) return rows;
      const present = scratch.place(column.valid.subarray(from >> 3, (to + 7) >> 3));
      kernels.and(present, selection);
      return kernels.countBits(present);
    }
  }
}

/** Counts the matching rows with a level that is not empty. */
function levelRows(column: Column, matched: ChunkMatch): number {
  if (column.kind === "constant" && column.value === "") return 0;
  const present = presentRows(column, matched);
  if (column.kind !== "dictionary") return present - countEmptyTexts(column, matched);
  const empty = dictionaryTexts(column).indexOf("");
  if (empty < 0) return present;
  const { view, from, to, selection } = matched;
  const { kernels, scratch } = view.heap;
  const levelless = scratch.uint8(selection.length);
  kernels.equalCodes(column.codes.subarray(from, to), empty, levelless);
  kernels.and(levelless, selection);
  return present - kernels.countBits(levelless);
}

/** Counts the matching rows whose text is empty, in a column of many different texts. */
function countEmptyTexts(column: Column, matched: ChunkMatch): number {
  if (column.kind !== "text") return 0;
  let count = 0;
  for (const row of matchedRowNumbers(matched)) if (columnText(column, row) === "") count++;
  return count;
}

/** Counts the keys in the overflow column, which the rarest keys of a chunk share. */
function countOverflow(count: FieldCount, column: Column, matched: ChunkMatch): void {
  for (const row of matchedRowNumbers(matched)) {
    const text = columnText(column, row);
    if (text !== undefined) for (const [key] of parseOverflow(text)) addKey(count, key, 1);
  }
}

function addKey({ keys, answer }: FieldCount, key: string, rows: number): void {
  const known = keys.get(key);
  if (known === undefined && (rows === 0 || keys.size >= countedKeysMax)) {
    if (rows > 0) answer.isWhole = false;
    return;
  }
  keys.set(key, (known ?? 0) + rows);
}

/** Finds the first matching rows of some chunks in an order, on one thread. */

import { type ChunkRef, chunkSize, extentOf } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { BlockFilter } from "../filter/block-filter.ts";
import { beginStatistics, compileConditions } from "../filter/condition-counter.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import { isVectorised, selectRows } from "../filter/selection.ts";
import { blockRows, resultBytesMax } from "../limits.ts";
import { timeInDay } from "../model/day.ts";
import { clampToDay } from "../model/day-range.ts";
import type { RowPosition } from "../model/row.ts";
import type { Filter, Step } from "../plan/filter.ts";
import { capAnswerBytes, checkCaps, checkControl } from "../plan/query-control.ts";
import type { RowOrder } from "../plan/row-query.ts";
import { countSkippedChunk } from "../plan/scan-statistics.ts";
import {
  answerFrom,
  type ChunkAnswerSource,
  type ChunkScan,
  eachChunk,
  fromColumns,
  type OpenChunk,
} from "../summary/answer-source.ts";
import { type CountTextRows, countFromHeader } from "../summary/header-counts.ts";
import type { CountTexts } from "../summary/template-counts.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import { FirstRows, finishRow } from "./first-rows.ts";
import { type FoundRows, gatherRows } from "./found-rows.ts";

/** Asks for the first matching rows of some chunks, which stand in about the order of their rows. */
export interface SearchTask extends SelectionTask {
  kind: "search";
  order: RowOrder;
  after: RowPosition | undefined;
  limit: number;
}

export interface SearchAnswer extends ScanAnswer {
  rows: FoundRows;
}

/** Finds the first matching rows of all chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function scanFirstRows(task: SearchTask, access: ChunkAccess): Promise<SearchAnswer> {
  const search = createSearch(task, access);
  await answerFrom([eachChunk(search, [fromColumns((chunk) => searchChunk(search, chunk))])], task);
  return search.useColumns(() => finishSearch(search));
}

/** What the query thread knows of a search before any column is read. */
export interface PrunedSearch {
  /** Without rows: it says what was skipped and what is damaged. */
  answer: SearchAnswer;
  /** Chunks that may hold matching rows. */
  residual: readonly ChunkRef[];
  /** Rows of the first residual chunk that pass the filters, whatever their time; 0 where that is not known. */
  rowsInFirst: number;
}

/** Leaves out chunks without matching rows; `countTexts` counts the rows that hold a text. Throws as `scanFirstRows`. */
export async function pruneSearch(
  task: SearchTask,
  access: ChunkAccess,
  countTexts: CountTexts,
): Promise<PrunedSearch> {
  const search = createSearch(task, access);
  let rowsInFirst: number | undefined;
  const fromTemplates: ChunkAnswerSource = ({ ref, view, residual }) => {
    const textRows = countTexts(residual, ref, view);
    if (textRows === undefined) {
      search.conditions?.noteTextExcluded(residual, view);
      countSkippedChunk(search.scanned, chunkSize(ref));
      return true;
    }
    rowsInFirst ??= search.extraction.length === 0 ? passingRows(residual, view, textRows) : 0;
    return false;
  };
  const residual = await answerFrom([eachChunk(search, [fromTemplates])], task);
  return { answer: finishSearch(search), residual, rowsInFirst: rowsInFirst ?? 0 };
}

/** A search on one thread. */
interface FirstRowsSearch extends ChunkScan {
  task: SearchTask;
  first: FirstRows;
  /** Steps from the first extraction on. */
  extraction: readonly Step[];
}

function createSearch(task: SearchTask, access: ChunkAccess): FirstRowsSearch {
  const { filters, rest } = splitSteps(task.steps);
  const first = new FirstRows(task.limit, task.order);
  const filter: Filter = { kind: "and", of: filters };
  const isNewestFirst = task.order === "newest";
  return {
    ...access,
    task,
    first,
    filter,
    extraction: rest,
    isNeeded: (ref) => {
      const { timeNsMin, timeNsMax } = extentOf(ref);
      return first.admits(ref.day, isNewestFirst ? timeNsMax : timeNsMin);
    },
    ...beginStatistics(filter, task),
    damaged: [],
  };
}

function finishSearch({ task, first, open, scanned, damaged }: FirstRowsSearch): SearchAnswer {
  const isFull = (bytes: number) => checkRowBytes(task, bytes);
  return { rows: gatherRows(first.finish(), open, damaged, isFull), scanned, damaged };
}

async function searchChunk(state: FirstRowsSearch, { ref, view, residual }: OpenChunk): Promise<void> {
  const { task, first, extraction, scanned } = state;
  const { day } = view;
  const range = clampToDay(task.fromNs, task.toNs, day);
  scanned.chunks++;
  const checkpoint = () => checkControl(task.control);
  const search: BlockSearch = {
    ref,
    first,
    isNewestFirst: task.order === "newest",
    isBehind: behind(task, view),
    filter: compileConditions(residual, view, checkpoint, state.conditions),
    extract: extraction.length === 0 ? undefined : compileRowSteps([...extraction]),
  };
  const rowsAtATime = residual.every(isVectorised) && extraction.length === 0 ? view.rows : blockRows;
  const rowFrom = lowerBound(view.timeNs, range.from);
  const rowTo = lowerBound(view.timeNs, range.to);
  const blocks = search.isNewestFirst ? blocksFromEnd : blocksFromStart;
  for (const block of blocks(rowFrom, rowTo, rowsAtATime)) {
    const nearest = search.isNewestFirst ? block.rowTo - 1 : block.rowFrom;
    if (!first.admits(day, view.timeNs[nearest]!)) break;
    await searchInTurn(state, view, block, search);
  }
  scanned.bytes += view.readBytes;
}

async function searchInTurn(
  { task, scanned, yieldThread }: FirstRowsSearch,
  view: ChunkView,
  block: BlockRows,
  search: BlockSearch,
): Promise<void> {
  checkControl(task.control);
  searchBlock(view, block, search);
  scanned.rows += block.rowTo - block.from;
  checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes: 0, scannedRows: scanned.rows });
  await yieldThread();
}

/** Blocks of [rowFrom, rowTo), the last first. Blocks begin at multiples of eight, as selections do. */
function* blocksFromEnd(rowFrom: number, rowTo: number, rowsAtATime: number): Generator<BlockRows> {
  for (let end = rowTo; end > rowFrom; ) {
    const from = Math.max(rowFrom & ~7, (end - rowsAtATime) & ~7);
    yield { from, rowFrom: Math.max(from, rowFrom), rowTo: end };
    end = from;
  }
}

/** Blocks of [rowFrom, rowTo), the first first. */
function* blocksFromStart(rowFrom: number, rowTo: number, rowsAtATime: number): Generator<BlockRows> {
  for (let start = rowFrom; start < rowTo; ) {
    const from = start & ~7;
    const end = Math.min(rowTo, from + Math.max(8, rowsAtATime & ~7));
    yield { from, rowFrom: start, rowTo: end };
    start = end;
  }
}

/** How many rows of a chunk pass the residual filters; 0 where that is not known. */
function passingRows(residual: readonly Filter[], view: ChunkView, textRows: CountTextRows): number {
  const counted = countFromHeader(residual, [], view, textRows);
  return counted?.counts.reduce((sum, [, rows]) => sum + rows, 0) ?? 0;
}

interface BlockSearch {
  ref: ChunkRef;
  first: FirstRows;
  isNewestFirst: boolean;
  isBehind: (row: number) => boolean;
  filter: BlockFilter;
  extract: RowSteps | undefined;
}

/** Rows [rowFrom, rowTo), in a block that begins at `from`. */
interface BlockRows {
  from: number;
  rowFrom: number;
  rowTo: number;
}

function searchBlock(view: ChunkView, { from, rowFrom, rowTo }: BlockRows, search: BlockSearch): void {
  const { ref, first, isNewestFirst, isBehind, filter, extract } = search;
  const rows = rowTo - from;
  const selection = selectRows(view.heap, from, rowFrom, rowTo);
  filter({ from, rows, selection });
  const step = isNewestFirst ? -1 : 1;
  for (let i = isNewestFirst ? rows - 1 : 0; i >= 0 && i < rows; i += step) {
    // Most rows of most blocks fail: eight are skipped at a time.
    if (selection[i >> 3] === 0) {
      i = isNewestFirst ? i & ~7 : i | 7;
      continue;
    }
    if (!hasBit(selection, i)) continue;
    const row = from + i;
    const timeNs = view.timeNs[row]!;
    if (!first.admits(view.day, timeNs)) return;
    if (!isBehind(row)) continue;
    const state = extract === undefined ? undefined : new RowState(view, row);
    if (state !== undefined && extract?.(state) !== true) continue;
    const made = state === undefined ? undefined : finishRow(state);
    first.add({ day: view.day, timeNs, arrival: view.arrival[row]!, ref, row, made });
  }
}

/** Tests whether a row of the chunk comes after the last row of the page before. */
function behind(task: SearchTask, view: ChunkView): (row: number) => boolean {
  const { after } = task;
  if (after === undefined) return () => true;
  const timeNs = timeInDay(after.timeNs, view.day);
  return (row) => {
    const rowTime = view.timeNs[row]!;
    if (task.order === "newest")
      return rowTime < timeNs || (rowTime === timeNs && view.arrival[row]! > after.arrival);
    return rowTime > timeNs || (rowTime === timeNs && view.arrival[row]! < after.arrival);
  };
}

/** Throws Failure "limit" where the rows found take more bytes than the query may hold. */
function checkRowBytes(task: SearchTask, bytes: number): false {
  const bytesMax = capAnswerBytes(task.control, resultBytesMax);
  if (bytes <= bytesMax) return false;
  const problem = `the rows found are larger than ${bytesMax} bytes together; ask for fewer rows at a time`;
  throw new Failure("limit", problem);
}

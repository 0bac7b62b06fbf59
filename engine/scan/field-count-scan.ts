/** How many rows bear each field, on one thread: from headers where they tell, else from the columns. */

import { findColumn } from "../chunk/chunk-header.ts";
import type { ChunkRef, DamagedChunk, OpenChunkView } from "../chunk/chunk-ref.ts";
import { toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { type Column, columnText, hasValue } from "../column/column.ts";
import { parseOverflow } from "../column/overflow-attributes.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { matchingRows } from "../filter/matching-rows.ts";
import { compileRowSteps, type RowSteps, readRowState, splitSteps } from "../filter/row-steps.ts";
import { blockRows, countedKeysMax } from "../limits.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { Filter, Step } from "../plan/filter.ts";
import { checkCaps, checkControl, type QueryControl, type YieldThread } from "../plan/query-control.ts";
import { countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";

/** How many of the matching rows of some chunks bear each field. */
export interface FieldCountTask {
  kind: "fields";
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  steps: Step[];
  control: QueryControl;
}

export interface FieldCountAnswer {
  rows: number;
  /** Rows with a level that is not empty. */
  levels: number;
  /** Attribute keys, and of each the rows that have it. */
  keys: string[];
  counts: number[];
  /** False where there were more keys than are counted. */
  isWhole: boolean;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

interface Counting {
  task: FieldCountTask;
  pause: YieldThread;
  filter: Filter;
  /** Steps from the first extraction on, if there is one. */
  rest: RowSteps | undefined;
  keys: Map<string, number>;
  answer: FieldCountAnswer;
}

/** Rows [from, from + 8 × selection.length) of a chunk, of which a bit tells whether they count. */
interface Counted {
  from: number;
  selection: Uint8Array;
  rows: number;
}

/** With `left`, chunks that their headers do not settle are put there and not counted. */
export async function countFields(
  task: FieldCountTask,
  open: OpenChunkView,
  pause: YieldThread,
  left?: ChunkRef[],
): Promise<FieldCountAnswer> {
  const { filters, rest } = splitSteps(task.steps);
  const scanned = nothingScanned();
  const damaged: DamagedChunk[] = [];
  const counting: Counting = {
    task,
    pause,
    filter: { kind: "and", of: filters },
    rest: rest.length === 0 ? undefined : compileRowSteps(rest),
    keys: new Map(),
    answer: { rows: 0, levels: 0, keys: [], counts: [], isWhole: true, scanned, damaged },
  };
  for (const ref of task.chunks) {
    await pause();
    checkControl(task.control);
    let view: ChunkView | undefined;
    try {
      view = open(ref);
      if (isSettled(counting, view)) countSkippedChunk(scanned, view.header);
      else if (left !== undefined) left.push(ref);
      else await countChunk(counting, view);
    } catch (error) {
      // The store sets the chunk aside and asks again, so what was counted of it is in no answer.
      damaged.push(toDamagedChunk(ref, error));
    } finally {
      view?.close();
    }
  }
  return { ...counting.answer, keys: [...counting.keys.keys()], counts: [...counting.keys.values()] };
}

/** Whether a chunk's header tells enough; then it is counted. Keys that share a column have no header of their own. */
function isSettled(counting: Counting, view: ChunkView): boolean {
  const { task, filter, rest, answer } = counting;
  const { header, rows } = view;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  const verdict = matchFromStatistics(filter, view);
  if (header.timeNsMax < range.from || header.timeNsMin >= range.to || verdict === "none") return true;
  const isWhole = header.timeNsMin >= range.from && header.timeNsMax < range.to;
  const level = header.columns[findColumn(header, "level")];
  const levelless = level?.values === undefined ? undefined : countOf(level.values, "");
  if (!isWhole || verdict !== "all" || rest !== undefined || levelless === undefined) return false;
  if (findColumn(header, "rest") >= 0) return false;
  answer.rows += rows;
  answer.levels += rows - levelless;
  for (const { role, key, present } of header.columns)
    if (role === "attribute") addKey(counting, key, present);
  return true;
}

function countOf(values: readonly [string, number][], text: string): number {
  return values.find(([value]) => value === text)?.[1] ?? 0;
}

async function countChunk(counting: Counting, view: ChunkView): Promise<void> {
  const { task, rest, answer } = counting;
  const { scanned } = answer;
  scanned.chunks++;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  const from = lowerBound(view.timeNs, range.from);
  const to = lowerBound(view.timeNs, range.to);
  if (from < to) {
    const counted = await selectedRows(counting, view, from, to);
    if (rest !== undefined) await countStates(counting, view, counted, rest);
    else if (counted.rows > 0) await countColumns(counting, view, counted);
  }
  scanned.rows += to - from;
  scanned.bytes += view.readBytes;
  checkCaps(task.control, { memoryBytes: view.decodedBytes, scannedRows: scanned.rows });
}

async function selectedRows(
  { task, filter, pause }: Counting,
  view: ChunkView,
  rowFrom: number,
  rowTo: number,
): Promise<Counted> {
  const checkpoint = () => checkControl(task.control);
  const selection = await matchingRows(filter, view, { from: rowFrom, to: rowTo }, checkpoint, pause);
  return { from: rowFrom & ~7, selection, rows: view.heap.kernels.countBits(selection) };
}

/** Row by row through the steps, for what is extracted differs from row to row. */
async function countStates(
  counting: Counting,
  view: ChunkView,
  counted: Counted,
  passes: RowSteps,
): Promise<void> {
  const { task, pause, answer } = counting;
  let looked = 0;
  for (const row of rowsOf(counted)) {
    if (++looked % blockRows === 0) {
      checkControl(task.control);
      await pause();
    }
    const state = readRowState(view, row);
    if (!passes(state)) continue;
    answer.rows++;
    if (state.level !== "") answer.levels++;
    for (const key of state.attributes.keys()) addKey(counting, key, 1);
  }
}

async function countColumns(counting: Counting, view: ChunkView, counted: Counted): Promise<void> {
  const { task, pause, answer } = counting;
  answer.rows += counted.rows;
  for (const { role, key, present } of view.header.columns) {
    if (role === "attribute") {
      const isEverywhere = present === view.rows;
      const count = isEverywhere
        ? counted.rows
        : presentRows(view.column({ kind: "attribute", key }), counted);
      addKey(counting, key, count);
    } else if (role === "level") answer.levels += levelRows(view.column({ kind: "level" }), counted);
    else if (role === "rest") countRest(counting, view.overflow, counted);
    checkControl(task.control);
    await pause();
  }
}

function presentRows(column: Column, counted: Counted): number {
  let count = 0;
  for (const row of rowsOf(counted)) if (hasValue(column, row)) count++;
  return count;
}

function levelRows(column: Column, counted: Counted): number {
  if (column.kind === "constant") return column.value === "" ? 0 : presentRows(column, counted);
  let count = 0;
  for (const row of rowsOf(counted)) if ((columnText(column, row) ?? "") !== "") count++;
  return count;
}

/** The rarest keys of a chunk that has very many share a column. */
function countRest(counting: Counting, column: Column, counted: Counted): void {
  for (const row of rowsOf(counted)) {
    const text = columnText(column, row);
    if (text !== undefined) for (const [key] of parseOverflow(text)) addKey(counting, key, 1);
  }
}

function addKey({ keys, answer }: Counting, key: string, rows: number): void {
  const known = keys.get(key);
  if (known === undefined && (rows === 0 || keys.size >= countedKeysMax)) {
    if (rows > 0) answer.isWhole = false;
    return;
  }
  keys.set(key, (known ?? 0) + rows);
}

function* rowsOf({ from, selection }: Counted): Generator<number> {
  for (const [i, bits] of selection.entries()) {
    if (bits === 0) continue;
    for (let bit = 0; bit < 8; bit++) if (hasBit(selection, i * 8 + bit)) yield from + i * 8 + bit;
  }
}

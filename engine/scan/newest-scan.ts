/** The newest matching rows of some chunks, on one thread. */

import { type ChunkRef, type DamagedChunk, type OpenChunkView, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import type { BlockFilter } from "../filter/block-filter.ts";
import { residualFilters } from "../filter/chunk-pruning.ts";
import { compileRowSteps, type RowSteps, readRowState, splitSteps } from "../filter/row-steps.ts";
import { compileFilter, isVectorised, selectRows } from "../filter/selection.ts";
import { blockRows, resultBytesMax } from "../limits.ts";
import { timeInDay } from "../model/day.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { RowPosition } from "../model/row.ts";
import type { Filter, Step } from "../plan/filter.ts";
import { checkCaps, checkControl, type QueryControl, type YieldThread } from "../plan/query-control.ts";
import { countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import { type CountTextRows, countFromHeader, unknownTextRows } from "../summary/header-counts.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import { type FoundRows, gatherRows } from "./found-rows.ts";
import { NewestRows } from "./newest-rows.ts";

export interface SearchTask {
  kind: "search";
  /** Newest first. */
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  after: RowPosition | undefined;
  steps: Step[];
  limit: number;
  control: QueryControl;
}

export interface SearchAnswer {
  rows: FoundRows;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** With `settling`, chunks in which matching rows are possible are left there and not searched. */
export async function scanNewest(
  task: SearchTask,
  open: OpenChunkView,
  pause: YieldThread,
  settling?: Settling,
): Promise<SearchAnswer> {
  const newest = new NewestRows(task.limit);
  const scanned: Scanned = nothingScanned();
  const damaged: DamagedChunk[] = [];
  for (const ref of task.chunks) {
    await pause();
    checkControl(task.control);
    let view: ChunkView | undefined;
    try {
      view = open(ref);
      await searchChunk({ task, ref, view, newest, scanned, pause, settling });
    } catch (error) {
      damaged.push(toDamagedChunk(ref, error));
    } finally {
      view?.close();
    }
  }
  const isFull = (bytes: number) => checkRowBytes(task, bytes);
  return { rows: gatherRows(newest.finish(), open, damaged, isFull), scanned, damaged };
}

interface ChunkSearch {
  task: SearchTask;
  ref: ChunkRef;
  view: ChunkView;
  newest: NewestRows;
  scanned: Scanned;
  pause: YieldThread;
  settling: Settling | undefined;
}

async function searchChunk({
  task,
  ref,
  view,
  newest,
  scanned,
  pause,
  settling,
}: ChunkSearch): Promise<void> {
  const { header, day } = view;
  const { filters, rest } = splitSteps(task.steps);
  const range = rangeInDay(task.fromNs, task.toNs, day);
  const outside = header.timeNsMax < range.from || header.timeNsMin >= range.to;
  const open =
    outside || !newest.admits(day, header.timeNsMax)
      ? undefined
      : residualFilters({ kind: "and", of: filters }, view);
  const textRows =
    open === undefined || settling === undefined ? unknownTextRows : settling.textRows(open, ref, view);
  if (open === undefined || textRows === undefined) {
    countSkippedChunk(scanned, view.header);
    return;
  }
  if (settling !== undefined) {
    if (settling.left.length === 0 && rest.length === 0)
      settling.rowsOfFirst = passingRows(open, view, textRows);
    settling.left.push(ref);
    return;
  }
  scanned.chunks++;
  const filter: Filter = { kind: "and", of: open };
  const search = {
    ref,
    newest,
    isBehind: behind(task, view),
    filter: compileFilter(filter, view, () => checkControl(task.control)),
    rest: rest.length === 0 ? undefined : compileRowSteps(rest),
  };
  const rowsAtATime = isVectorised(filter) && rest.length === 0 ? view.rows : blockRows;
  const rowFrom = lowerBound(view.timeNs, range.from);
  let rowTo = lowerBound(view.timeNs, range.to);
  while (rowTo > rowFrom && newest.admits(day, view.timeNs[rowTo - 1]!)) {
    const from = Math.max(rowFrom & ~7, (rowTo - rowsAtATime) & ~7);
    checkControl(task.control);
    searchBlock(view, { from, rowFrom: Math.max(from, rowFrom), rowTo }, search);
    scanned.rows += rowTo - from;
    checkCaps(task.control, { memoryBytes: view.decodedBytes, scannedRows: scanned.rows });
    rowTo = from;
    await pause();
  }
  scanned.bytes += view.readBytes;
}

/** How many rows of a chunk pass, 0 where that is not known. */
function passingRows(open: readonly Filter[], view: ChunkView, textRows: CountTextRows): number {
  const settled = countFromHeader(open, [], view, textRows);
  return settled?.counts.reduce((sum, [, rows]) => sum + rows, 0) ?? 0;
}

interface BlockSearch {
  ref: ChunkRef;
  newest: NewestRows;
  isBehind: (row: number) => boolean;
  filter: BlockFilter;
  rest: RowSteps | undefined;
}

/** Rows [rowFrom, rowTo), in a block that begins at `from`. */
interface BlockRows {
  from: number;
  rowFrom: number;
  rowTo: number;
}

function searchBlock(view: ChunkView, { from, rowFrom, rowTo }: BlockRows, search: BlockSearch): void {
  const { ref, newest, isBehind, filter, rest } = search;
  const rows = rowTo - from;
  const selection = selectRows(view.heap, from, rowFrom, rowTo);
  filter({ from, rows, selection });
  for (let i = rows - 1; i >= 0; i--) {
    // Most rows of most blocks fail: eight are passed over at a time.
    if (selection[i >> 3] === 0) {
      i &= ~7;
      continue;
    }
    if (!hasBit(selection, i)) continue;
    const row = from + i;
    const timeNs = view.timeNs[row]!;
    if (!newest.admits(view.day, timeNs)) return;
    if (!isBehind(row)) continue;
    let attributes: Map<string, string> | undefined;
    if (rest !== undefined) {
      const state = readRowState(view, row);
      if (!rest(state)) continue;
      attributes = state.attributes;
    }
    newest.add({ day: view.day, timeNs, arrival: view.arrival[row]!, ref, row, attributes });
  }
}

/** Whether a row comes behind the place where the page before ended. */
function behind(task: SearchTask, view: ChunkView): (row: number) => boolean {
  const { after } = task;
  if (after === undefined) return () => true;
  const timeNs = timeInDay(after.timeNs, view.day);
  return (row) => {
    const rowTime = view.timeNs[row]!;
    return rowTime < timeNs || (rowTime === timeNs && view.arrival[row]! > after.arrival);
  };
}

/** Throws Failure "limit" where the rows together are larger than the query may hold. */
function checkRowBytes(task: SearchTask, bytes: number): false {
  const bytesMax = Math.min(resultBytesMax, task.control.memoryBytesMax);
  if (bytes <= bytesMax) return false;
  throw new Failure(
    "limit",
    `the rows found are larger than ${bytesMax} bytes together; ask for fewer rows at a time`,
  );
}

/** The newest matching rows of some chunks, on one thread. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnBytes, columnText } from "../column/column.ts";
import { Failure } from "../failure.ts";
import type { BlockFilter } from "../filter/block-filter.ts";
import { openParts } from "../filter/chunk-pruning.ts";
import { compileRowSteps, type RowSteps } from "../filter/row-steps.ts";
import { compileFilter, isVectorised, selectRows, timeText } from "../filter/selection.ts";
import { blockRows, resultBytesMax } from "../limits.ts";
import { timeInDay } from "../model/day.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { Filter, Step } from "../plan/filter.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { noteSkipped, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import { noTextRows, settleChunk, type TextRows } from "../summary/header-counts.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import type { ChunkRef, DamagedChunk, FoundRows, SearchAnswer, SearchTask } from "../threads/protocol.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import { TextDraft } from "../vector/text.ts";
import { type Candidate, NewestRows } from "./newest-rows.ts";

export type OpenView = (ref: ChunkRef) => ChunkView;

/** Lets other queries of the thread run, where a scan has had its turn. */
export type Pause = () => Promise<void>;

/** With `settling`, chunks in which matching rows are possible are left there and not searched. */
export async function searchChunks(
  task: SearchTask,
  open: OpenView,
  pause: Pause,
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
      damaged.push(damageOf(ref, error));
    } finally {
      view?.close();
    }
  }
  const isFull = (bytes: number) => checkRowBytes(task, bytes);
  return { rows: gather(newest.finish(), open, damaged, isFull), scanned, damaged };
}

/** The report of a sealed chunk that cannot be read; every other error is thrown on. */
export function damageOf(ref: ChunkRef, error: unknown): DamagedChunk {
  if (ref.kind !== "sealed" || !(error instanceof Failure) || error.kind !== "damage") throw error;
  return {
    signal: ref.signal,
    day: ref.day,
    chunk: ref.entry.id,
    where: `${ref.dir} chunk ${ref.entry.id}`,
    problem: error.message,
  };
}

/** Leading filters look at whole columns; from the first extraction on, rows are taken one by one. */
export function splitSteps(steps: readonly Step[]): { filters: Filter[]; rest: Step[] } {
  const first = steps.findIndex((step) => step.kind === "extract");
  const leading = first < 0 ? steps : steps.slice(0, first);
  const filters = leading.flatMap((step) => (step.kind === "filter" ? [step.filter] : []));
  return { filters, rest: first < 0 ? [] : steps.slice(first) };
}

interface ChunkSearch {
  task: SearchTask;
  ref: ChunkRef;
  view: ChunkView;
  newest: NewestRows;
  scanned: Scanned;
  pause: Pause;
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
      : openParts({ kind: "and", of: filters }, view);
  const textRows =
    open === undefined || settling === undefined ? noTextRows : settling.textRows(open, ref, view);
  if (open === undefined || textRows === undefined) {
    noteSkipped(scanned, view.header);
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
function passingRows(open: readonly Filter[], view: ChunkView, textRows: TextRows): number {
  const settled = settleChunk(open, [], view, textRows);
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
      const state = rowState(view, row);
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

export function rowState(view: ChunkView, row: number) {
  const stored = new Map(view.attributes(row));
  return {
    time: timeText(view.day, view.timeNs[row]!),
    level: columnText(view.column({ kind: "level" }), row) ?? "",
    message: columnText(view.column({ kind: "message" }), row) ?? "",
    stored,
    attributes: new Map(stored),
  };
}

/** The rows, up to the one with which their bytes are enough for `isFull`. */
export function gather(
  candidates: readonly Candidate[],
  open: OpenView,
  damaged: DamagedChunk[],
  isFull: (bytes: number) => boolean,
): FoundRows {
  const texts = new TextDraft();
  const firstText = [0];
  let opened: { ref: ChunkRef; view: ChunkView } | undefined;
  try {
    for (const candidate of candidates) {
      const { ref } = candidate;
      try {
        if (opened?.ref !== ref) {
          opened?.view.close();
          opened = undefined;
          opened = { ref, view: open(ref) };
        }
        gatherTexts(texts, candidate, opened.view);
      } catch (error) {
        // The store sets the chunk aside and asks again, so a row short here is in no answer.
        damaged.push(damageOf(ref, error));
      }
      firstText.push(texts.rows);
      if (isFull(texts.byteLength)) break;
    }
  } finally {
    opened?.view.close();
  }
  const gathered = candidates.slice(0, firstText.length - 1);
  return {
    day: Float64Array.from(gathered, ({ day }) => day),
    timeNs: Float64Array.from(gathered, ({ timeNs }) => timeNs),
    arrival: Float64Array.from(gathered, ({ arrival }) => arrival),
    texts: texts.finishExact(),
    firstText: Uint32Array.from(firstText),
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

function gatherTexts(texts: TextDraft, { row, attributes }: Candidate, view: ChunkView): void {
  texts.pushBytes(columnBytes(view.column({ kind: "level" }), row));
  texts.pushBytes(columnBytes(view.column({ kind: "message" }), row));
  if (attributes === undefined) {
    view.eachAttribute(row, (key, value) => {
      texts.push(key);
      texts.pushBytes(value);
    });
    return;
  }
  for (const [key, value] of attributes) {
    texts.push(key);
    texts.push(value);
  }
}

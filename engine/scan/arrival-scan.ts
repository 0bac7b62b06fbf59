/**
 * Finds matching rows in the order of their arrival, on one thread. One scan serves several selections: those of all
 * readers of a live tail.
 */

import {
  type ChunkRef,
  chunkSize,
  type DamagedChunk,
  extentOf,
  type OpenChunkView,
  toDamagedChunk,
} from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ChunkTask, ScanAnswer } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import { compileFilter, isVectorised, selectRows } from "../filter/selection.ts";
import { arrivedBytesMax, arrivedBytesMin, blockRows } from "../limits.ts";
import { clampToDay, endOfTimeNs } from "../model/day-range.ts";
import type { Filter } from "../plan/filter.ts";
import { capAnswerBytes, checkCaps, checkControl } from "../plan/query-control.ts";
import type { ArrivalQuery, ArrivalSelection } from "../plan/row-query.ts";
import { countSkippedChunk, emptyScanStatistics, type ScanStatistics } from "../plan/scan-statistics.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import { FirstArrived } from "./first-arrived.ts";
import { finishRow } from "./first-rows.ts";
import type { FoundRows } from "./found-rows.ts";
import { gatherRows } from "./found-rows.ts";

/**
 * Asks for the rows that arrived in a range, for several selections; each chunk is opened once for all of them. The
 * chunks are ordered by their least arrival number.
 */
export interface ArrivedTask extends ChunkTask, Omit<ArrivalQuery, "signal"> {
  kind: "arrived";
}

/** What one thread found for one selection. */
export interface ArrivedRowsPart {
  rows: FoundRows;
  /** Matching rows up to `through`: the length of `rows`, unless the selection only counts. */
  count: number;
  /** Arrival number up to which the answer holds every matching row. */
  through: number;
}

export interface ArrivedAnswer extends ScanAnswer {
  /** One entry for each selection. */
  found: ArrivedRowsPart[];
}

/** One selection during the scan: its compiled filters, and what was found so far. */
interface SelectionScan {
  fromNs: bigint;
  filter: Filter;
  rest: RowSteps | undefined;
  /** Rows of a chunk that are filtered between two checks of the deadline. */
  rowsAtATime: number;
  first: FirstArrived;
}

/** Scans the chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function scanArrivals(task: ArrivedTask, access: ChunkAccess): Promise<ArrivedAnswer> {
  const { open, useColumns, yieldThread } = access;
  const scanned: ScanStatistics = emptyScanStatistics();
  const damaged: DamagedChunk[] = [];
  const readings = task.selections.map((selection) => readingOf(task, selection));
  for (const ref of task.chunks) {
    for (const reading of readings) {
      if (!reading.first.admits(extentOf(ref).arrivalMin)) continue;
      await yieldThread();
      checkControl(task.control);
      try {
        await useColumns(() => scanChunk(open, { task, ref, reading, scanned }));
      } catch (error) {
        damaged.push(toDamagedChunk(ref, error));
        break;
      }
    }
  }
  const found = await useColumns(() => readings.map(({ first }) => gathered(task, first, open, damaged)));
  return { found, scanned, damaged };
}

function readingOf(task: ArrivedTask, { fromNs, steps, rowsMax }: ArrivalSelection): SelectionScan {
  const { filters, rest } = splitSteps(steps);
  const filter: Filter = { kind: "and", of: filters };
  const isWhole = isVectorised(filter) && rest.length === 0;
  return {
    fromNs,
    filter,
    rest: rest.length === 0 ? undefined : compileRowSteps(rest),
    rowsAtATime: isWhole ? Number.POSITIVE_INFINITY : blockRows,
    first: new FirstArrived(rowsMax, task.through),
  };
}

interface ChunkSelectionScan {
  task: ArrivedTask;
  ref: ChunkRef;
  view: ChunkView;
  reading: SelectionScan;
  scanned: ScanStatistics;
}

function scanChunk(open: OpenChunkView, scan: Omit<ChunkSelectionScan, "view">): void {
  const view = open(scan.ref);
  try {
    readChunk({ ...scan, view });
  } finally {
    view.close();
  }
}

function readChunk(scan: ChunkSelectionScan): void {
  const { task, ref, view, reading, scanned } = scan;
  const { filter, rowsAtATime } = reading;
  const { from: leastNs } = clampToDay(reading.fromNs, endOfTimeNs, view.day);
  if (view.header.timeNsMax < leastNs || matchFromStatistics(filter, view) === "none") {
    countSkippedChunk(scanned, chunkSize(ref));
    return;
  }
  scanned.chunks++;
  const compiled = compileFilter(filter, view, () => checkControl(task.control));
  const rowFrom = lowerBound(view.timeNs, leastNs);
  const rowTo = view.rows;
  for (let from = rowFrom & ~7; from < rowTo; from += rowsAtATime) {
    checkControl(task.control);
    const to = Math.min(rowTo, from + rowsAtATime);
    const selection = selectRows(view.heap, from, Math.max(from, rowFrom), to);
    if (!keepArrived(selection, from, to, scan)) continue;
    compiled({ from, rows: to - from, selection });
    for (let row = from; row < to; row++) {
      if (hasBit(selection, row - from)) offer(row, scan);
    }
    scanned.rows += to - from;
    checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes: 0, scannedRows: scanned.rows });
  }
  scanned.bytes += view.readBytes;
}

/** Clears the bits of rows that arrived outside the task's range. Returns false where no bit is left. */
function keepArrived(selection: Uint8Array, from: number, to: number, scan: ChunkSelectionScan): boolean {
  const { arrival, heap } = scan.view;
  const { after } = scan.task;
  const { first } = scan.reading;
  for (let row = from; row < to; row++) {
    const number = arrival[row]!;
    if (number <= after || !first.admits(number)) clearBit(selection, row - from);
  }
  return heap.kernels.anyBit(selection);
}

function offer(row: number, { ref, view, reading }: ChunkSelectionScan): void {
  const { first, rest } = reading;
  const arrival = view.arrival[row]!;
  if (!first.admits(arrival)) return;
  const state = rest === undefined ? undefined : new RowState(view, row);
  if (state !== undefined && rest?.(state) !== true) return;
  const made = state === undefined ? undefined : finishRow(state);
  first.add({ day: view.day, timeNs: view.timeNs[row]!, arrival, ref, row, made });
}

function gathered(
  task: ArrivedTask,
  first: FirstArrived,
  open: OpenChunkView,
  damaged: DamagedChunk[],
): ArrivedRowsPart {
  const { rows: candidates, count, through } = first.finish();
  const share = Math.max(arrivedBytesMax / task.selections.length, arrivedBytesMin);
  const bytesMax = capAnswerBytes(task.control, share);
  const rows = gatherRows(candidates, open, damaged, (bytes) => bytes >= bytesMax);
  const isCut = rows.arrival.length < candidates.length;
  return {
    rows,
    count: isCut ? rows.arrival.length : count,
    through: isCut ? rows.arrival.at(-1)! : through,
  };
}

/** Aggregates over the matching rows of some chunks, on one thread. */

import type { ChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkAccess } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { selectMatchingRows } from "../filter/matching-rows.ts";
import { RowState } from "../filter/row-state.ts";
import { fieldTextOf, type RowSteps } from "../filter/row-steps.ts";
import { selectRows } from "../filter/selection.ts";
import { densePointsMax } from "../limits.ts";
import { clampToDay } from "../model/day-range.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { answerFrom, eachChunk, fromColumns, type OpenChunk } from "../summary/answer-source.ts";
import type { DaySummaries, UncountedDay } from "../summary/day-summaries.ts";
import { toLabel } from "../summary/header-counts.ts";
import { type TemplateCounts, unknownTexts } from "../summary/template-counts.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import { fromDaySummaries, fromHeader } from "./aggregate-metadata.ts";
import type { AggregateAnswer, AggregateTask } from "./aggregate-task.ts";
import { fromTemplateDays, fromTemplates } from "./aggregate-templates.ts";
import { type AggregationState, createAggregationState, finishAggregation } from "./aggregation-state.ts";
import type { BucketGrid, BucketRuns } from "./bucket-runs.ts";
import { assignCells, type CellRows, CellsByRow, type SelectedRows } from "./cell-assignment.ts";
import { computeGroupCodes, type GroupCodes } from "./group-codes.ts";
import { GroupNumbers } from "./group-numbers.ts";
import type { RowFields } from "./point-states.ts";
import { ColumnFields, ExtractedFields } from "./row-fields.ts";
import { isSharedBucket } from "./shared-buckets.ts";

/** Rows taken one by one between two checks of the deadline. */
const checkEvery = 1024;

/** The matching rows of a chunk, by bucket. */
interface BucketedRows {
  view: ChunkView;
  rows: SelectedRows;
  runs: BucketRuns;
}

/** Aggregates all chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function aggregateChunks(task: AggregateTask, access: ChunkAccess): Promise<AggregateAnswer> {
  const state = createAggregationState(task, access);
  await answerFrom(
    [
      eachChunk(state, [
        fromHeader(state, unknownTexts),
        fromColumns((chunk) => aggregateChunk(state, chunk)),
      ]),
    ],
    task,
  );
  return finishAggregation(state);
}

/**
 * Aggregates what needs no column; `residual` are the chunks that must be read, and `uncounted` those days of them whose
 * counts are worth keeping. Throws as `aggregateChunks`.
 */
export async function aggregateFromMetadata(
  task: AggregateTask,
  access: ChunkAccess,
  { summaries, templates }: { summaries: DaySummaries; templates: TemplateCounts },
): Promise<{ answer: AggregateAnswer; residual: readonly ChunkRef[]; uncounted: readonly UncountedDay[] }> {
  const state = createAggregationState(task, access);
  const uncounted: UncountedDay[] = [];
  const sources = [
    fromDaySummaries(state, summaries, uncounted),
    fromTemplateDays(state, templates),
    eachChunk(state, [fromHeader(state, templates.countTexts), fromTemplates(state, templates)]),
  ];
  const residual = await answerFrom(sources, task);
  return {
    answer: finishAggregation(state),
    residual: [...residual, ...uncounted.flatMap(({ refs }) => refs)],
    uncounted,
  };
}

async function aggregateChunk(state: AggregationState, chunk: OpenChunk): Promise<void> {
  const { view } = chunk;
  const { task, scanned } = state;
  const { timeNsMin, timeNsMax } = view.header;
  const range = clampToDay(task.fromNs, task.toNs, view.day);
  scanned.chunks++;
  const isWhole = timeNsMin >= range.from && timeNsMax < range.to;
  const from = isWhole ? 0 : lowerBound(view.timeNs, range.from);
  const to = isWhole ? view.rows : lowerBound(view.timeNs, range.to);
  if (from < to) {
    const rows = await selectedRows(state, chunk, from, to);
    if (rows.selection === null || view.heap.kernels.anyBit(rows.selection)) {
      await aggregateRows(state, { view, rows, runs: runsOf(state.grid, view, from, to) });
    }
  }
  scanned.rows += to - from;
  scanned.bytes += view.readBytes;
  checkMemory(state, view);
}

async function aggregateRows(state: AggregationState, chunk: BucketedRows): Promise<void> {
  const { task, extraction } = state;
  if (extraction !== undefined) {
    await extractRows(state, chunk, extraction);
    return;
  }
  const codes = computeGroupCodes(chunk.view, task.groupBy);
  const cells = codes.cardinality * chunk.runs.buckets.length;
  if (cells > densePointsMax) await sparseRows(state, chunk, codes);
  else await denseRows(state, chunk, codes);
}

/**
 * The rows of [from, to) that pass the residual filters. A selection begins at a multiple of eight rows, at or before
 * `from`.
 */
async function selectedRows(
  { task, yieldThread, conditions }: AggregationState,
  { view, residual }: OpenChunk,
  from: number,
  to: number,
): Promise<SelectedRows> {
  const first = from & ~7;
  if (residual.length === 0) {
    return { from: first, to, selection: first === from ? null : selectRows(view.heap, first, from, to) };
  }
  const checkpoint = () => checkControl(task.control);
  const range = { from, to };
  const selection = await selectMatchingRows(residual, view, range, checkpoint, yieldThread, conditions);
  return { from: first, to, selection };
}

/** The time column is not read where the header says that one bucket holds all rows. */
function runsOf(grid: BucketGrid, view: ChunkView, from: number, to: number): BucketRuns {
  const bucket = grid.bucketOf(view.day, view.header.timeNsMin);
  if (bucket === grid.bucketOf(view.day, view.header.timeNsMax)) {
    return { bounds: Uint32Array.of(from, to), buckets: Float64Array.of(bucket) };
  }
  return grid.runsOf(view.day, view.timeNs, from, to);
}

/** Aggregates every cell (a group in a run of one bucket) at once, by kernels. */
async function denseRows(
  state: AggregationState,
  chunk: BucketedRows,
  groupCodes: GroupCodes,
): Promise<void> {
  const { view, rows, runs } = chunk;
  const { codes, cardinality } = groupCodes;
  const { points } = state;
  const numbers = new GroupNumbers(state, groupCodes);
  const cells = assignCells(view.heap, rows, { runs, codes, cardinality }, (run, code) =>
    points.findOrAdd(numbers.groupOf(code), runs.buckets[run]!),
  );
  await addCells(state, cells, columnFields(state, chunk));
}

/** Aggregates row by row, where there are too many cells for a counter each. */
async function sparseRows(
  state: AggregationState,
  chunk: BucketedRows,
  groupCodes: GroupCodes,
): Promise<void> {
  const { view, rows } = chunk;
  const { codes } = groupCodes;
  const { points } = state;
  const numbers = new GroupNumbers(state, groupCodes);
  const cells = new CellsByRow(view.heap, rows.to - rows.from);
  await eachSelected(state, chunk, (row, bucket) => {
    const code = codes === null ? 0 : codes[row]!;
    cells.add(row - rows.from, points.findOrAdd(numbers.groupOf(code), bucket));
  });
  await addCells(state, cells.finish(), columnFields(state, chunk));
}

/** Takes rows one by one through the steps, since extracted attributes differ from row to row. */
async function extractRows(state: AggregationState, chunk: BucketedRows, passes: RowSteps): Promise<void> {
  const { view, rows } = chunk;
  const { task, groups, points } = state;
  const cells = new CellsByRow(view.heap, rows.to - rows.from);
  const fields = new ExtractedFields(view, rows, task.aggregates);
  await eachSelected(state, chunk, (row, bucket) => {
    const state = new RowState(view, row);
    if (!passes(state)) return;
    for (const field of task.groupBy) groups.stageText(toLabel(field, fieldTextOf(state, field)));
    cells.add(row - rows.from, points.findOrAdd(groups.findOrAddStaged(), bucket));
    fields.add(row - rows.from, state);
  });
  await addCells(state, cells.finish(), fields);
}

function addCells(state: AggregationState, cells: CellRows, fields: RowFields): Promise<void> {
  const { task, states, points } = state;
  const isWhole = (place: number) => !isSharedBucket(task.shared, points.bucketOf(place));
  return states.add(cells, fields, points.count, isWhole);
}

function columnFields({ task, yieldThread }: AggregationState, { view, rows }: BucketedRows): RowFields {
  const yieldTurn = async () => {
    checkControl(task.control);
    await yieldThread();
  };
  return new ColumnFields({ view, rows, yieldTurn });
}

async function eachSelected(
  state: AggregationState,
  { view, rows: { from, selection }, runs: { bounds, buckets } }: BucketedRows,
  visit: (row: number, bucket: number) => void,
): Promise<void> {
  for (let run = 0; run < buckets.length; run++) {
    for (let row = bounds[run]!; row < bounds[run + 1]!; row++) {
      if (row % checkEvery === 0) {
        checkControl(state.task.control);
        checkMemory(state, view);
        await state.yieldThread();
      }
      if (selection === null || hasBit(selection, row - from)) visit(row, buckets[run]!);
    }
  }
}

function checkMemory({ task, groups, points, states, scanned }: AggregationState, view: ChunkView): void {
  const stateBytes = groups.byteLength + points.byteLength + states.byteLength;
  checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes, scannedRows: scanned.rows });
}

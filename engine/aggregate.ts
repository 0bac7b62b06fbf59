/** Aggregates over the matching rows of some chunks, on one thread. */

import { lowerBound } from "./bisection.ts";
import { hasBit } from "./bitmap.ts";
import { cellValues, countCells, type SelectedRows } from "./cells.ts";
import { checkCaps, checkControl } from "./control.ts";
import { timeMs } from "./day.ts";
import type { Filter } from "./filter.ts";
import { type GroupCodes, groupCodes } from "./groupcodes.ts";
import { GroupTable } from "./groups.ts";
import { blockRows, denseCellsMax, resultBytesMax } from "./limits.ts";
import { PointTable } from "./points.ts";
import type { AggregateAnswer, AggregateTask, ChunkRef, DamagedChunk, Scanned } from "./protocol.ts";
import { judge } from "./prune.ts";
import { rangeInDay } from "./range.ts";
import { compileRowSteps, fieldText, type RowSteps } from "./rowsteps.ts";
import { BucketGrid, type Runs } from "./runs.ts";
import { damageOf, type OpenView, type Pause, rowState, splitSteps } from "./search.ts";
import { compileFilter, isVectorised, selectRows } from "./selection.ts";
import { labelText, settleChunk } from "./settle.ts";
import type { ChunkView } from "./view.ts";

/** Rows taken one by one between two looks at the clock. */
const checkEvery = 1024;

/** What one task gathers. */
interface Aggregating {
  task: AggregateTask;
  pause: Pause;
  grid: BucketGrid;
  filter: Filter;
  /** Steps from the first extraction on, if there is one. */
  rest: RowSteps | undefined;
  groups: GroupTable;
  points: PointTable;
  scanned: Scanned;
}

/** With `left`, chunks that their headers do not settle are put there and not counted. */
export async function aggregateChunks(
  task: AggregateTask,
  open: OpenView,
  pause: Pause,
  left?: ChunkRef[],
): Promise<AggregateAnswer> {
  const { filters, rest } = splitSteps(task.steps);
  const aggregating: Aggregating = {
    task,
    pause,
    grid: new BucketGrid(task.fromNs, task.bucketNs),
    filter: { kind: "and", of: filters },
    rest: rest.length === 0 ? undefined : compileRowSteps(rest),
    groups: new GroupTable(task.groupBy.length, Math.min(resultBytesMax, task.control.memoryBytesMax)),
    points: new PointTable(task.aggregates),
    scanned: { rows: 0, bytes: 0, chunks: 0, chunksSkipped: 0 },
  };
  const damaged: DamagedChunk[] = [];
  for (const ref of task.chunks) {
    await pause();
    checkControl(task.control);
    let view: ChunkView | undefined;
    try {
      view = open(ref);
      const settled = isSettled(aggregating, view);
      if (!settled && left !== undefined) left.push(ref);
      else if (!settled) await aggregateChunk(aggregating, view);
    } catch (error) {
      // The store sets the chunk aside and asks again, so what was counted of it is in no answer.
      damaged.push(damageOf(ref, error));
    } finally {
      view?.close();
    }
  }
  const { groups, points, scanned } = aggregating;
  return { groups: groups.count, labels: groups.finish(), points: points.finish(), scanned, damaged };
}

/** Whether a chunk's header and filters tell enough; then it is counted. */
function isSettled(aggregating: Aggregating, view: ChunkView): boolean {
  const { task, filter, scanned } = aggregating;
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  const outside = timeNsMax < range.from || timeNsMin >= range.to;
  if (!outside && judge(filter, view) !== "none" && !settle(aggregating, view)) return false;
  scanned.chunksSkipped++;
  return true;
}

async function aggregateChunk(aggregating: Aggregating, view: ChunkView): Promise<void> {
  const { task, scanned } = aggregating;
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  scanned.chunks++;
  const isWhole = timeNsMin >= range.from && timeNsMax < range.to;
  const from = isWhole ? 0 : lowerBound(view.timeNs, range.from);
  const to = isWhole ? view.rows : lowerBound(view.timeNs, range.to);
  if (from < to) await aggregateRows(aggregating, view, from, to);
  scanned.rows += to - from;
  scanned.bytes += view.readBytes;
  checkMemory(aggregating, view);
}

/** Counts a chunk by its header alone, where that is exact; says whether it was. */
function settle({ task, grid, filter, rest, groups, points }: Aggregating, view: ChunkView): boolean {
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  if (rest !== undefined || task.aggregates.some(({ op }) => op !== "count")) return false;
  if (timeNsMin < range.from || timeNsMax >= range.to) return false;
  const bucket = grid.bucketOf(view.day, timeNsMin);
  if (bucket !== grid.bucketOf(view.day, timeNsMax)) return false;
  const settled = settleChunk(filter, task.groupBy, view);
  if (settled === undefined) return false;
  for (const [text, rows] of settled.counts) {
    for (let i = 0; i < task.groupBy.length; i++) {
      groups.stageText(settled.labels[i] ?? labelText(task.groupBy[i]!, text));
    }
    const point = points.place(groups.numberOfStaged(), bucket);
    for (let i = 0; i < task.aggregates.length; i++) points.join(point, i, rows);
  }
  return true;
}

async function aggregateRows(
  aggregating: Aggregating,
  view: ChunkView,
  from: number,
  to: number,
): Promise<void> {
  const { task, grid, rest } = aggregating;
  const rows = await selectedRows(aggregating, view, from, to);
  if (rows.selection !== null && !view.heap.kernels.anyBit(rows.selection)) return;
  const runs = runsOf(grid, view, from, to);
  if (rest !== undefined) {
    await extractRows(aggregating, view, rows, runs, rest);
    return;
  }
  const codes = groupCodes(view, task.groupBy);
  const cells = codes.cardinality * runs.buckets.length;
  if (cells > denseCellsMax) await sparseRows(aggregating, view, rows, runs, codes);
  else denseRows(aggregating, view, rows, runs, codes);
}

/** The rows of [from, to) that pass the filters; a selection begins at a whole byte before them. */
async function selectedRows(
  { task, filter, pause }: Aggregating,
  view: ChunkView,
  from: number,
  to: number,
): Promise<SelectedRows> {
  if (judge(filter, view) === "all") return { from, to, selection: null };
  const first = from & ~7;
  const selection = selectRows(view.heap, first, from, to);
  const apply = compileFilter(filter, view, () => checkControl(task.control));
  const step = isVectorised(filter) ? view.rows : blockRows;
  for (let row = first; row < to; row += step) {
    const rows = Math.min(step, to - row);
    const at = (row - first) >> 3;
    apply({ from: row, rows, selection: selection.subarray(at, at + ((rows + 7) >> 3)) });
    await pause();
  }
  return { from: first, to, selection };
}

/** Times are left alone where the header says that one bucket holds them all. */
function runsOf(grid: BucketGrid, view: ChunkView, from: number, to: number): Runs {
  const bucket = grid.bucketOf(view.day, view.header.timeNsMin);
  if (bucket === grid.bucketOf(view.day, view.header.timeNsMax)) {
    return { bounds: Uint32Array.of(from, to), buckets: Float64Array.of(bucket) };
  }
  return grid.runsOf(view.day, view.timeNs, from, to);
}

/** Every cell (a group in a run) at once, by kernels; then those that have rows become points. */
function denseRows(
  { task, groups, points }: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: Runs,
  { codes, cardinality, stage }: GroupCodes,
): void {
  const cells = countCells(view.heap, rows, { runs, codes, cardinality });
  const values = task.aggregates.map(({ op }) => cellValues(op, view, rows, cells));
  const groupOf = new Int32Array(cardinality).fill(-1);
  for (let run = 0; run < runs.buckets.length; run++) {
    for (let code = 0; code < cardinality; code++) {
      const cell = run * cardinality + code;
      if (cells.counts[cell] === 0) continue;
      if (groupOf[code]! < 0) {
        stage(code, groups);
        groupOf[code] = groups.numberOfStaged();
      }
      const point = points.place(groupOf[code]!, runs.buckets[run]!);
      for (let i = 0; i < values.length; i++) points.join(point, i, values[i]!(cell));
    }
  }
}

/** Row by row, where cells are too many to have a counter each. */
async function sparseRows(
  aggregating: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: Runs,
  { codes, cardinality, stage }: GroupCodes,
): Promise<void> {
  const { groups } = aggregating;
  const groupOf = new Int32Array(cardinality).fill(-1);
  await eachSelected(aggregating, view, rows, runs, (row, bucket) => {
    const code = codes === null ? 0 : codes[row]!;
    if (groupOf[code]! < 0) {
      stage(code, groups);
      groupOf[code] = groups.numberOfStaged();
    }
    addRow(aggregating, view, row, groupOf[code]!, bucket);
  });
}

/** Row by row through the steps, for what is extracted differs from row to row. */
async function extractRows(
  aggregating: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: Runs,
  passes: RowSteps,
): Promise<void> {
  const { task, groups } = aggregating;
  await eachSelected(aggregating, view, rows, runs, (row, bucket) => {
    const state = rowState(view, row);
    if (!passes(state)) return;
    for (const field of task.groupBy) groups.stageText(labelText(field, fieldText(state, field)));
    addRow(aggregating, view, row, groups.numberOfStaged(), bucket);
  });
}

async function eachSelected(
  aggregating: Aggregating,
  view: ChunkView,
  { from, selection }: SelectedRows,
  { bounds, buckets }: Runs,
  visit: (row: number, bucket: number) => void,
): Promise<void> {
  for (let run = 0; run < buckets.length; run++) {
    for (let row = bounds[run]!; row < bounds[run + 1]!; row++) {
      if (row % checkEvery === 0) {
        checkControl(aggregating.task.control);
        checkMemory(aggregating, view);
        await aggregating.pause();
      }
      if (selection === null || hasBit(selection, row - from)) visit(row, buckets[run]!);
    }
  }
}

function addRow(
  { task, points }: Aggregating,
  view: ChunkView,
  row: number,
  group: number,
  bucket: number,
): void {
  const point = points.place(group, bucket);
  for (const [i, { op }] of task.aggregates.entries()) {
    points.join(point, i, op === "count" ? 1 : timeMs(view.day, view.timeNs[row]!));
  }
}

function checkMemory({ task, groups, points, scanned }: Aggregating, view: ChunkView): void {
  const memoryBytes = view.decodedBytes + groups.byteLength + points.byteLength;
  checkCaps(task.control, { memoryBytes, scannedRows: scanned.rows });
}

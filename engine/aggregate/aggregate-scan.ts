/** Aggregates over the matching rows of some chunks, on one thread. */

import type { ChunkRef, DamagedChunk, OpenChunkView, SealedChunkRef } from "../chunk/chunk-ref.ts";
import { toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { residualFilters } from "../filter/chunk-pruning.ts";
import { matchingRows } from "../filter/matching-rows.ts";
import { compileRowSteps, fieldText, type RowSteps, readRowState, splitSteps } from "../filter/row-steps.ts";
import { selectRows } from "../filter/selection.ts";
import { denseCellsMax } from "../limits.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Field, Filter } from "../plan/filter.ts";
import { checkCaps, checkControl, type YieldThread } from "../plan/query-control.ts";
import { addScanned, countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import type { DaySummaries, DayValueCounts, OpenInTurn } from "../summary/day-summaries.ts";
import {
  boundsFromHeader,
  type CountTextRows,
  countFromHeader,
  toLabel,
  unknownTextRows,
} from "../summary/header-counts.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import type { AggregateAnswer, AggregateTask } from "./aggregate-task.ts";
import { BucketGrid, type BucketRuns } from "./bucket-runs.ts";
import { type CellRows, CellsByRow, countRuns, type SelectedRows } from "./cells.ts";
import { type GroupCodes, groupCodes } from "./group-codes.ts";
import { GroupTable, groupCaps } from "./group-table.ts";
import { fieldsReadBy, PointStates, type RowFields } from "./point-states.ts";
import { PointTable } from "./point-table.ts";
import { ColumnFields, ExtractedFields } from "./row-fields.ts";
import { isSharedBucket } from "./shared-buckets.ts";

/** What a header can tell. */
const headerOps: ReadonlySet<Aggregation["op"]> = new Set(["count", "min", "max"]);
/** Rows taken one by one between two looks at the clock. */
const checkEvery = 1024;

/** [from, to) */
interface RowRange {
  from: number;
  to: number;
}

/** What one task gathers. */
interface Aggregating {
  task: AggregateTask;
  pause: YieldThread;
  grid: BucketGrid;
  filter: Filter;
  /** Steps from the first extraction on, if there is one. */
  rest: RowSteps | undefined;
  groups: GroupTable;
  points: PointTable;
  states: PointStates;
  scanned: Scanned;
}

/** With `settling`, chunks that have to be read are left there. */
export async function aggregateChunks(
  task: AggregateTask,
  open: OpenChunkView,
  pause: YieldThread,
  settling?: Settling,
): Promise<AggregateAnswer> {
  const { filters, rest } = splitSteps(task.steps);
  const aggregating: Aggregating = {
    task,
    pause,
    grid: new BucketGrid(task.fromNs, task.bucketNs),
    filter: { kind: "and", of: filters },
    rest: rest.length === 0 ? undefined : compileRowSteps(rest),
    groups: new GroupTable(task.groupBy.length, groupCaps(task.control, task.isRanked)),
    points: new PointTable(),
    states: new PointStates(task.aggregates),
    scanned: nothingScanned(),
  };
  const damaged: DamagedChunk[] = [];
  const chunks = settling === undefined ? task.chunks : await settleDays(aggregating, open, settling.digests);
  for (const ref of chunks) {
    await pause();
    checkControl(task.control);
    let view: ChunkView | undefined;
    try {
      view = open(ref);
      const parts = unsettled(aggregating, ref, view, settling);
      if (parts === undefined) countSkippedChunk(aggregating.scanned, view.header);
      else if (settling !== undefined) settling.left.push(ref);
      else await aggregateChunk(aggregating, view, parts);
    } catch (error) {
      // The store sets the chunk aside and asks again, so what was counted of it is in no answer.
      damaged.push(toDamagedChunk(ref, error));
    } finally {
      view?.close();
    }
  }
  const { groups, points, states, scanned } = aggregating;
  return {
    groups: groups.count,
    labels: groups.finish(),
    points: points.finish(),
    states: states.finish(points.count),
    scanned,
    damaged,
  };
}

/** Counts days of which digests tell, and gives the other chunks. */
async function settleDays(
  aggregating: Aggregating,
  open: OpenChunkView,
  digests: DaySummaries,
): Promise<ChunkRef[]> {
  const { task, pause, grid, groups, points, states, scanned } = aggregating;
  const [field, ...more] = task.groupBy;
  const isCounted =
    task.steps.length === 0 && more.length === 0 && task.aggregates.every(({ op }) => op === "count");
  if (!isCounted) return task.chunks;
  const days = new Map<string, SealedChunkRef[]>();
  const others: ChunkRef[] = [];
  for (const ref of task.chunks) {
    if (ref.kind !== "sealed") others.push(ref);
    else if (!days.get(ref.dir)?.push(ref)) days.set(ref.dir, [ref]);
  }
  const openInTurn: OpenInTurn = async (ref) => {
    await pause();
    checkControl(task.control);
    return open(ref);
  };
  for (const refs of days.values()) {
    const bucket = wholeBucket(task, grid, refs);
    const found = bucket === undefined ? undefined : await digestOrDamage(digests, field, refs, openInTurn);
    if (bucket === undefined || found === undefined) {
      others.push(...refs);
      continue;
    }
    for (const [text, rows] of found.counts) {
      if (field !== undefined) groups.stageText(toLabel(field, text));
      states.addCount(points.place(groups.numberOfStaged(), bucket), rows);
    }
    addScanned(scanned, found.scanned);
  }
  return others;
}

/** The bucket of all rows of some chunks of a day; undefined where they have several, or some lie outside of the query's range. */
function wholeBucket(
  { fromNs, toNs }: AggregateTask,
  grid: BucketGrid,
  refs: readonly SealedChunkRef[],
): number | undefined {
  const [{ day }] = refs as [SealedChunkRef, ...SealedChunkRef[]];
  const range = rangeInDay(fromNs, toNs, day);
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (const { entry } of refs) {
    least = Math.min(least, entry.timeNsMin);
    greatest = Math.max(greatest, entry.timeNsMax);
  }
  if (least < range.from || greatest >= range.to) return undefined;
  const bucket = grid.bucketOf(day, least);
  return bucket === grid.bucketOf(day, greatest) ? bucket : undefined;
}

/** Undefined where a chunk is damaged: it is met again one by one, and set aside. */
async function digestOrDamage(
  digests: DaySummaries,
  field: Field | undefined,
  refs: readonly SealedChunkRef[],
  open: OpenInTurn,
): Promise<DayValueCounts | undefined> {
  try {
    return await digests.of(field, refs, open);
  } catch (error) {
    // Throws what is no damage.
    toDamagedChunk(refs[0]!, error);
    return undefined;
  }
}

/**
 * The parts of the filter that a chunk's header, filters and templates leave open; undefined where they tell enough: then the chunk is
 * counted.
 */
function unsettled(
  aggregating: Aggregating,
  ref: ChunkRef,
  view: ChunkView,
  settling: Settling | undefined,
): Filter[] | undefined {
  const { task, filter } = aggregating;
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  if (timeNsMax < range.from || timeNsMin >= range.to) return undefined;
  const open = residualFilters(filter, view);
  if (open === undefined) return undefined;
  const textRows = settling === undefined ? unknownTextRows : settling.textRows(open, ref, view);
  if (textRows === undefined) return undefined;
  return settle(aggregating, view, open, textRows) ? undefined : open;
}

async function aggregateChunk(aggregating: Aggregating, view: ChunkView, open: Filter[]): Promise<void> {
  const { task, scanned } = aggregating;
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  scanned.chunks++;
  const isWhole = timeNsMin >= range.from && timeNsMax < range.to;
  const from = isWhole ? 0 : lowerBound(view.timeNs, range.from);
  const to = isWhole ? view.rows : lowerBound(view.timeNs, range.to);
  if (from < to) await aggregateRows(aggregating, view, open, { from, to });
  scanned.rows += to - from;
  scanned.bytes += view.readBytes;
  checkMemory(aggregating, view);
}

/** Takes a chunk in by its header alone, where that is exact; says whether it was. */
function settle(
  { task, grid, rest, groups, points, states }: Aggregating,
  view: ChunkView,
  open: readonly Filter[],
  textRows: CountTextRows,
): boolean {
  const { timeNsMin, timeNsMax } = view.header;
  const range = rangeInDay(task.fromNs, task.toNs, view.day);
  if (rest !== undefined || task.aggregates.some(({ op }) => !headerOps.has(op))) return false;
  if (timeNsMin < range.from || timeNsMax >= range.to) return false;
  const bucket = grid.bucketOf(view.day, timeNsMin);
  if (bucket !== grid.bucketOf(view.day, timeNsMax)) return false;
  const { values } = fieldsReadBy(task.aggregates);
  const bounds = values.map((value) => boundsFromHeader(value, view));
  if (bounds.includes(undefined)) return false;
  const settled = countFromHeader(open, task.groupBy, view, textRows);
  if (settled === undefined) return false;
  // Bounds are those of all rows.
  if (values.length > 0 && settled.counts[0]?.[1] !== view.rows) return false;
  for (const [text, rows] of settled.counts) {
    for (let i = 0; i < task.groupBy.length; i++) {
      groups.stageText(settled.labels[i] ?? toLabel(task.groupBy[i]!, text));
    }
    const place = points.place(groups.numberOfStaged(), bucket);
    states.addCount(place, rows);
    for (const [i, each] of bounds.entries()) {
      if (each !== undefined && each !== "none") states.addBounds(values[i]!, place, each);
    }
  }
  return true;
}

async function aggregateRows(
  aggregating: Aggregating,
  view: ChunkView,
  open: Filter[],
  { from, to }: RowRange,
): Promise<void> {
  const { task, grid, rest } = aggregating;
  const rows = await selectedRows(aggregating, view, open, { from, to });
  if (rows.selection !== null && !view.heap.kernels.anyBit(rows.selection)) return;
  const runs = runsOf(grid, view, from, to);
  if (rest !== undefined) {
    await extractRows(aggregating, view, rows, runs, rest);
    return;
  }
  const codes = groupCodes(view, task.groupBy);
  const cells = codes.cardinality * runs.buckets.length;
  if (cells > denseCellsMax) await sparseRows(aggregating, view, rows, runs, codes);
  else await denseRows(aggregating, view, rows, runs, codes);
}

/** The rows of [from, to) that pass the filters that are open; a selection begins at a whole byte before them. */
async function selectedRows(
  { task, pause }: Aggregating,
  view: ChunkView,
  open: Filter[],
  { from, to }: RowRange,
): Promise<SelectedRows> {
  const first = from & ~7;
  if (open.length === 0) {
    return { from: first, to, selection: first === from ? null : selectRows(view.heap, first, from, to) };
  }
  const checkpoint = () => checkControl(task.control);
  return {
    from: first,
    to,
    selection: await matchingRows({ kind: "and", of: open }, view, { from, to }, checkpoint, pause),
  };
}

/** Times are left alone where the header says that one bucket holds them all. */
function runsOf(grid: BucketGrid, view: ChunkView, from: number, to: number): BucketRuns {
  const bucket = grid.bucketOf(view.day, view.header.timeNsMin);
  if (bucket === grid.bucketOf(view.day, view.header.timeNsMax)) {
    return { bounds: Uint32Array.of(from, to), buckets: Float64Array.of(bucket) };
  }
  return grid.runsOf(view.day, view.timeNs, from, to);
}

/** Every cell (a group in a run) at once, by kernels. */
async function denseRows(
  aggregating: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: BucketRuns,
  { codes, cardinality, stage }: GroupCodes,
): Promise<void> {
  const { groups, points } = aggregating;
  const groupOf = new Int32Array(cardinality).fill(-1);
  const cells = countRuns(view.heap, rows, { runs, codes, cardinality }, (run, code) => {
    if (groupOf[code]! < 0) {
      stage(code, groups);
      groupOf[code] = groups.numberOfStaged();
    }
    return points.place(groupOf[code]!, runs.buckets[run]!);
  });
  await addCells(aggregating, cells, columnFields(aggregating, view, rows));
}

/** Row by row, where cells are too many to have a counter each. */
async function sparseRows(
  aggregating: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: BucketRuns,
  { codes, cardinality, stage }: GroupCodes,
): Promise<void> {
  const { groups, points } = aggregating;
  const groupOf = new Int32Array(cardinality).fill(-1);
  const cells = new CellsByRow(view.heap, rows.to - rows.from);
  await eachSelected(aggregating, view, rows, runs, (row, bucket) => {
    const code = codes === null ? 0 : codes[row]!;
    if (groupOf[code]! < 0) {
      stage(code, groups);
      groupOf[code] = groups.numberOfStaged();
    }
    cells.put(row - rows.from, points.place(groupOf[code]!, bucket));
  });
  await addCells(aggregating, cells.finish(), columnFields(aggregating, view, rows));
}

/** Row by row through the steps, for what is extracted differs from row to row. */
async function extractRows(
  aggregating: Aggregating,
  view: ChunkView,
  rows: SelectedRows,
  runs: BucketRuns,
  passes: RowSteps,
): Promise<void> {
  const { task, groups, points } = aggregating;
  const cells = new CellsByRow(view.heap, rows.to - rows.from);
  const fields = new ExtractedFields(view, rows, task.aggregates);
  await eachSelected(aggregating, view, rows, runs, (row, bucket) => {
    const state = readRowState(view, row);
    if (!passes(state)) return;
    for (const field of task.groupBy) groups.stageText(toLabel(field, fieldText(state, field)));
    cells.put(row - rows.from, points.place(groups.numberOfStaged(), bucket));
    fields.put(row - rows.from, state);
  });
  await addCells(aggregating, cells.finish(), fields);
}

function addCells({ task, states, points }: Aggregating, cells: CellRows, fields: RowFields): Promise<void> {
  const isWhole = (place: number) => !isSharedBucket(task.shared, points.bucketOf(place));
  return states.add(cells, fields, points.count, isWhole);
}

function columnFields({ task, pause }: Aggregating, view: ChunkView, rows: SelectedRows): RowFields {
  const turn = async () => {
    checkControl(task.control);
    await pause();
  };
  return new ColumnFields(view, rows, turn);
}

async function eachSelected(
  aggregating: Aggregating,
  view: ChunkView,
  { from, selection }: SelectedRows,
  { bounds, buckets }: BucketRuns,
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

function checkMemory({ task, groups, points, states, scanned }: Aggregating, view: ChunkView): void {
  const memoryBytes = view.decodedBytes + groups.byteLength + points.byteLength + states.byteLength;
  checkCaps(task.control, { memoryBytes, scannedRows: scanned.rows });
}

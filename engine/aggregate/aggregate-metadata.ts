/**
 * Computes aggregates without reading a column: from summaries of whole days, from chunk headers, and from templates.
 */
import type { ChunkExtent } from "../chunk/chunk-entry.ts";
import { type ChunkRef, chunkSize, type SealedChunkRef, toDamagedChunk } from "../chunk/chunk-ref.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Field } from "../plan/filter.ts";
import { checkControl } from "../plan/query-control.ts";
import { addScanStatistics, countSkippedChunk } from "../plan/scan-statistics.ts";
import type { AnswerSource, ChunkAnswerSource, OpenChunk } from "../summary/answer-source.ts";
import type { DaySummaries, DayValueCounts, OpenInTurn, UncountedDay } from "../summary/day-summaries.ts";
import { boundsFromHeader, type CountTextRows, countFromHeader, toLabel } from "../summary/header-counts.ts";
import type { CountTexts } from "../summary/template-counts.ts";
import type { AggregationState } from "./aggregation-state.ts";
import { collectReadFields } from "./point-states.ts";

/** Aggregations that a chunk's header has the numbers for. */
const headerOps: ReadonlySet<Aggregation["op"]> = new Set(["count", "min", "max"]);

/**
 * Counts the rows of days by one field from day summaries. The query must have no filter, and a day's rows must fall
 * into one bucket. Days whose counts are worth keeping once the scan threads have found them are added to `uncounted`, and
 * their chunks left out of the residual ones.
 */
export function fromDaySummaries(
  state: AggregationState,
  summaries: DaySummaries,
  uncounted: UncountedDay[],
): AnswerSource {
  const { task } = state;
  const isCountByOneField =
    task.steps.length === 0 && task.groupBy.length <= 1 && task.aggregates.every(({ op }) => op === "count");
  return async (chunks) => {
    if (!isCountByOneField) return chunks;
    return addDays(chunks, (refs) => addDay(state, summaries, refs, uncounted));
  };
}

/** Greatest number of days that the scan threads answer separately: a thread holds the groups of all of them at a time. */
const uncountedDaysMax = 8;

/** Adds day after day; returns the chunks of those that `add` leaves out, and those that are not sealed. */
export async function addDays(
  chunks: readonly ChunkRef[],
  add: (refs: readonly SealedChunkRef[]) => Promise<boolean>,
): Promise<readonly ChunkRef[]> {
  const residual: ChunkRef[] = [];
  const days = new Map<string, SealedChunkRef[]>();
  for (const ref of chunks) {
    if (ref.kind !== "sealed") residual.push(ref);
    else if (!days.get(ref.dir)?.push(ref)) days.set(ref.dir, [ref]);
  }
  for (const refs of days.values()) {
    if (await add(refs)) continue;
    for (const ref of refs) residual.push(ref);
  }
  return residual;
}

/**
 * Adds all rows of some chunks of one day to the answer, or the day to `uncounted`. Returns false where it did neither,
 * since the summary does not give their counts.
 */
async function addDay(
  state: AggregationState,
  summaries: DaySummaries,
  refs: readonly SealedChunkRef[],
  uncounted: UncountedDay[],
): Promise<boolean> {
  const { task, open, groups, points, states, scanned } = state;
  const [field] = task.groupBy;
  const bucket = commonBucket(state, refs);
  if (bucket === undefined) return false;
  const openInTurn: OpenInTurn = async (ref) => {
    await state.yieldThread();
    checkControl(task.control);
    return open(ref);
  };
  const found = await summaryUnlessDamaged(summaries, field, refs, openInTurn);
  if (found === undefined) {
    const isWorthCounting =
      field !== undefined &&
      uncounted.length < uncountedDaysMax &&
      summaries.isWorthCounting({ field, refs });
    if (isWorthCounting) uncounted.push({ field, refs });
    return isWorthCounting;
  }
  for (const [text, rows] of found.counts) {
    if (field !== undefined) groups.stageText(toLabel(field, text));
    states.addCount(points.findOrAdd(groups.findOrAddStaged(), bucket), rows);
  }
  addScanStatistics(scanned, found.scanned);
  scanned.chunksCounted += refs.length;
  return true;
}

/** The bucket of all rows of some chunks of a day; see `bucketOfExtent`. */
export function commonBucket(state: AggregationState, refs: readonly SealedChunkRef[]): number | undefined {
  const [{ day }] = refs as [SealedChunkRef, ...SealedChunkRef[]];
  let timeNsMin = Number.POSITIVE_INFINITY;
  let timeNsMax = Number.NEGATIVE_INFINITY;
  for (const { entry } of refs) {
    timeNsMin = Math.min(timeNsMin, entry.timeNsMin);
    timeNsMax = Math.max(timeNsMax, entry.timeNsMax);
  }
  return bucketOfExtent(state, day, { timeNsMin, timeNsMax });
}

/**
 * The bucket that contains all rows of a range of time within a day; undefined where they have several buckets, or some
 * rows lie outside the query's range.
 */
export function bucketOfExtent(
  { task, grid }: AggregationState,
  day: number,
  { timeNsMin, timeNsMax }: Pick<ChunkExtent, "timeNsMin" | "timeNsMax">,
): number | undefined {
  const range = clampToDay(task.fromNs, task.toNs, day);
  if (timeNsMin < range.from || timeNsMax >= range.to) return undefined;
  const bucket = grid.bucketOf(day, timeNsMin);
  return bucket === grid.bucketOf(day, timeNsMax) ? bucket : undefined;
}

/**
 * Returns undefined where a chunk is damaged: the next source opens the chunks one by one and reports the damaged ones.
 */
async function summaryUnlessDamaged(
  summaries: DaySummaries,
  field: Field | undefined,
  refs: readonly SealedChunkRef[],
  open: OpenInTurn,
): Promise<DayValueCounts | undefined> {
  try {
    return await summaries.of(field, refs, open);
  } catch (error) {
    // Rethrows an error that does not mean damage.
    toDamagedChunk(refs[0]!, error);
    return undefined;
  }
}

/** Aggregates a chunk from its header alone, where that is exact. `countTexts` counts the rows that contain a text. */
export function fromHeader(state: AggregationState, countTexts: CountTexts): ChunkAnswerSource {
  return (chunk) => {
    const textRows = countTexts(chunk.residual, chunk.ref, chunk.view);
    // No row passes where `textRows` is undefined.
    if (textRows === undefined) state.conditions?.noteTextExcluded(chunk.residual, chunk.view);
    else if (!addFromHeader(state, chunk, textRows)) return false;
    else state.scanned.chunksCounted++;
    countSkippedChunk(state.scanned, chunkSize(chunk.ref));
    return true;
  };
}

/**
 * Adds a chunk's part of the answer from its header. Returns false, and adds nothing, where the header does not give
 * that part.
 */
function addFromHeader(
  state: AggregationState,
  { view, residual }: OpenChunk,
  textRows: CountTextRows,
): boolean {
  const { task, extraction, groups, points, states } = state;
  if (extraction !== undefined || task.aggregates.some(({ op }) => !headerOps.has(op))) return false;
  const bucket = bucketOfExtent(state, view.day, view.header);
  if (bucket === undefined) return false;
  const { values } = collectReadFields(task.aggregates);
  const bounds = values.map((value) => boundsFromHeader(value, view));
  if (bounds.includes(undefined)) return false;
  const counted = countFromHeader(residual, task.groupBy, view, textRows);
  if (counted === undefined) return false;
  // The header's bounds are those of all rows, so all rows must pass.
  if (values.length > 0 && counted.counts[0]?.[1] !== view.rows) return false;
  for (const [text, rows] of counted.counts) {
    for (let i = 0; i < task.groupBy.length; i++) {
      groups.stageText(counted.labels[i] ?? toLabel(task.groupBy[i]!, text));
    }
    const place = points.findOrAdd(groups.findOrAddStaged(), bucket);
    states.addCount(place, rows);
    for (const [i, each] of bounds.entries()) {
      if (each !== undefined && each !== "none") states.addBounds(values[i]!, place, each);
    }
  }
  return true;
}

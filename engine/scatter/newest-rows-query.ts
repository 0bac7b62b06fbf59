/** Finds the newest rows over all scan threads. */

import { type ChunkRef, chunkSize, extentOf } from "../chunk/chunk-ref.ts";
import { clampToDay } from "../model/day-range.ts";
import type { RowQuery, SearchResult } from "../plan/row-query.ts";
import { countUnreadChunk } from "../plan/scan-statistics.ts";
import { decodeFoundRow } from "../scan/found-rows.ts";
import { compareNewestFirst } from "../scan/newest-rows.ts";
import type { SearchAnswer, SearchTask } from "../scan/newest-scan.ts";
import type { MetadataAnswer } from "../worker/scan-executor.ts";
import {
  askScanThreads,
  type QueryContext,
  type ScatterContext,
  scatterGather,
  sumScanStatistics,
} from "./scatter-gather.ts";

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryNewestRows(context: QueryContext, query: RowQuery): Promise<SearchResult> {
  const { control } = context;
  const { signal, fromNs, after, steps } = query;
  const toNs = after !== undefined && after.timeNs < query.toNs ? after.timeNs + 1n : query.toNs;
  // One row more than asked for tells whether there is a next page.
  const limit = query.limit + 1;
  const answers = await scatterGather<SearchAnswer>(
    context,
    { signal, fromNs, toNs },
    (chunks) => ({ kind: "search", chunks, fromNs, toNs, after, steps, limit, control }),
    (residual, metadata) => askNewest(context.threads, residual as SearchTask, metadata),
  );
  return mergeAnswers(answers, query.limit);
}

/**
 * The newest chunk is asked alone first where it seems to hold this many times the rows asked for. Chosen, not
 * measured.
 */
const surplus = 2;

/**
 * Asks the thread of the newest chunk first where that chunk seems to hold all rows asked for: other chunks seldom have
 * newer ones.
 */
async function askNewest(
  threads: ScatterContext["threads"],
  task: SearchTask,
  metadata: MetadataAnswer | undefined,
): Promise<SearchAnswer[]> {
  const { chunks } = task;
  const [newest] = chunks;
  if (newest === undefined || rowsExpected(newest, task, metadata) < task.limit * surplus)
    return askScanThreads<SearchAnswer>(threads, task);
  const first = await askScanThreads<SearchAnswer>(threads, { ...task, chunks: [newest] });
  const [{ rows, scanned, damaged }] = first as [SearchAnswer];
  if (damaged.length > 0) return first;
  const last = rows.timeNs.length - 1;
  const isFull = rows.timeNs.length === task.limit;
  const others = chunks.slice(1).filter((ref) => {
    if (!isFull || mayReach(ref, rows.day[last]!, rows.timeNs[last]!)) return true;
    countUnreadChunk(scanned, chunkSize(ref));
    return false;
  });
  if (others.length === 0) return first;
  return [...first, ...(await askScanThreads<SearchAnswer>(threads, { ...task, chunks: others }))];
}

/** An estimate of the matching rows in the newest residual chunk; 0 where it is not known. */
function rowsExpected(ref: ChunkRef, { fromNs, toNs, steps }: SearchTask, metadata?: MetadataAnswer): number {
  const { rows, timeNsMin, timeNsMax } = extentOf(ref);
  const passing = metadata?.rowsInFirst ?? (steps.length === 0 ? rows : 0);
  const range = clampToDay(fromNs, toNs, ref.day);
  const within = Math.min(timeNsMax + 1, range.to) - Math.max(timeNsMin, range.from);
  return (passing * within) / (timeNsMax + 1 - timeNsMin);
}

/** Whether a chunk may have rows at or after a time. `timeNs`: since the start of the day. */
function mayReach(ref: ChunkRef, day: number, timeNs: number): boolean {
  const { timeNsMax } = extentOf(ref);
  return ref.day > day || (ref.day === day && timeNsMax >= timeNs);
}

function mergeAnswers(answers: readonly SearchAnswer[], limit: number): SearchResult {
  const places = answers.flatMap(({ rows }) =>
    Array.from(rows.day, (day, i) => ({ day, timeNs: rows.timeNs[i]!, arrival: rows.arrival[i]!, rows, i })),
  );
  places.sort(compareNewestFirst);
  const rows = places.slice(0, limit).map(({ rows, i }) => decodeFoundRow(rows, i));
  return { rows, more: places.length > limit, scanned: sumScanStatistics(answers) };
}

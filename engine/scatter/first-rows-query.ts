/** Finds the first rows of an order over all scan threads. */

import { type ChunkRef, chunkSize, extentOf } from "../chunk/chunk-ref.ts";
import { clampToDay } from "../model/day-range.ts";
import type { RowOrder, RowQuery, SearchResult } from "../plan/row-query.ts";
import { countSkippedChunk } from "../plan/scan-statistics.ts";
import { compareIn } from "../scan/first-rows.ts";
import type { SearchAnswer, SearchTask } from "../scan/first-rows-scan.ts";
import { decodeFoundRow } from "../scan/found-rows.ts";
import type { MetadataAnswer } from "../worker/scan-executor.ts";
import {
  askScanThreads,
  type QueryContext,
  type ScatterContext,
  scatterGather,
  sumScanStatistics,
} from "./scatter-gather.ts";

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryFirstRows(context: QueryContext, query: RowQuery): Promise<SearchResult> {
  const { control } = context;
  const { signal, order = "newest", after, steps, isExplained = false } = query;
  const { fromNs, toNs } = rangeAfter(query);
  // One row more than asked for tells whether there is a next page.
  const limit = query.limit + 1;
  const answers = await scatterGather<SearchAnswer>(
    context,
    { signal, fromNs, toNs },
    (found) => {
      const chunks = order === "newest" ? found : found.toReversed();
      return { kind: "search", order, chunks, fromNs, toNs, after, steps, isExplained, limit, control };
    },
    (residual, metadata) => askNearest(context.threads, residual as SearchTask, metadata),
  );
  return mergeAnswers(answers, query.limit, order);
}

/** The part of the range that may hold rows after the position. */
function rangeAfter({ fromNs, toNs, after, order }: RowQuery): { fromNs: bigint; toNs: bigint } {
  if (after === undefined) return { fromNs, toNs };
  if (order === "oldest") return { fromNs: after.timeNs > fromNs ? after.timeNs : fromNs, toNs };
  return { fromNs, toNs: after.timeNs < toNs ? after.timeNs + 1n : toNs };
}

/**
 * The first chunk is asked alone where it seems to hold this many times the rows asked for. Chosen, not
 * measured.
 */
const surplus = 2;

/**
 * Asks the thread of the first chunk alone where that chunk seems to hold all rows asked for: other chunks seldom have
 * rows before those.
 */
async function askNearest(
  threads: ScatterContext["threads"],
  task: SearchTask,
  metadata: MetadataAnswer | undefined,
): Promise<SearchAnswer[]> {
  const { chunks } = task;
  const [nearest] = chunks;
  if (nearest === undefined || rowsExpected(nearest, task, metadata) < task.limit * surplus)
    return askScanThreads<SearchAnswer>(threads, task);
  const first = await askScanThreads<SearchAnswer>(threads, { ...task, chunks: [nearest] });
  const [{ rows, scanned, damaged }] = first as [SearchAnswer];
  if (damaged.length > 0) return first;
  const last = rows.timeNs.length - 1;
  const isFull = rows.timeNs.length === task.limit;
  const others = chunks.slice(1).filter((ref) => {
    if (!isFull || mayReach(ref, task.order, rows.day[last]!, rows.timeNs[last]!)) return true;
    countSkippedChunk(scanned, chunkSize(ref));
    return false;
  });
  if (others.length === 0) return first;
  return [...first, ...(await askScanThreads<SearchAnswer>(threads, { ...task, chunks: others }))];
}

/** An estimate of the matching rows in the first residual chunk; 0 where it is not known. */
function rowsExpected(ref: ChunkRef, { fromNs, toNs, steps }: SearchTask, metadata?: MetadataAnswer): number {
  const { rows, timeNsMin, timeNsMax } = extentOf(ref);
  const passing = metadata?.rowsInFirst ?? (steps.length === 0 ? rows : 0);
  const range = clampToDay(fromNs, toNs, ref.day);
  const within = Math.min(timeNsMax + 1, range.to) - Math.max(timeNsMin, range.from);
  return (passing * within) / (timeNsMax + 1 - timeNsMin);
}

/** Whether a chunk may have rows that do not stand after a time. `timeNs`: since the start of the day. */
function mayReach(ref: ChunkRef, order: RowOrder, day: number, timeNs: number): boolean {
  const { timeNsMin, timeNsMax } = extentOf(ref);
  if (ref.day !== day) return order === "newest" ? ref.day > day : ref.day < day;
  return order === "newest" ? timeNsMax >= timeNs : timeNsMin <= timeNs;
}

function mergeAnswers(answers: readonly SearchAnswer[], limit: number, order: RowOrder): SearchResult {
  const places = answers.flatMap(({ rows }) =>
    Array.from(rows.day, (day, i) => ({ day, timeNs: rows.timeNs[i]!, arrival: rows.arrival[i]!, rows, i })),
  );
  places.sort(compareIn(order));
  const rows = places.slice(0, limit).map(({ rows, i }) => decodeFoundRow(rows, i));
  return { rows, more: places.length > limit, scanned: sumScanStatistics(answers) };
}

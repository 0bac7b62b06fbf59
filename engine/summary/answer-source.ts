/**
 * Sources of an answer, from the cheapest to the dearest: day summaries, chunk headers, templates, columns. Each
 * answers for the chunks that it can and leaves the others to the next.
 */
import { type ChunkRef, chunkSize, extentOf, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ChunkTask, ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { findResidualFilters } from "../filter/chunk-pruning.ts";
import type { ConditionCounter } from "../filter/condition-counter.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Filter } from "../plan/filter.ts";
import { checkControl } from "../plan/query-control.ts";
import { countSkippedChunk } from "../plan/scan-statistics.ts";

/**
 * Adds what it knows of some chunks to the answer; returns the chunks that it leaves to the next source. Throws Failure
 * "input", "deadline", "cancelled", "limit".
 */
export type AnswerSource = (chunks: Residual) => Promise<Residual>;

/** The chunks that are left to the next source. */
type Residual = readonly ChunkRef[];

/** A chunk that may hold matching rows, opened for one query. */
export interface OpenChunk {
  ref: ChunkRef;
  view: ChunkView;
  /** The filters that the chunk's statistics leave undecided; every row passes the others. */
  residual: readonly Filter[];
}

/** Adds one chunk to the answer; false leaves it to the next source. */
export type ChunkAnswerSource = (chunk: OpenChunk) => boolean | Promise<boolean>;

/** What all sources of one query on one thread share. Counts and damaged chunks are added to it. */
export interface ChunkScan extends ScanAnswer, ChunkAccess {
  task: SelectionTask;
  /** The filters before the first extraction. */
  filter: Filter;
  /** Where the query is to be explained. */
  conditions?: ConditionCounter | undefined;
  /** False for a chunk whose rows cannot change the answer any more; without it every chunk is needed. */
  isNeeded?: (ref: ChunkRef) => boolean;
}

/** Asks each source for what the sources before it left; returns the chunks that no source answered for. */
export async function answerFrom(sources: readonly AnswerSource[], { chunks }: ChunkTask): Promise<Residual> {
  let residual: Residual = chunks;
  for (const source of sources) residual = await source(residual);
  return residual;
}

/**
 * Opens the chunks one by one. Skips those whose times, header or filters exclude matching rows, and asks `sources` in
 * turn for each of the others. Chunks of `leftToOthers` are not opened: they are residual.
 */
export function eachChunk(scan: ChunkScan, sources: readonly ChunkAnswerSource[]): AnswerSource {
  return async (chunks) => {
    const residual: ChunkRef[] = [];
    const left = scan.leftToOthers?.(chunks);
    for (const ref of chunks) {
      await scan.yieldThread();
      checkControl(scan.task.control);
      if (!mayHaveRows(scan, ref)) {
        countSkippedChunk(scan.scanned, chunkSize(ref));
        continue;
      }
      if (left?.has(ref) === true) {
        residual.push(ref);
        continue;
      }
      if (!(await scan.useColumns(() => isAnswered(scan, ref, sources)))) residual.push(ref);
    }
    return residual;
  };
}

/** Whether one of the sources answered for a chunk, or no row of it can be in the answer, or it is damaged. */
async function isAnswered(
  scan: ChunkScan,
  ref: ChunkRef,
  sources: readonly ChunkAnswerSource[],
): Promise<boolean> {
  let view: ChunkView | undefined;
  try {
    view = scan.open(ref);
    const residual = undecidedFilters(scan, view);
    if (residual === undefined) {
      countSkippedChunk(scan.scanned, chunkSize(ref));
      return true;
    }
    for (const source of sources) if (await source({ ref, view, residual })) return true;
    return false;
  } catch (error) {
    // The store quarantines the damaged chunk and repeats the query, so what was counted of the chunk is discarded.
    scan.damaged.push(toDamagedChunk(ref, error));
    return true;
  } finally {
    view?.close();
  }
}

/** Whether the time range has a part of the chunk, and the answer needs it. */
function mayHaveRows({ task, isNeeded }: ChunkScan, ref: ChunkRef): boolean {
  const { timeNsMin, timeNsMax } = extentOf(ref);
  const range = clampToDay(task.fromNs, task.toNs, ref.day);
  return timeNsMax >= range.from && timeNsMin < range.to && isNeeded?.(ref) !== false;
}

/** The filters that statistics leave undecided; undefined where no row of the chunk can be in the answer. */
function undecidedFilters({ filter, conditions }: ChunkScan, view: ChunkView): Filter[] | undefined {
  const residual = findResidualFilters(filter, view);
  if (residual === undefined) conditions?.noteExcluded(view);
  return residual;
}

/** Answers for every chunk, by reading its columns. */
export function fromColumns(read: (chunk: OpenChunk) => Promise<void>): ChunkAnswerSource {
  return async (chunk) => {
    await read(chunk);
    return true;
  };
}

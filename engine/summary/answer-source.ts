/**
 * Sources of an answer, from the cheapest to the dearest: day summaries, chunk headers, templates, columns. Each
 * answers for the chunks that it can and leaves the others to the next.
 */
import { type ChunkRef, type DamagedChunk, type OpenChunkView, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { findResidualFilters } from "../filter/chunk-pruning.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Filter } from "../plan/filter.ts";
import { checkControl, type QueryControl, type YieldThread } from "../plan/query-control.ts";
import { countSkippedChunk, type ScanStatistics } from "../plan/scan-statistics.ts";

/**
 * Adds what it knows of some chunks to the answer; returns the chunks that it leaves to the next source. Throws Failure
 * "input", "deadline", "cancelled", "limit".
 */
export type AnswerSource = (chunks: readonly ChunkRef[]) => Promise<readonly ChunkRef[]>;

/** A chunk that may hold matching rows, opened for one query. */
export interface OpenChunk {
  ref: ChunkRef;
  view: ChunkView;
  /** The filters that the chunk's statistics leave undecided; every row passes the others. */
  residual: readonly Filter[];
}

/** Adds one chunk to the answer; false leaves it to the next source. */
export type ChunkAnswerSource = (chunk: OpenChunk) => boolean | Promise<boolean>;

/** What all sources of one query on one thread share. */
export interface ChunkScan {
  /** Nanoseconds since the epoch, half-open. */
  fromNs: bigint;
  toNs: bigint;
  /** The filters before the first extraction. */
  filter: Filter;
  control: QueryControl;
  open: OpenChunkView;
  yieldThread: YieldThread;
  /** Counts are added here. */
  scanned: ScanStatistics;
  /** Chunks that could not be read are added here. */
  damaged: DamagedChunk[];
  /** False for a chunk whose rows cannot change the answer any more; without it every chunk is needed. */
  isNeeded?: (view: ChunkView) => boolean;
}

/** Asks each source for what the sources before it left; returns the chunks that no source answered for. */
export async function answerFrom(
  sources: readonly AnswerSource[],
  chunks: readonly ChunkRef[],
): Promise<readonly ChunkRef[]> {
  let residual = chunks;
  for (const source of sources) residual = await source(residual);
  return residual;
}

/**
 * Opens the chunks one by one, skips those that cannot hold matching rows, and asks `sources` in turn for each of the
 * others.
 */
export function eachChunk(scan: ChunkScan, sources: readonly ChunkAnswerSource[]): AnswerSource {
  return async (chunks) => {
    const residual: ChunkRef[] = [];
    for (const ref of chunks) {
      await scan.yieldThread();
      checkControl(scan.control);
      let view: ChunkView | undefined;
      try {
        view = scan.open(ref);
        if (!(await isAnswered(scan, ref, view, sources))) residual.push(ref);
      } catch (error) {
        // The store quarantines the chunk and asks again, so what was counted of it is in no answer.
        scan.damaged.push(toDamagedChunk(ref, error));
      } finally {
        view?.close();
      }
    }
    return residual;
  };
}

async function isAnswered(
  scan: ChunkScan,
  ref: ChunkRef,
  view: ChunkView,
  sources: readonly ChunkAnswerSource[],
): Promise<boolean> {
  const residual = undecidedFilters(scan, view);
  if (residual === undefined) {
    countSkippedChunk(scan.scanned, view.header);
    return true;
  }
  const chunk = { ref, view, residual };
  for (const source of sources) if (await source(chunk)) return true;
  return false;
}

/** The filters that statistics leave undecided; undefined where no row of the chunk can be in the answer. */
function undecidedFilters(
  { fromNs, toNs, filter, isNeeded }: ChunkScan,
  view: ChunkView,
): Filter[] | undefined {
  const { timeNsMin, timeNsMax } = view.header;
  const range = clampToDay(fromNs, toNs, view.day);
  if (timeNsMax < range.from || timeNsMin >= range.to || isNeeded?.(view) === false) return undefined;
  return findResidualFilters(filter, view);
}

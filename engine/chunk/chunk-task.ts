/** What the tasks of scan threads have in common, and their answers. */
import type { RangeSelection } from "../plan/filter.ts";
import type { QueryControl, YieldThread } from "../plan/query-control.ts";
import type { ScanStatistics } from "../plan/scan-statistics.ts";
import type { ChunkRef, DamagedChunk, OpenChunkView } from "./chunk-ref.ts";

/** The chunks that one thread looks into for a query, and the query's limits. */
export interface ChunkTask {
  chunks: ChunkRef[];
  control: QueryControl;
}

/** Asks one thread for what some chunks have of a selection. */
export interface SelectionTask extends ChunkTask, RangeSelection {}

/** What the answers of all threads have in common. */
export interface ScanAnswer {
  scanned: ScanStatistics;
  /** Chunks that the thread could not read. */
  damaged: DamagedChunk[];
}

/** What a scan needs of its thread. */
export interface ChunkAccess {
  open: OpenChunkView;
  /**
   * Runs work that opens chunks and closes them again; other queries may have to give memory back first. The work must not
   * call this again. Throws what `checkControl` throws while it waits. Where memory is short all of the task runs once more.
   */
  useColumns: <T>(work: () => T | Promise<T>) => Promise<T>;
  yieldThread: YieldThread;
  /** Which of the chunks this thread must not open, since scan threads will read them; by default none. */
  leftToOthers?: (chunks: readonly ChunkRef[]) => ReadonlySet<ChunkRef>;
}

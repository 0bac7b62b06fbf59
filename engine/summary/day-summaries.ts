/**
 * Counts by one field over all chunks of a day, added up once from the chunk headers. A count over whole days then
 * takes time in proportion to the days, whatever the number of their chunks.
 */

import type { SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Field } from "../plan/filter.ts";
import { countSkippedChunk, emptyScanStatistics, type ScanStatistics } from "../plan/scan-statistics.ts";
import { fieldKey, listedValueCounts } from "./header-counts.ts";

/** Opens a chunk after letting other work of the thread run. */
export type OpenInTurn = (ref: SealedChunkRef) => Promise<ChunkView>;

/** The counts of a day, and what was skipped to get them. */
export interface DayValueCounts {
  /** Rows by the text of the field; `undefined` stands for the rows that lack it. */
  counts: ReadonlyMap<string | undefined, number>;
  scanned: ScanStatistics;
}

interface DaySummary {
  /** The chunks that were added up: their checksums by their ids. */
  chunks: ReadonlyMap<number, number>;
  /** Undefined where some header does not list the texts, or where there are too many of them. */
  found: DayValueCounts | undefined;
}

/** Summaries kept, one for each day and field. Chosen, not measured. */
const digestsMax = 256;
/** Distinct texts in one summary. Chosen, not measured. */
const textsMax = 1_024;

export class DaySummaries {
  /** By the partition's folder and the field, in order of last use. */
  readonly #digests = new Map<string, DaySummary>();

  /**
   * The counts of all rows of some chunks of one partition. Undefined where their headers do not list the texts, and
   * where they are only a part of the chunks of a summary that is there. Throws Failure "damage".
   */
  async of(
    field: Field | undefined,
    refs: readonly SealedChunkRef[],
    open: OpenInTurn,
  ): Promise<DayValueCounts | undefined> {
    const key = `${refs[0]!.dir} ${field === undefined ? "" : fieldKey(field)}`;
    const known = this.#digests.get(key);
    const others = known === undefined ? refs.length : othersAmong(refs, known.chunks);
    if (others === 0 && known!.chunks.size > refs.length) return undefined;
    const digest = others === 0 ? known! : await summarizeDay(field, refs, open);
    this.#digests.delete(key);
    this.#digests.set(key, digest);
    const [oldest] = this.#digests.size > digestsMax ? this.#digests.keys() : [];
    if (oldest !== undefined) this.#digests.delete(oldest);
    return digest.found;
  }
}

/** How many of the chunks are not part of a summary. */
function othersAmong(refs: readonly SealedChunkRef[], chunks: ReadonlyMap<number, number>): number {
  let others = 0;
  for (const { entry } of refs) if (chunks.get(entry.id) !== entry.checksum) others++;
  return others;
}

async function summarizeDay(
  field: Field | undefined,
  refs: readonly SealedChunkRef[],
  open: OpenInTurn,
): Promise<DaySummary> {
  const chunks = new Map(refs.map(({ entry }) => [entry.id, entry.checksum]));
  const counts = new Map<string | undefined, number>();
  const scanned = emptyScanStatistics();
  for (const ref of refs) {
    const view = await open(ref);
    try {
      const listed = field === undefined ? [[undefined, view.rows] as const] : listedValueCounts(field, view);
      if (listed === undefined) return { chunks, found: undefined };
      for (const [text, rows] of listed) counts.set(text, (counts.get(text) ?? 0) + rows);
      countSkippedChunk(scanned, view.header);
    } finally {
      view.close();
    }
    if (counts.size > textsMax) return { chunks, found: undefined };
  }
  return { chunks, found: { counts, scanned } };
}

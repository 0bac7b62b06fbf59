/**
 * Rows by one field of all chunks of a day, as the chunks' headers list them, added up once: a count over days then takes as long as
 * the days are many, whatever the number of their chunks.
 */

import type { SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Field } from "../plan/filter.ts";
import { countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import { fieldKey, listedValueCounts } from "./header-counts.ts";

/** Opens a chunk once other work of the thread has had its turn. */
export type OpenInTurn = (ref: SealedChunkRef) => Promise<ChunkView>;

/** The rows of each text of the field; undefined stands for the rows that lack it. */
export interface DayValueCounts {
  counts: ReadonlyMap<string | undefined, number>;
  scanned: Scanned;
}

interface DaySummary {
  /** Checksums of the chunks that are added up, by their numbers. */
  chunks: ReadonlyMap<number, number>;
  /** Undefined where some header does not list the texts, or they are too many. */
  found: DayValueCounts | undefined;
}

/** Days and fields of which sums are kept. */
const digestsMax = 256;
const textsMax = 1_024;

export class DaySummaries {
  /** By folder and field, in order of last use. */
  readonly #digests = new Map<string, DaySummary>();

  /**
   * Of all rows of these chunks of one folder; undefined where their headers do not tell, and where they are only a part of those that
   * are added up. Throws Failure "damage".
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

/** How many are not among the chunks. */
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
  const scanned = nothingScanned();
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

/**
 * Counts by one field over all chunks of a day: added up once from the chunk headers or, of an attribute whose values the
 * headers do not list, kept from an answer of the scan threads. A count over whole days then takes time in proportion to
 * the days and their values, whatever the number of chunks and rows.
 */

import type { SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { type Field, fieldKey } from "../plan/filter.ts";
import { countSkippedChunk, emptyScanStatistics, type ScanStatistics } from "../plan/scan-statistics.ts";
import { listedValueCounts } from "./header-counts.ts";

/** Opens a chunk after letting other work of the thread run. */
export type OpenInTurn = (ref: SealedChunkRef) => Promise<ChunkView>;

/** The counts of a day, and what was skipped to get them. */
export interface DayValueCounts {
  /** Rows by the text of the field; `undefined` stands for the rows that lack it. */
  counts: ReadonlyMap<string | undefined, number>;
  scanned: ScanStatistics;
}

/** Chunks of one day, and an attribute by which their rows are not counted yet. */
export interface UncountedDay {
  field: Field;
  refs: readonly SealedChunkRef[];
}

interface DaySummary {
  /** The chunks that were added up: their checksums by their ids. */
  chunks: ReadonlyMap<number, number>;
  /** Undefined where some header does not list the texts, or where there are too many of them. */
  found: DayValueCounts | undefined;
  /** Whether a query has asked for the counts since the headers turned out not to give them. */
  isAskedAgain: boolean;
  /** There are too many values to keep their counts. */
  isTooLarge: boolean;
}

/** Summaries kept, one for each day and field. Chosen, not measured. */
const summariesMax = 256;
/** Distinct texts in one summary that is made from headers. Chosen, not measured. */
const textsMax = 1_024;
/** A day with more distinct texts, or with more bytes of them in the answer of a thread, is too large to keep its counts. */
export const keptCountsMax = 16_384;
export const keptLabelBytesMax = 256 * 1024;
/** Distinct texts in all summaries together. */
const allTextsMax = 131_072;

export class DaySummaries {
  /** By the partition's folder and the field, in order of last use. */
  readonly #summaries = new Map<string, DaySummary>();

  /**
   * The counts of all rows of some chunks of one partition. Undefined where their headers do not list the texts, and
   * where they are only a part of the chunks of a summary that is there. Throws Failure "damage".
   */
  async of(
    field: Field | undefined,
    refs: readonly SealedChunkRef[],
    open: OpenInTurn,
  ): Promise<DayValueCounts | undefined> {
    const key = keyOf(field, refs);
    const known = this.#summaries.get(key);
    const others = known === undefined ? refs.length : othersAmong(refs, known.chunks);
    if (others === 0 && known!.chunks.size > refs.length) return undefined;
    const summary = others === 0 ? known! : await summarizeDay(field, refs, open);
    summary.isAskedAgain = others === 0;
    this.#summaries.delete(key);
    this.#summaries.set(key, summary);
    const [oldest] = this.#summaries.size > summariesMax ? this.#summaries.keys() : [];
    if (oldest !== undefined) this.#summaries.delete(oldest);
    if (others > 0) this.#evictTexts();
    return summary.found;
  }

  /** Whether `keep` would keep the counts of these chunks: they were asked for twice, and headers do not give them. */
  isWorthCounting({ field, refs }: UncountedDay): boolean {
    if (field.kind !== "attribute") return false;
    const summary = this.#summaryOf({ field, refs });
    return (
      summary !== undefined && summary.found === undefined && summary.isAskedAgain && !summary.isTooLarge
    );
  }

  /** Keeps the counts of all rows of some chunks, by the texts of an attribute; "" stands for rows that lack it, too. */
  keep(day: UncountedDay, counts: ReadonlyMap<string, number> | "too many"): void {
    const summary = this.#summaryOf(day);
    if (summary === undefined) return;
    if (counts === "too many" || counts.size > keptCountsMax) {
      summary.isTooLarge = true;
      return;
    }
    const scanned = emptyScanStatistics();
    for (const { entry } of day.refs) countSkippedChunk(scanned, entry);
    summary.found = { counts, scanned };
    this.#evictTexts();
  }

  /** Drops the counts of a day whose folder is about to be removed. */
  forget(dir: string): void {
    for (const key of this.#summaries.keys()) if (key.startsWith(`${dir}\0`)) this.#summaries.delete(key);
  }

  /** The summary of exactly these chunks. */
  #summaryOf({ field, refs }: UncountedDay): DaySummary | undefined {
    const summary = this.#summaries.get(keyOf(field, refs));
    if (summary === undefined || summary.chunks.size !== refs.length) return undefined;
    return othersAmong(refs, summary.chunks) === 0 ? summary : undefined;
  }

  /** Drops the summaries that were last used the longest ago, until the others have few enough texts. */
  #evictTexts(): void {
    let texts = 0;
    for (const { found } of this.#summaries.values()) texts += found?.counts.size ?? 0;
    for (const [key, { found }] of this.#summaries) {
      if (texts <= allTextsMax) return;
      texts -= found?.counts.size ?? 0;
      this.#summaries.delete(key);
    }
  }
}

function keyOf(field: Field | undefined, refs: readonly SealedChunkRef[]): string {
  // No folder has this character in its name.
  return `${refs[0]!.dir}\0${field === undefined ? "" : fieldKey(field)}`;
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
  const unknown = { chunks, found: undefined, isAskedAgain: false, isTooLarge: false };
  for (const ref of refs) {
    const view = await open(ref);
    try {
      const listed = field === undefined ? [[undefined, view.rows] as const] : listedValueCounts(field, view);
      if (listed === undefined) return unknown;
      for (const [text, rows] of listed) counts.set(text, (counts.get(text) ?? 0) + rows);
      countSkippedChunk(scanned, ref.entry);
    } finally {
      view.close();
    }
    if (counts.size > textsMax) return unknown;
  }
  return { ...unknown, found: { counts, scanned } };
}

/** What the calling thread knows of chunks beyond their headers, and what it leaves to the scan threads. */

import type { ChunkRef, SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { MessageTextFilter } from "../filter/message-search.ts";
import { isMessageTextFilter } from "../filter/message-search.ts";
import type { Filter } from "../plan/filter.ts";
import type { DaySummaries } from "./day-summaries.ts";
import { canAnswerFromTemplates } from "./day-templates.ts";
import type { CountTextRows } from "./header-counts.ts";
import type { TemplateSummaries } from "./template-summaries.ts";

/** One query's. */
export class Settling {
  readonly digests: DaySummaries;
  /** Chunks that have to be read. */
  readonly left: ChunkRef[] = [];
  /** Rows that pass in the first of these at all times, where that is known of a search. */
  rowsOfFirst = 0;
  /** Chunks whose templates would tell more. */
  readonly unknown = new Set<SealedChunkRef>();
  readonly #templates: TemplateSummaries;

  constructor(digests: DaySummaries, templates: TemplateSummaries) {
    this.digests = digests;
    this.#templates = templates;
  }

  /** How many rows of a chunk pass each of these that is a text in messages; undefined where no row passes one of them. */
  textRows(parts: readonly Filter[], ref: ChunkRef, view: ChunkView): CountTextRows | undefined {
    const known = new Map<Filter, number>();
    for (const part of parts) {
      const rows = isMessageTextFilter(part) ? this.#rowsOf(part, ref, view) : undefined;
      if (rows === 0) return undefined;
      if (rows !== undefined) known.set(part, rows);
    }
    return (text) => known.get(text);
  }

  #rowsOf(filter: MessageTextFilter, ref: ChunkRef, view: ChunkView): number | undefined {
    if (ref.kind !== "sealed") return undefined;
    const rows = this.#templates.rowsOf(filter, ref, view);
    if (rows === undefined && canAnswerFromTemplates(filter) && this.#templates.lacks(ref))
      this.unknown.add(ref);
    return rows;
  }
}

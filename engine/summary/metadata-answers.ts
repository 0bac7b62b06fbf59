/** What the calling thread knows of chunks beyond their headers, and what it leaves to the scan threads. */

import type { ChunkRef, SealedRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { TextFilter } from "../filter/message-search.ts";
import { isMessageText } from "../filter/message-search.ts";
import type { Filter } from "../plan/filter.ts";
import type { Digests } from "./day-summaries.ts";
import { mayTell } from "./day-templates.ts";
import type { TextRows } from "./header-counts.ts";
import type { TemplateDigests } from "./template-summaries.ts";

/** One query's. */
export class Settling {
  readonly digests: Digests;
  /** Chunks that have to be read. */
  readonly left: ChunkRef[] = [];
  /** Rows that pass in the first of these at all times, where that is known of a search. */
  rowsOfFirst = 0;
  /** Chunks whose templates would tell more. */
  readonly unknown = new Set<SealedRef>();
  readonly #templates: TemplateDigests;

  constructor(digests: Digests, templates: TemplateDigests) {
    this.digests = digests;
    this.#templates = templates;
  }

  /** How many rows of a chunk pass each of these that is a text in messages; undefined where no row passes one of them. */
  textRows(parts: readonly Filter[], ref: ChunkRef, view: ChunkView): TextRows | undefined {
    const known = new Map<Filter, number>();
    for (const part of parts) {
      const rows = isMessageText(part) ? this.#rowsOf(part, ref, view) : undefined;
      if (rows === 0) return undefined;
      if (rows !== undefined) known.set(part, rows);
    }
    return (text) => known.get(text);
  }

  #rowsOf(filter: TextFilter, ref: ChunkRef, view: ChunkView): number | undefined {
    if (ref.kind !== "sealed") return undefined;
    const rows = this.#templates.rowsOf(filter, ref, view);
    if (rows === undefined && mayTell(filter) && this.#templates.lacks(ref)) this.unknown.add(ref);
    return rows;
  }
}

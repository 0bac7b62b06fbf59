/** Counts of messages that hold a text, from the templates that the query thread knows: one query's view of them. */
import type { ChunkRef, SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { isMessageTextFilter, type MessageTextFilter } from "../filter/message-search.ts";
import type { Filter } from "../plan/filter.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { AttributeGroups } from "./attribute-groups.ts";
import type { DayGroups, DaysSum } from "./days-sum.ts";
import { type CountTextRows, unknownTextRows } from "./header-counts.ts";
import type { KnownGroups } from "./known-templates.ts";
import type { ListingOptions, TemplateSummaries } from "./template-summaries.ts";
import { canAnswerFromTemplates } from "./text-counts.ts";

export type { KnownGroups };

/**
 * How many rows of a chunk pass each of the filters that is a text in messages; undefined where no row passes one of
 * them.
 */
export type CountTexts = (
  filters: readonly Filter[],
  ref: ChunkRef,
  view: ChunkView,
) => CountTextRows | undefined;

/** For a thread that knows no templates: nothing is known of any text. */
export const unknownTexts: CountTexts = () => unknownTextRows;

export class TemplateCounts {
  /** Chunks of which a listing would tell what the query needs: their templates, or the attributes of each template's rows. */
  readonly unlisted = new Map<SealedChunkRef, ListingOptions>();
  readonly #templates: TemplateSummaries;

  constructor(templates: TemplateSummaries) {
    this.#templates = templates;
  }

  readonly countTexts: CountTexts = (filters, ref, view) => {
    const known = new Map<Filter, number>();
    for (const filter of filters) {
      const rows = isMessageTextFilter(filter) ? this.#rowsOf(filter, ref, view) : undefined;
      if (rows === 0) return undefined;
      if (rows !== undefined) known.set(filter, rows);
    }
    return (filter) => known.get(filter);
  };

  /**
   * The rows of a chunk by template and level, and which templates pass all filters; undefined where that is not known.
   */
  groupsOf(filters: readonly MessageTextFilter[], ref: ChunkRef, view: ChunkView): KnownGroups | undefined {
    if (ref.kind !== "sealed") return undefined;
    const groups = this.#templates.groupsOf(filters, ref, view);
    if (groups === undefined && filters.every(canAnswerFromTemplates))
      this.#noteUnlisted(ref, { withAttributes: false });
    return groups;
  }

  /** Which attributes the rows of each template have in a chunk whose templates decide the query; undefined where unknown. */
  attributesOf(ref: ChunkRef): AttributeGroups | undefined {
    if (ref.kind !== "sealed") return undefined;
    const attributes = this.#templates.attributesOf(ref);
    if (attributes === undefined) this.#noteUnlisted(ref, { withAttributes: true });
    return attributes;
  }

  /** All rows of some chunks of one day by template and level; undefined where that is not known. */
  dayGroupsOf(refs: readonly SealedChunkRef[], pause: YieldThread): Promise<DayGroups | undefined> {
    return this.#templates.dayGroupsOf(refs, pause);
  }

  /** The sum of whole days; undefined where they have too many levels. */
  sumOfDays(days: readonly DayGroups[], pause: YieldThread): Promise<DaysSum | undefined> {
    return this.#templates.sumOfDays(days, pause);
  }

  #rowsOf(filter: MessageTextFilter, ref: ChunkRef, view: ChunkView): number | undefined {
    if (ref.kind !== "sealed") return undefined;
    const rows = this.#templates.rowsOf(filter, ref, view);
    if (rows === undefined && canAnswerFromTemplates(filter))
      this.#noteUnlisted(ref, { withAttributes: false });
    return rows;
  }

  #noteUnlisted(ref: SealedChunkRef, options: ListingOptions): void {
    if (this.#templates.lacks(ref, options)) this.unlisted.set(ref, options);
  }
}

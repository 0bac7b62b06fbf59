/** The decoded columns of a chunk, which all views of it on a thread share. */
import type { Column } from "../column/column.ts";
import type { ValuePages } from "../files/value-pages.ts";
import type { ColumnMemory } from "../kernels/heap.ts";
import type { TemplateOrder } from "../template/message-column.ts";
import type { PagedTokenFilter } from "../template/paged-token-filter.ts";
import type { VariableGroup } from "../template/variable-columns.ts";
import type { ChunkSource } from "./chunk-header.ts";

/** A decoded value and the memory that it occupies. */
export interface CachedValue<T> {
  value: T;
  held: ColumnMemory;
}

export class ChunkColumns {
  readonly source: ChunkSource;
  readonly day: number;
  readonly columns = new Map<number, CachedValue<Column>>();
  readonly numbers = new Map<number, CachedValue<Float64Array>>();
  readonly groups = new Map<number, CachedValue<VariableGroup>>();
  /** Groups of variables of which single values were read: the next time they are decoded as a whole. */
  readonly readSingly = new Set<number>();
  /** The order of the messages by template. */
  readonly orders = new Map<"message", CachedValue<TemplateOrder>>();
  readonly filters = new Map<number, CachedValue<Uint8Array>>();
  /** Filters that can be read in pages, by their column. */
  readonly filterPages = new Map<number, ValuePages | undefined>();
  /** The token filters in these. */
  readonly pagedTokens = new Map<number, PagedTokenFilter>();
  /** The n-gram filters of groups of variables, where they were read without the rest of the group's filter. */
  readonly ngrams = new Map<number, CachedValue<Uint8Array>>();
  /** Columns computed from other columns, by the name of the field. */
  readonly derived = new Map<string, CachedValue<Column>>();
  /** The memory of all of these. */
  readonly held = new Set<ColumnMemory>();

  constructor(source: ChunkSource, day: number) {
    this.source = source;
    this.day = day;
  }
}

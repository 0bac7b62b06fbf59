/** The decoded columns of a chunk, which all views of it on a thread share. */
import type { Column } from "../column/column.ts";
import type { ValuePages } from "../files/value-pages.ts";
import type { ColumnMemory } from "../kernels/heap.ts";
import type { TemplateOrder } from "../template/message-column.ts";
import type { PagedTokenFilter } from "../template/paged-token-filter.ts";
import type { StoredGroup } from "../template/variables/stored-group.ts";
import type { VariableGroup } from "../template/variables/variable-columns.ts";
import type { ChunkSource } from "./chunk-header.ts";

/** A decoded value and the memory that it occupies. */
export interface CachedValue<T> {
  value: T;
  held: ColumnMemory;
}

/** A smaller value is quickly made again: when it was used last is not kept. */
const largeBytesMin = 64 * 1024;

/** Cached values by their keys. */
export class CachedValues<K, T> extends Map<K, CachedValue<T>> {
  /** When large values that were evicted had been used last, by `performance.now`. Undefined until there is one. */
  #evictedUsedMs: Map<K, number> | undefined;

  /** Undefined where the value was never evicted, or is small. */
  evictedUsedMs(key: K): number | undefined {
    return this.#evictedUsedMs?.get(key);
  }

  evict(key: K, { byteLength }: ColumnMemory, usedMs: number): void {
    this.delete(key);
    if (byteLength < largeBytesMin) return;
    this.#evictedUsedMs ??= new Map();
    this.#evictedUsedMs.set(key, usedMs);
  }
}

export class ChunkColumns {
  readonly source: ChunkSource;
  readonly day: number;
  readonly columns = new CachedValues<number, Column>();
  readonly numbers = new CachedValues<number, Float64Array>();
  readonly groups = new CachedValues<number, VariableGroup>();
  /** The groups of variables as they are stored. */
  readonly storedGroups = new CachedValues<number, StoredGroup>();
  /** How many views searched each group of variables. */
  readonly searches = new Map<number, number>();
  /** Groups of variables of which single values were read: the next time they are decoded as a whole. */
  readonly readSingly = new Set<number>();
  /** Groups of variables of which a range of texts was searched: the next time they are decoded as a whole. */
  readonly searchedInPart = new Set<number>();
  /** The order of the messages by template. */
  readonly orders = new CachedValues<"message", TemplateOrder>();
  readonly filters = new CachedValues<number, Uint8Array>();
  /** Filters that can be read in pages, by their column. */
  readonly filterPages = new Map<number, ValuePages | undefined>();
  /** The token filters in these. */
  readonly pagedTokens = new Map<number, PagedTokenFilter>();
  /** The n-gram filters of groups of variables, where they were read without the rest of the group's filter. */
  readonly ngrams = new CachedValues<number, Uint8Array>();
  /** Columns computed from other columns, by the name of the field. */
  readonly derived = new CachedValues<string, Column>();
  /** The memory of all of these. */
  readonly held = new Set<ColumnMemory>();

  constructor(source: ChunkSource, day: number) {
    this.source = source;
    this.day = day;
  }
}

/** Options and results of the store's methods. */
import type { MemoryBudget } from "./memory-budget.ts";

/** An event in the life of a store, for a log. */
export interface StoreEvent {
  level: "info" | "warn" | "error";
  message: string;
}

/** How a store is opened. */
export interface StoreOptions {
  /** The data folder; created where it is missing. */
  dir: string;
  /**
   * The memory that the store may take, as `divideMemory` divides it; by default that of a library, with half of what
   * this process may use. It decides on scan threads and the column cache, too, and the next two options are ignored.
   */
  memory?: MemoryBudget;
  /** Number of scan threads; by default one a core, as far as there is memory for so many. */
  threads?: number;
  /**
   * Bytes of memory for decoded columns, over all scan threads. The columns of one chunk that a query reads must fit
   * into a thread's share: some 50 MB for a full chunk of ordinary logs.
   */
  columnCacheBytes?: number;
  /** Milliseconds. Days that ended longer ago are removed; by default none is. */
  retentionAgeMs?: number;
  /**
   * Unix milliseconds. Days that ended before it are removed by age however many they are; others are kept where many
   * become too old at once, since the clock may be wrong.
   */
  retentionBeforeMs?: number;
  /** Stored bytes of chunks to keep at most; the oldest are removed first. By default none is. */
  retentionBytes?: number;
  /**
   * True leaves the merging of chunks to the next process that opens the folder: a load seals large chunks, and merging
   * would take its time and memory.
   */
  mergesLater?: boolean;
  /**
   * Cap on active series, which were seen today or yesterday; 1,000,000 by default. Above it samples of new series are
   * refused.
   */
  seriesMax?: number;
  /** Called for each event; by default events are dropped. */
  log?: (event: StoreEvent) => void;
  /** The wall clock, in milliseconds since the epoch; `Date.now` by default. It may be set at any time. */
  now?: () => number;
  /** Milliseconds of a monotonic clock, by which the store waits; `performance.now` by default. */
  elapsed?: () => number;
}

/** How a batch is appended. */
export interface AppendOptions {
  /** Idempotency key. Where a batch with this key was taken before, of whatever signal, nothing is added. */
  key?: string;
  /** How long the key is remembered, in milliseconds; an hour by default. */
  keyAgeMs?: number;
}

/** The outcome of an append. */
export interface AppendResult {
  /** Rows that this batch added, or the first batch with the same key. */
  rows: number;
  /** True where a batch with the same key was taken before. */
  duplicate: boolean;
}

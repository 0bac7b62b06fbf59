/** What a store is opened with and asked for. */
import { totalmem } from "node:os";
import {
  callerCacheBytesMin,
  callerCacheShare,
  columnCacheBytesMax,
  columnCacheBytesMin,
  columnCacheShare,
} from "./limits.ts";

export interface StoreEvent {
  level: "info" | "warn" | "error";
  message: string;
}

export interface StoreOptions {
  dir: string;
  /** Scan threads; one a core by default. */
  threads?: number;
  /**
   * Memory for decoded columns, over all scan threads: a quarter of the machine's by default. A chunk's columns that a query reads must
   * fit a thread's share, some 50 MB for a full chunk of common logs.
   */
  columnCacheBytes?: number;
  /** Days that ended longer ago than this are removed; everything is kept by default. */
  retentionAgeMs?: number;
  /** Bytes of chunks to keep; the oldest go first. */
  retentionBytes?: number;
  /** Series of metrics that may be active, which is seen today or yesterday: 1,000,000 by default. Samples of others are refused. */
  seriesMax?: number;
  log?: (event: StoreEvent) => void;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

export interface AppendOptions {
  /** Idempotency key: a batch whose key was taken before, for whatever signal, adds nothing. */
  key?: string;
  /** How long the key is remembered; an hour by default. */
  keyAgeMs?: number;
}

export interface AppendResult {
  /** Rows that this batch, or the first one under its key, added. */
  rows: number;
  duplicate: boolean;
}

/** Bytes of decoded columns for one scan thread, and beside these for the calling thread. */
export function cacheShares(bytes: number | undefined, threads: number): { thread: number; caller: number } {
  const all = bytes ?? Math.max(totalmem() * columnCacheShare, threads * columnCacheBytesMin);
  return {
    thread: Math.min(all / threads, columnCacheBytesMax),
    caller: Math.max(callerCacheBytesMin, Math.min(all * callerCacheShare, columnCacheBytesMax)),
  };
}

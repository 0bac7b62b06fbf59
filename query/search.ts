import type { FoundRow, QueryLimits, SearchResult, Store } from "../engine/index.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { planLogs } from "./plan.ts";
import { unknownNameWarnings } from "./unknown-names.ts";

/** The part of a store that a search for logs needs. */
export type LogsStore = Pick<Store, "search" | "attributeKeys">;

export interface LogsSearch {
  /** svcQL, or search terms. */
  query: string;
  /** Whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** Inclusive: the whole millisecond. */
  endMs: number;
  /** Rows at most, from 1. */
  limit: number;
  /** Of an earlier answer to the same search: goes on behind its last row. */
  cursor?: string;
}

export interface LogsFound {
  /** Newest first, ties in the order of arrival. Attributes that stages extract are among the attributes. */
  rows: FoundRow[];
  /** Present where there are more rows. */
  cursor?: string;
  warnings: string[];
  scanned: SearchResult["scanned"];
}

const nsPerMs = 1_000_000n;
const endOfTimeNs = 2n ** 63n - 1n;

/**
 * Searches logs. Throws a QueryError for a query or cursor that is none, and what the store throws: Failure "deadline", "cancelled",
 * "limit".
 */
export async function searchLogs(
  store: LogsStore,
  search: LogsSearch,
  limits?: QueryLimits,
): Promise<LogsFound> {
  const plan = planLogs(search.query);
  const fromNs = BigInt(search.startMs) * nsPerMs;
  const toNs = (BigInt(search.endMs) + 1n) * nsPerMs;
  const after = search.cursor === undefined ? {} : { after: readCursor(search.cursor) };
  const range = { signal: "logs", fromNs, toNs } as const;
  const { rows, more, scanned } = await store.search(
    { ...range, steps: plan.steps, limit: search.limit, ...after },
    limits,
  );
  const unborne = plan.names.filter(
    (name) => !rows.some(({ attributes }) => Object.hasOwn(attributes, name)),
  );
  const warnings = [...plan.warnings, ...unknownNameWarnings(...strangers(store, unborne, fromNs, toNs))];
  const last = rows.at(-1);
  const cursor = more && last !== undefined ? { cursor: writeCursor(last) } : {};
  return { rows, ...cursor, warnings, scanned };
}

/** The names that no row of the store bears, and those that rows do: first of the range, which is at hand, then of all time. */
function strangers(
  store: LogsStore,
  names: readonly string[],
  fromNs: bigint,
  toNs: bigint,
): [string[], string[]] {
  const missing = (known: readonly string[]) => {
    const set = new Set(known);
    return names.filter((name) => !set.has(name));
  };
  if (names.length === 0 || missing(store.attributeKeys("logs", fromNs, toNs)).length === 0) return [[], []];
  const known = store.attributeKeys("logs", 0n, endOfTimeNs);
  return [missing(known), known];
}

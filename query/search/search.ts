import type { FoundRow, QueryLimits, SearchResult, Store } from "../../engine/index.ts";
import type { Explained } from "../plan/explanation.ts";
import type { Scan } from "../plan/scan.ts";
import { planLogs, planSpans, type RowsPlan } from "../plan/search-plan.ts";
import { rangeNs } from "../time/range.ts";
import { planWarnings } from "../warning/unknown-names.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type Span, spanOf } from "./span.ts";

/** The part of a store that a search for rows needs. */
export type RowsStore = Pick<Store, "search" | "attributeKeys">;

export interface RowsSearch {
  /** svcQL; for logs also search terms. */
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

interface Found {
  /** Present where there are more rows. */
  cursor?: string;
  warnings: string[];
  scanned: SearchResult["scanned"];
  explained: Explained;
}

export interface LogsFound extends Found {
  /** Newest first, ties in the order of arrival. Attributes that stages extract are among the attributes. */
  rows: FoundRow[];
}

export interface SpansFound extends Found {
  /** Those that began last come first, ties in the order of arrival. */
  spans: Span[];
}

/**
 * Searches logs. Throws a QueryError for a query or cursor that is none, and what the store throws: Failure "deadline", "cancelled",
 * "limit".
 */
export async function searchLogs(
  store: RowsStore,
  search: RowsSearch,
  limits?: QueryLimits,
): Promise<LogsFound> {
  return searchRows(store, search, planLogs(search.query), limits);
}

/** Searches spans. Throws as `searchLogs` does. */
export async function searchSpans(
  store: RowsStore,
  search: RowsSearch,
  limits?: QueryLimits,
): Promise<SpansFound> {
  const { rows, ...found } = await searchRows(store, search, planSpans(search.query), limits);
  return { spans: rows.map(spanOf), ...found };
}

async function searchRows(
  store: RowsStore,
  search: RowsSearch,
  plan: RowsPlan,
  limits: QueryLimits | undefined,
): Promise<LogsFound> {
  const begunMs = performance.now();
  const { signal, steps } = plan;
  const { fromNs, toNs } = rangeNs(search.startMs, search.endMs);
  const after = search.cursor === undefined ? {} : { after: readCursor(search.cursor) };
  const { rows, more, scanned } = await store.search(
    { signal, fromNs, toNs, steps, limit: search.limit, ...after },
    limits,
  );
  const names = plan.names.filter((name) => !rows.some(({ attributes }) => Object.hasOwn(attributes, name)));
  const warnings = planWarnings(store, { ...plan, names }, fromNs, toNs);
  const last = rows.at(-1);
  const cursor = more && last !== undefined ? { cursor: writeCursor(last) } : {};
  const explained = {
    scans: [{ kind: "rows", signal, steps, groupBy: [], aggregates: [] } as const satisfies Scan],
    reads: [{ place: 0, scanned, milliseconds: performance.now() - begunMs }],
  };
  return { rows, ...cursor, warnings, scanned, explained };
}

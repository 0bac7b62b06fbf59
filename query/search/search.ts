import type { FoundRow, QueryLimits, SearchResult, Store } from "../../engine/index.ts";
import type { Explanation } from "../plan/explanation.ts";
import type { Scan } from "../plan/scan.ts";
import { planLogs, planSpans, type SearchPlan } from "../plan/search-plan.ts";
import { toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type Span, toSpan } from "./span.ts";

/** The part of a store that a search for rows needs. */
export type SearchStore = Pick<Store, "search" | "attributeKeys">;

export interface SearchQuery {
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

interface SearchResultBase {
  /** Present where there are more rows. */
  cursor?: string;
  warnings: string[];
  scanned: SearchResult["scanned"];
  explained: Explanation;
}

export interface LogSearchResult extends SearchResultBase {
  /** Newest first, ties in the order of arrival. Attributes that stages extract are among the attributes. */
  rows: FoundRow[];
}

export interface SpanSearchResult extends SearchResultBase {
  /** Those that began last come first, ties in the order of arrival. */
  spans: Span[];
}

/**
 * Searches logs. Throws a QueryError for a query or cursor that is none, and what the store throws: Failure "deadline", "cancelled",
 * "limit".
 */
export async function searchLogs(
  store: SearchStore,
  search: SearchQuery,
  limits?: QueryLimits,
): Promise<LogSearchResult> {
  return searchRows(store, search, planLogs(search.query), limits);
}

/** Searches spans. Throws as `searchLogs` does. */
export async function searchSpans(
  store: SearchStore,
  search: SearchQuery,
  limits?: QueryLimits,
): Promise<SpanSearchResult> {
  const { rows, ...found } = await searchRows(store, search, planSpans(search.query), limits);
  return { spans: rows.map(toSpan), ...found };
}

async function searchRows(
  store: SearchStore,
  search: SearchQuery,
  plan: SearchPlan,
  limits: QueryLimits | undefined,
): Promise<LogSearchResult> {
  const begunMs = performance.now();
  const { signal, steps } = plan;
  const { fromNs, toNs } = toRangeNs(search.startMs, search.endMs);
  const after = search.cursor === undefined ? {} : { after: readCursor(search.cursor) };
  const { rows, more, scanned } = await store.search(
    { signal, fromNs, toNs, steps, limit: search.limit, ...after },
    limits,
  );
  const names = plan.names.filter((name) => !rows.some(({ attributes }) => Object.hasOwn(attributes, name)));
  const warnings = collectPlanWarnings(store, { ...plan, names }, fromNs, toNs);
  const last = rows.at(-1);
  const cursor = more && last !== undefined ? { cursor: writeCursor(last) } : {};
  const explained = {
    scans: [{ kind: "rows", signal, steps, groupBy: [], aggregates: [] } as const satisfies Scan],
    reads: [{ place: 0, scanned, milliseconds: performance.now() - begunMs }],
  };
  return { rows, ...cursor, warnings, scanned, explained };
}

import {
  addScanStatistics,
  type FoundRow,
  type QueryLimits,
  type RowOrder,
  type SearchResult,
  type Store,
} from "../../engine/index.ts";
import type { Explanation } from "../explanation/explanation.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import type { VariableValues } from "../plan/context.ts";
import type { Scan } from "../plan/scan.ts";
import { planLogs, planSearch, type SearchPlan } from "../plan/search-plan.ts";
import type { BodySignal } from "../text/keywords.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type Span, toSpan } from "./span.ts";

/** The part of a store that a search for logs or spans needs. */
export type SearchStore = Pick<Store, "search" | "readColumns" | "attributeKeys">;

/** A search for logs or spans, its range of time, and which page of the answer to return. */
export interface SearchQuery extends TimeRange {
  /** svcQL. For logs also search terms. */
  query: string;
  /** Values of the query's `$name`s, by name. */
  variables?: VariableValues;
  /** Counts for `explained` what each condition leaves of the rows, which takes a little longer. */
  isExplained?: boolean;
  /** The most rows to return, from 1. */
  limit: number;
  /** `newest` first where it is absent. */
  order?: RowOrder;
  /**
   * The cursor of an earlier answer to the same search. The new answer continues after the last row of the earlier
   * answer.
   */
  cursor?: string;
}

interface SearchResultBase {
  /** Continues the search after the last row. Present where there are more rows. */
  cursor?: string;
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
  scanned: SearchResult["scanned"];
  explained: Explanation;
}

/** The answer to a search for logs. */
export interface LogSearchResult extends SearchResultBase {
  /** In the order asked for. Their attributes include the names that stages extracted. */
  rows: FoundRow[];
}

/** The answer to a search for spans. */
export interface SpanSearchResult extends SearchResultBase {
  /** In the order asked for, by their starts. */
  spans: Span[];
}

/**
 * Searches logs. Throws a QueryError for a mistake in the query or the cursor, and what the store throws: Failure
 * "deadline", "cancelled" or "limit".
 */
export async function searchLogs(
  store: SearchStore,
  search: SearchQuery,
  limits?: QueryLimits,
): Promise<LogSearchResult> {
  return searchRows(store, search, planLogs(search.query, search), limits);
}

/** Searches spans. Throws as `searchLogs` does. */
export async function searchSpans(
  store: SearchStore,
  search: SearchQuery,
  limits?: QueryLimits,
): Promise<SpanSearchResult> {
  const { rows, ...found } = await searchRows(
    store,
    search,
    planSearch("traces", search.query, search),
    limits,
  );
  return { spans: rows.map(toSpan), ...found };
}

/** Searches rows that are a body and attributes; the body is their message. Throws as `searchLogs` does. */
export async function searchBodies(
  store: SearchStore,
  signal: BodySignal,
  search: SearchQuery,
  limits?: QueryLimits,
): Promise<LogSearchResult> {
  return searchRows(store, search, planSearch(signal, search.query, search), limits);
}

async function searchRows(
  store: SearchStore,
  search: SearchQuery,
  plan: SearchPlan,
  limits: QueryLimits | undefined,
): Promise<LogSearchResult> {
  const startedAtMs = performance.now();
  const { signal, steps } = plan;
  const { fromNs, toNs } = toRangeNs(search.startMs, search.endMs);
  const { limit, order = "newest", isExplained = false } = search;
  const after = search.cursor === undefined ? {} : { after: readCursor(search.cursor, order) };
  const page = { order, limit, ...after };
  const resolved = await resolveSteps(store, { signal, fromNs, toNs, steps }, limits, { page });
  const query = {
    signal,
    fromNs,
    toNs,
    steps: resolved.steps,
    isExplained: isExplained && !resolved.isOrdered,
  };
  const found = await store.search({ ...query, ...page }, deductElapsedTime(startedAtMs, limits));
  const { rows, more } = found;
  const scanned = { ...found.scanned };
  addScanStatistics(scanned, resolved.scanned);
  // Names that a row of the answer has exist, so only the others are looked up.
  const names = plan.names.filter((name) => !rows.some(({ attributes }) => Object.hasOwn(attributes, name)));
  const warnings = collectPlanWarnings(store, { ...plan, names }, { fromNs, toNs });
  const last = rows.at(-1);
  const cursor = more && last !== undefined ? { cursor: writeCursor(last, order) } : {};
  const explained = {
    scans: [{ kind: "rows", signal, steps, groupBy: [], aggregates: [] } as const satisfies Scan],
    reads: [{ place: 0, scanned, milliseconds: performance.now() - startedAtMs }],
  };
  return { rows, ...cursor, warnings, scanned, explained };
}

import type { FoundRow, QueryLimits, SearchResult, Store } from "../engine/index.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { Explained } from "./explain.ts";
import { planLogs } from "./plan.ts";
import { rangeNs } from "./range.ts";
import type { Scan } from "./scan-plan.ts";
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
  explained: Explained;
}

/**
 * Searches logs. Throws a QueryError for a query or cursor that is none, and what the store throws: Failure "deadline", "cancelled",
 * "limit".
 */
export async function searchLogs(
  store: LogsStore,
  search: LogsSearch,
  limits?: QueryLimits,
): Promise<LogsFound> {
  const begunMs = performance.now();
  const plan = planLogs(search.query);
  const { fromNs, toNs } = rangeNs(search.startMs, search.endMs);
  const after = search.cursor === undefined ? {} : { after: readCursor(search.cursor) };
  const range = { signal: "logs", fromNs, toNs } as const;
  const { rows, more, scanned } = await store.search(
    { ...range, steps: plan.steps, limit: search.limit, ...after },
    limits,
  );
  const unborne = plan.names.filter(
    (name) => !rows.some(({ attributes }) => Object.hasOwn(attributes, name)),
  );
  const warnings = [
    ...plan.warnings,
    ...unknownNameWarnings(store, { ...plan, names: unborne }, fromNs, toNs),
  ];
  const last = rows.at(-1);
  const cursor = more && last !== undefined ? { cursor: writeCursor(last) } : {};
  const { signal, steps } = plan;
  const explained = {
    scans: [{ kind: "rows", signal, steps, groupBy: [], aggregates: [] } as const satisfies Scan],
    reads: [{ place: 0, scanned, milliseconds: performance.now() - begunMs }],
  };
  return { rows, ...cursor, warnings, scanned, explained };
}

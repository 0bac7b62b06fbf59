/** The rows before and after a row. */

import type { FoundRow, QueryLimits, RowPosition, RowSignal, Store } from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planLogs, planSearch } from "../plan/search-plan.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { readRowId } from "./cursor.ts";

/** Asks for the surroundings of a row. */
export interface AroundQuery extends TimeRange {
  signal: RowSignal;
  /** The row's id, as `writeRowId` gives it. */
  id: string;
  /** svcQL that selects the rows around it; for logs also search terms. */
  query: string;
  /** The most earlier and later rows, from 0. */
  before: number;
  after: number;
}

/** A row and its surroundings; each list the newest first, as a search has it. */
export interface Surroundings {
  row: FoundRow;
  /** Earlier rows. */
  before: FoundRow[];
  /** Later rows. */
  after: FoundRow[];
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
}

/**
 * The row with an id and its surroundings; undefined where no row has the id. The row itself need not be found by the
 * query. Throws a QueryError for a mistake in the query or the id, and what the store throws.
 */
export async function queryAround(
  store: Pick<Store, "search" | "readColumns">,
  { signal, id, query, before, after, ...range }: AroundQuery,
  limits?: QueryLimits,
): Promise<Surroundings | undefined> {
  const position = readRowId(id);
  const { steps } = signal === "logs" ? planLogs(query) : planSearch(signal, query);
  const row = await findRow(store, signal, position, limits);
  if (row === undefined) return undefined;
  const { fromNs, toNs } = toRangeNs(range.startMs, range.endMs);
  const ask = async (order: "newest" | "oldest", limit: number) => {
    if (limit === 0) return { rows: [], more: false };
    const page = { order, limit, after: position };
    const resolved = await resolveSteps(store, { signal, fromNs, toNs, steps }, limits, { page });
    return store.search({ signal, fromNs, toNs, steps: resolved.steps, ...page }, limits);
  };
  const earlier = await ask("newest", before);
  const later = await ask("oldest", after);
  return {
    row,
    before: earlier.rows,
    after: later.rows.toReversed(),
    hasMoreBefore: earlier.more,
    hasMoreAfter: later.more,
  };
}

/** The row at a position. */
async function findRow(
  store: Pick<Store, "search">,
  signal: RowSignal,
  { timeNs, arrival }: RowPosition,
  limits: QueryLimits | undefined,
): Promise<FoundRow | undefined> {
  const at = { signal, fromNs: timeNs, toNs: timeNs + 1n, steps: [], limit: 1 };
  const { rows } = await store.search({ ...at, after: { timeNs, arrival: arrival - 1 } }, limits);
  return rows.find((row) => row.arrival === arrival);
}

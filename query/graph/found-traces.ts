import type { ColumnRead, QueryLimits, Store } from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planSearch } from "../plan/search-plan.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import type { HashColumn } from "./span-table.ts";

/** A search for rows that belong to traces. */
export interface TraceSelection extends TimeRange {
  signal: "logs" | "traces";
  query: string;
  /** The most rows that it may find. */
  rowsMax: number;
}

const traceIdRead: ColumnRead = { field: { kind: "attribute", key: "trace_id" }, as: "hash" };

/**
 * The hashes of the trace ids of all rows that a search finds, 0 for a row without one. Throws a QueryError for a
 * mistake in the query, Failure "limit" where it finds more than `rowsMax` rows, and what the store throws.
 */
export async function readFoundTraces(
  store: Pick<Store, "readColumns">,
  { signal, query, startMs, endMs, rowsMax }: TraceSelection,
  limits?: QueryLimits,
): Promise<HashColumn> {
  const startedAtMs = performance.now();
  const plan = planSearch(signal, query);
  const range = toRangeNs(startMs, endMs);
  const fields = [traceIdRead.field];
  const { steps } = await resolveSteps(store, { ...range, signal, steps: plan.steps }, limits, { fields });
  const remaining = deductElapsedTime(startedAtMs, limits);
  const rows = { signal, ...range, steps, columns: [traceIdRead], rowsMax };
  const found = await store.readColumns(rows, remaining);
  return found.columns[0] as HashColumn;
}

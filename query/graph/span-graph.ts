import type { ColumnData, ColumnRead, QueryLimits, Store } from "../../engine/index.ts";
import { WorkDeadline } from "../time/deadline.ts";
import type { TimeRangeNs } from "../time/range.ts";
import { findParents, type HashColumn, SpanTable } from "./span-table.ts";

/** Texts of rows: that of a row is `values[codes[row]]`; code 0 is "", for rows without the field. */
export type TextColumn = Extract<ColumnData, { as: "text" }>;

/** The part of a store that a graph of spans needs. */
export type SpanGraphStore = Pick<Store, "readColumns">;

/** The spans of a range as columns, in no defined order. Plain data, which may go to another thread. */
export interface SpanColumns {
  rows: number;
  /** Nanoseconds since the start of the range. */
  startNs: Float64Array;
  /** Milliseconds; NaN where a span has no end. */
  durationsMs: Float64Array;
  services: TextColumn;
  names: TextColumn;
  statuses: TextColumn;
  /** Hashes of the ids of each span's trace, of its own, and of its parent. */
  traces: HashColumn;
  ids: HashColumn;
  parentIds: HashColumn;
}

/** Spans, each with its parent. */
export interface SpanGraph extends SpanColumns {
  /** The row of each span's parent; -1 where it has none, or none in the range. */
  parents: Int32Array;
  /** Finds spans by the hashes of their ids. */
  table: SpanTable;
}

const read = (key: string, as: ColumnRead["as"]): ColumnRead => {
  return { field: { kind: "attribute", key }, as };
};

/** Columns that name a span: its trace and itself. */
export const idReads: readonly ColumnRead[] = [read("trace_id", "hash"), read("span_id", "hash")];

const spanReads = [
  ...idReads,
  read("parent_span_id", "hash"),
  read("service.name", "text"),
  read("name", "text"),
  read("status_code", "text"),
  read("duration_ms", "number"),
];

/** Reads the spans of a range. Throws Failure "limit" where there are more than `rowsMax`, and what the store throws. */
export async function readSpans(
  store: SpanGraphStore,
  { fromNs, toNs, rowsMax }: TimeRangeNs & { rowsMax: number },
  limits?: QueryLimits,
): Promise<SpanColumns> {
  const all = await store.readColumns(
    { signal: "traces", fromNs, toNs, steps: [], columns: spanReads, rowsMax },
    limits,
  );
  const [traces, ids, parentIds, services, names, statuses, durations] = all.columns as [
    HashColumn,
    HashColumn,
    HashColumn,
    TextColumn,
    TextColumn,
    TextColumn,
    Extract<ColumnData, { as: "number" }>,
  ];
  return {
    ...{ rows: all.rows, startNs: all.timeNs, durationsMs: durations.values },
    ...{ services, names, statuses, traces, ids, parentIds },
  };
}

/** Joins each span with its parent, in turns. Throws Failure "deadline" or "cancelled". */
export async function joinSpans(columns: SpanColumns, limits?: QueryLimits): Promise<SpanGraph> {
  const work = new WorkDeadline(performance.now(), limits);
  const { traces, ids, parentIds } = columns;
  const table = await SpanTable.of(traces, ids, work);
  return { ...columns, table, parents: await findParents(table, traces, parentIds, work) };
}

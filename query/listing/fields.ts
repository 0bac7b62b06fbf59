import type { FieldCounts, QueryLimits, RowSignal, Store } from "../../engine/index.ts";
import { columnsBySignal, fieldNameOf } from "../plan/field.ts";
import { planSearch } from "../plan/search-plan.ts";
import { toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a list of fields needs. */
export type FieldStore = Pick<Store, "countFields" | "attributeKeys">;

export interface FieldQuery {
  signal: RowSignal;
  /** Of the search for rows of the signal. */
  query: string;
  /** Whole milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
  /** What the names begin with. */
  prefix: string;
  /** Fields at most, from 1. */
  limit: number;
}

/** A field under the name that a query calls it by. */
interface ListedField {
  name: string;
  /** Rows that have it. */
  rows: number;
}

export interface FieldList {
  /** Those that most rows have come first, others in the order of their names. */
  fields: ListedField[];
  /** Rows that the search finds. */
  count: number;
  /** False where there are more fields than these. */
  isWhole: boolean;
  warnings: string[];
}

/** The fields of the rows that a search finds; what its stages extract is among them. Throws a QueryError, and what the store throws. */
export async function queryFields(
  store: FieldStore,
  { signal, query, startMs, endMs, prefix, limit }: FieldQuery,
  limits?: QueryLimits,
): Promise<FieldList> {
  const plan = planSearch(signal, query);
  const range = toRangeNs(startMs, endMs);
  const counts = await store.countFields({ signal, ...range, steps: plan.steps }, limits);
  const fields = [...countColumns(signal, counts), ...countAttributes(signal, counts)]
    .filter(({ name, rows }) => rows > 0 && name.startsWith(prefix))
    .sort((a, b) => b.rows - a.rows || (a.name < b.name ? -1 : 1));
  return {
    fields: fields.slice(0, limit),
    count: counts.rows,
    isWhole: counts.isWhole && fields.length <= limit,
    warnings: collectPlanWarnings(store, plan, range.fromNs, range.toNs),
  };
}

/** Every row has its columns, but for the level. */
function countColumns(signal: RowSignal, { rows, levels }: FieldCounts): ListedField[] {
  return Object.entries(columnsBySignal[signal]).map(([name, { kind }]) => ({
    name,
    rows: kind === "level" ? levels : rows,
  }));
}

function countAttributes(signal: RowSignal, { attributes }: FieldCounts): ListedField[] {
  return Array.from(attributes, ([key, rows]) => ({ name: fieldNameOf(key, signal), rows }));
}

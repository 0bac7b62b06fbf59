import type { FieldCounts, QueryLimits, RowSignal, Store } from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { columnsBySignal, fieldNameOf } from "../plan/field.ts";
import { planSearch } from "../plan/search-plan.ts";
import { WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a list of fields needs. */
export type FieldStore = Pick<Store, "readColumns" | "countFields" | "attributeKeys">;

/** A search, and which fields of its rows to list. */
export interface FieldQuery extends TimeRange {
  signal: RowSignal;
  /** A search for rows of the signal: svcQL, for logs also search terms. */
  query: string;
  /** Only fields whose names begin with this text are listed; "" lists all. */
  prefix: string;
  /** The most fields to return, from 1. */
  limit: number;
}

/** A field of rows. */
interface ListedField {
  /** The name of the field in queries. */
  name: string;
  /** The number of rows that have the field. */
  rows: number;
}

/** The fields of the rows that a search finds. */
export interface FieldList {
  /** Fields of more rows come first, fields of equally many rows by name. */
  fields: ListedField[];
  /** The number of rows that the search finds. */
  count: number;
  /** False where the rows have more fields than are listed. */
  isWhole: boolean;
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
}

/**
 * Lists the fields of the rows that a search finds, among them those that its stages extract. Throws a QueryError for a
 * mistake in the query, and what the store throws.
 */
export async function queryFields(
  store: FieldStore,
  { signal, query, startMs, endMs, prefix, limit }: FieldQuery,
  limits?: QueryLimits,
): Promise<FieldList> {
  const work = new WorkDeadline(performance.now(), limits);
  const plan = planSearch(signal, query);
  const range = toRangeNs(startMs, endMs);
  const { steps } = await resolveSteps(store, { signal, ...range, steps: plan.steps }, limits);
  const counts = await store.countFields({ signal, ...range, steps }, limits);
  const fields: ListedField[] = [];
  for (const field of listCounted(signal, counts)) {
    if (work.isTurnOver()) await work.yield();
    if (field.rows > 0 && field.name.startsWith(prefix)) fields.push(field);
  }
  const compare = (a: ListedField, b: ListedField) => b.rows - a.rows || (a.name < b.name ? -1 : 1);
  return {
    fields: await firstInTurns(fields, limit, compare, work),
    count: counts.rows,
    isWhole: counts.isWhole && fields.length <= limit,
    warnings: collectPlanWarnings(store, plan, range),
  };
}

/**
 * The columns of a signal, with the number of rows that have each. Every row has every column, except for the level.
 */
function countColumns(signal: RowSignal, { rows, levels }: FieldCounts): ListedField[] {
  return Object.entries(columnsBySignal[signal]).map(([name, { kind }]) => ({
    name,
    rows: kind === "level" ? levels : rows,
  }));
}

function* listCounted(signal: RowSignal, counts: FieldCounts): Generator<ListedField> {
  yield* countColumns(signal, counts);
  for (const [key, rows] of counts.attributes) yield { name: fieldNameOf(key, signal), rows };
}

import {
  type AggregateQuery,
  type AggregateResult,
  Failure,
  type Field,
  type QueryLimits,
  type RowSignal,
  type Step,
  type Store,
  textAt,
} from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { fieldOf } from "../plan/field.ts";
import { makePrefixSteps } from "../plan/regexp.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifySteps } from "../plan/simplification.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import { warnOfUnknownNames } from "../warning/unknown-names.ts";

/** The part of a store that a list of values needs. */
export type ValueStore = Pick<Store, "readColumns" | "aggregate" | "attributeKeys">;

/** A search, and which values of one field of its rows to list. */
export interface ValueQuery extends TimeRange {
  signal: RowSignal;
  /** The name of the field in queries. */
  field: string;
  /** A search for rows of the signal: svcQL, for logs also search terms. */
  query: string;
  /** Only values that begin with this text are listed; "" lists all. */
  prefix: string;
  /** The most values to return, from 1. */
  limit: number;
}

interface ListedValue {
  value: string;
  /** The number of rows that have the value. */
  count: number;
}

/** The values of a field in the rows that a search finds. */
export interface ValueList {
  /** The most frequent first; equally frequent ones by text. */
  values: ListedValue[];
  /** False where the rows have more values than are listed. */
  isWhole: boolean;
  /**
   * Present where the rows have more values than the store counts: only rows from this time on were counted. Whole
   * milliseconds since the epoch.
   */
  countedFromMs?: number;
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
}

/**
 * The most times that the range is narrowed where its rows have too many values. The narrowest range is a millionth
 * (16^-5) of the time from the first row to the last.
 */
const narrowingsMax = 5;
/** Each narrowing divides the length of the range by this factor. */
const narrowingFactor = 16;

/**
 * Lists the values of a field in the rows that a search finds. Rows without the field, or with an empty value, are left
 * out. Throws a QueryError for a mistake in the query, and what the store throws.
 */
export async function queryValues(
  store: ValueStore,
  { signal, field: name, query, startMs, endMs, prefix, limit }: ValueQuery,
  limits?: QueryLimits,
): Promise<ValueList> {
  const startedAtMs = performance.now();
  const plan = planSearch(signal, query);
  const field = fieldOf(name, signal);
  const wanted = simplifySteps([
    ...dropUnreadExtraction(plan.steps, [field]),
    ...makePrefixSteps(field, prefix),
  ]);
  const selected = { signal, ...toRangeNs(startMs, endMs), steps: wanted };
  const { steps } = await resolveSteps(store, selected, limits, { fields: [field] });
  const rows = { signal, field, steps };
  const work = new WorkDeadline(startedAtMs, limits);
  const counted = await countNewest(
    rows,
    startMs,
    endMs,
    (aggregateQuery) => store.aggregate(aggregateQuery, deductElapsedTime(startedAtMs, limits)),
    (counts) => toListedValues(counts, limit + 1, work),
  );
  const names = field.kind === "attribute" ? [...plan.names, field.key] : plan.names;
  // A field with values exists. A field without values may exist too if a prefix is given, as no value may begin with
  // it.
  const mayExist = counted.values.length > 0 || prefix !== "";
  const checked = { signal, names: mayExist ? plan.names : names };
  const warnings = warnOfUnknownNames(store, checked, toRangeNs(startMs, endMs));
  return {
    values: counted.values.slice(0, limit),
    isWhole: counted.fromMs === startMs && counted.values.length <= limit,
    ...(counted.fromMs === startMs ? {} : { countedFromMs: counted.fromMs }),
    warnings: [...new Set([...plan.warnings, ...warnings])],
  };
}

/** The rows whose values of a field are counted. */
interface CountedRows {
  signal: RowSignal;
  field: Field;
  steps: Step[];
}

type RunAggregate = (query: AggregateQuery) => Promise<AggregateResult>;

/**
 * Counts the values of the whole range. Where there are too many, the range is narrowed to its newest part, until the
 * store can count them. `fromMs` is the start of the range that was counted, or after the end where none could be.
 */
async function countNewest(
  { signal, field, steps }: CountedRows,
  startMs: number,
  endMs: number,
  aggregate: RunAggregate,
  list: (counts: AggregateResult) => Promise<ListedValue[]>,
): Promise<{ values: ListedValue[]; fromMs: number }> {
  const count = async (fromMs: number): Promise<ListedValue[] | undefined> => {
    const range = toRangeNs(fromMs, endMs);
    const counts = { signal, ...range, steps, groupBy: [field], aggregates: [{ op: "count" } as const] };
    try {
      return await list(await aggregate(counts));
    } catch (error) {
      if (error instanceof Failure && error.kind === "limit") return undefined;
      throw error;
    }
  };
  const all = await count(startMs);
  if (all !== undefined) return { values: all, fromMs: startMs };
  const [firstMs, lastMs] = await readTimeBounds({ signal, ...toRangeNs(startMs, endMs), steps }, aggregate);
  let widthMs = lastMs - firstMs;
  for (let narrowed = 0; narrowed < narrowingsMax && widthMs > 0; narrowed++) {
    widthMs = Math.floor(widthMs / narrowingFactor);
    const values = await count(lastMs - widthMs);
    if (values !== undefined) return { values, fromMs: lastMs - widthMs };
  }
  return { values: [], fromMs: endMs + 1 };
}

/** The times of the first and the last row, milliseconds since the epoch. */
async function readTimeBounds(
  rows: Omit<AggregateQuery, "groupBy" | "aggregates">,
  aggregate: RunAggregate,
): Promise<[number, number]> {
  const { points } = await aggregate({ ...rows, groupBy: [], aggregates: [{ op: "first" }, { op: "last" }] });
  return [points.values[0]?.[0] ?? 0, points.values[1]?.[0] ?? 0];
}

/** The most frequent values, at most `limit`. */
async function toListedValues(
  { labels, points }: AggregateResult,
  limit: number,
  work: WorkDeadline,
): Promise<ListedValue[]> {
  const [counts] = points.values;
  const values: ListedValue[] = [];
  for (const [i, group] of points.groups.entries()) {
    if (work.isTurnOver()) await work.yield();
    const value = textAt(labels, group);
    if (value !== "") values.push({ value, count: counts![i]! });
  }
  const compare = (a: ListedValue, b: ListedValue) => b.count - a.count || (a.value < b.value ? -1 : 1);
  return firstInTurns(values, limit, compare, work);
}

import {
  type Aggregated,
  type AggregateQuery,
  Failure,
  type Field,
  type QueryLimits,
  type RowSignal,
  type Step,
  type Store,
  textAt,
} from "../../engine/index.ts";
import { fieldOf } from "../plan/field.ts";
import { makePrefixFilter } from "../plan/regexp.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifySteps } from "../plan/simplification.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { toRangeNs } from "../time/range.ts";
import { warnOfUnknownNames } from "../warning/unknown-names.ts";

/** The part of a store that a list of values needs. */
export type ValueStore = Pick<Store, "aggregate" | "attributeKeys">;

export interface ValueQuery {
  signal: RowSignal;
  /** As a query calls it. */
  field: string;
  /** Of the search for rows of the signal. */
  query: string;
  /** Whole milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
  /** What the values begin with. */
  prefix: string;
  /** Values at most, from 1. */
  limit: number;
}

interface ListedValue {
  value: string;
  /** Rows that have it. */
  count: number;
}

export interface ValueList {
  /** The most frequent first, equally frequent ones in their order. */
  values: ListedValue[];
  /** False where there are more values than these. */
  isWhole: boolean;
  /** Where there are too many values to count: those of the rows from this time on were, milliseconds since the epoch. */
  countedFromMs?: number;
  warnings: string[];
}

/** Where all values are too many, those of the newest part of the range are counted, and so on: the least part is a millionth. */
const narrowings = 5;
const narrowingFactor = 16;

/** The values of a field in the rows that a search finds; rows without the field, or with an empty text, are left out. Throws a QueryError, and what the store throws. */
export async function queryValues(
  store: ValueStore,
  { signal, field: name, query, startMs, endMs, prefix, limit }: ValueQuery,
  limits?: QueryLimits,
): Promise<ValueList> {
  const begunMs = performance.now();
  const plan = planSearch(signal, query);
  const field = fieldOf(name, signal);
  const steps = dropUnreadExtraction(plan.steps, [field]);
  const asked = { signal, field, steps: simplifySteps([...steps, ...makePrefixSteps(field, prefix)]) };
  const counted = await countNewest(asked, startMs, endMs, (query) =>
    store.aggregate(query, deductElapsedTime(begunMs, limits)),
  );
  const { fromNs, toNs } = toRangeNs(startMs, endMs);
  const names = field.kind === "attribute" ? [...plan.names, field.key] : plan.names;
  const isBorne = counted.values.length > 0 || prefix !== "";
  const warnings = warnOfUnknownNames(store, { signal, names: isBorne ? plan.names : names }, fromNs, toNs);
  return {
    values: counted.values.slice(0, limit),
    isWhole: counted.fromMs === startMs && counted.values.length <= limit,
    ...(counted.fromMs === startMs ? {} : { countedFromMs: counted.fromMs }),
    warnings: [...new Set([...plan.warnings, ...warnings])],
  };
}

/** Levels are compared in lower case. */
function makePrefixSteps(field: Field, prefix: string): Step[] {
  if (prefix === "") return [];
  return [
    {
      kind: "filter",
      filter: makePrefixFilter(field, field.kind === "level" ? prefix.toLowerCase() : prefix),
    },
  ];
}

interface CountedRows {
  signal: RowSignal;
  field: Field;
  steps: Step[];
}

type RunAggregate = (query: AggregateQuery) => Promise<Aggregated>;

/** Counts the values of the whole range, or where they are too many, of as much of the end of its rows as gives fewer. */
async function countNewest(
  { signal, field, steps }: CountedRows,
  startMs: number,
  endMs: number,
  aggregate: RunAggregate,
): Promise<{ values: ListedValue[]; fromMs: number }> {
  const count = async (fromMs: number): Promise<ListedValue[] | undefined> => {
    const range = toRangeNs(fromMs, endMs);
    try {
      return toListedValues(
        await aggregate({ signal, ...range, steps, groupBy: [field], aggregates: [{ op: "count" }] }),
      );
    } catch (error) {
      if (error instanceof Failure && error.kind === "limit") return undefined;
      throw error;
    }
  };
  const all = await count(startMs);
  if (all !== undefined) return { values: all, fromMs: startMs };
  const [firstMs, lastMs] = await readTimeBounds({ signal, ...toRangeNs(startMs, endMs), steps }, aggregate);
  let widthMs = lastMs - firstMs;
  for (let narrowed = 0; narrowed < narrowings && widthMs > 0; narrowed++) {
    widthMs = Math.floor(widthMs / narrowingFactor);
    const values = await count(lastMs - widthMs);
    if (values !== undefined) return { values, fromMs: lastMs - widthMs };
  }
  return { values: [], fromMs: endMs + 1 };
}

/** The least and the greatest time of the rows, milliseconds since the epoch. */
async function readTimeBounds(
  rows: Omit<AggregateQuery, "groupBy" | "aggregates">,
  aggregate: RunAggregate,
): Promise<[number, number]> {
  const { points } = await aggregate({ ...rows, groupBy: [], aggregates: [{ op: "first" }, { op: "last" }] });
  return [points.values[0]?.[0] ?? 0, points.values[1]?.[0] ?? 0];
}

function toListedValues({ labels, points }: Aggregated): ListedValue[] {
  const [counts] = points.values;
  return Array.from(points.groups, (group, i) => ({ value: textAt(labels, group), count: counts![i]! }))
    .filter(({ value }) => value !== "")
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
}

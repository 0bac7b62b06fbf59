import {
  type CountedTemplate,
  type CountedTemplates,
  type QueryLimits,
  type Step,
  type Store,
  templateTextOf,
} from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planLogs } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifyRowSteps } from "../plan/simplification.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a list of patterns needs. */
export type PatternStore = Pick<Store, "readColumns" | "countTemplates" | "search" | "attributeKeys">;

/** A search for logs, and how many patterns of their messages to list. */
export interface PatternQuery extends TimeRange {
  /** A search for logs: svcQL, or search terms. */
  query: string;
  /** The most patterns to return, from 1. */
  limit: number;
}

/** The rows whose messages have the same template: they differ only in its variables. */
export interface Pattern {
  /** The id of the template, which `template="…"` selects. */
  template: string;
  /** The text of the template, with `<*>` for each variable. */
  text: string;
  /** The number of rows. */
  count: number;
  /** The fraction of all rows found, above 0 and up to 1. */
  share: number;
  /** The newest message with this template. */
  example: string;
  /** Time of the first row, whole milliseconds since the epoch. */
  firstSeenMs: number;
  /** Time of the last row, whole milliseconds since the epoch. */
  lastSeenMs: number;
  /** The number of rows by level in lower case; "" for rows without a level. */
  levels: Record<string, number>;
}

/** The patterns of the messages that a search finds. */
export interface PatternList {
  /** The most frequent first; equally frequent ones by id of the template. */
  patterns: Pattern[];
  /** The number of rows that the search finds. */
  count: number;
  /** The number of patterns, whether listed or not. */
  distinct: number;
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
  /** What the aggregation of the rows read. */
  scanned: CountedTemplates["scanned"];
}

/** Examples that are read at a time: each may unpack the messages of a chunk. */
const examplesAtOnce = 4;

/**
 * Lists the patterns of the messages that a search for logs finds. Throws a QueryError for a mistake in the query, and
 * what the store throws: Failure "deadline", "cancelled" or "limit".
 */
export async function queryPatterns(
  store: PatternStore,
  { query, startMs, endMs, limit }: PatternQuery,
  limits?: QueryLimits,
): Promise<PatternList> {
  const startedAtMs = performance.now();
  const plan = planLogs(query);
  const range = { signal: "logs", ...toRangeNs(startMs, endMs) } as const;
  const asked = { ...range, steps: dropUnreadExtraction(plan.steps, []) };
  const { steps } = await resolveSteps(store, asked, limits, { fields: [] });
  const { templates, rows, distinct, scanned } = await store.countTemplates(
    { ...range, steps, limit },
    limits,
  );
  const readExample = makeExampleReader(store, steps, deductElapsedTime(startedAtMs, limits));
  const listed: Pattern[][] = [];
  for (let from = 0; from < templates.length; from += examplesAtOnce) {
    const next = templates.slice(from, from + examplesAtOnce).map(async (counted): Promise<Pattern[]> => {
      const example = await readExample(counted);
      return example === undefined ? [] : [toPattern(counted, rows, example)];
    });
    listed.push(...(await Promise.all(next)));
  }
  const warnings = collectPlanWarnings(store, plan, range);
  return { patterns: listed.flat(), count: rows, distinct, warnings, scanned };
}

function toPattern(
  { id, rows, firstMs, lastMs, levels }: CountedTemplate,
  all: number,
  example: string,
): Pattern {
  return {
    ...{ template: id, text: templateTextOf(example), count: rows, share: rows / all, example },
    ...{ firstSeenMs: firstMs, lastSeenMs: lastMs },
    // The object has no prototype, as a level may have the name of a member of it, such as `constructor`.
    levels: Object.assign(Object.create(null) as Record<string, number>, Object.fromEntries(levels)),
  };
}

/**
 * Returns a function that reads the newest message of a pattern. The message is undefined where the rows of the pattern
 * were deleted after they were counted.
 */
function makeExampleReader(
  store: PatternStore,
  steps: readonly Step[],
  limits: QueryLimits,
): (counted: CountedTemplate) => Promise<string | undefined> {
  return async ({ id, lastMs }) => {
    const filter = { kind: "equals", field: { kind: "template" }, value: id } as const;
    const narrowed = simplifyRowSteps([...steps, { kind: "filter", filter }]);
    const range = toRangeNs(lastMs, lastMs);
    const { rows } = await store.search({ signal: "logs", ...range, steps: narrowed, limit: 1 }, limits);
    return rows[0]?.message;
  };
}

import {
  type AggregateResult,
  type QueryLimits,
  type Step,
  type Store,
  templateTextOf,
  textAt,
} from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planLogs } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifyRowSteps } from "../plan/simplification.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { firstInTurns } from "../time/sort-in-turns.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a list of patterns needs. */
export type PatternStore = Pick<Store, "readColumns" | "aggregate" | "search" | "attributeKeys">;

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
  scanned: AggregateResult["scanned"];
}

type PatternCount = Pick<Pattern, "template" | "count">;
type PatternDetail = Omit<Pattern, "text" | "share" | "example">;

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
  const { steps } = await resolveSteps(
    store,
    { ...range, steps: dropUnreadExtraction(plan.steps, []) },
    limits,
    {
      fields: [],
    },
  );
  const aggregated = await store.aggregate(
    {
      ...range,
      steps,
      groupBy: [{ kind: "template" }, { kind: "level" }],
      aggregates: [{ op: "count" }, { op: "first" }, { op: "last" }],
    },
    limits,
  );
  const work = new WorkDeadline(startedAtMs, limits);
  const counts = await countPatterns(aggregated, work);
  const count = counts.reduce((sum, pattern) => sum + pattern.count, 0);
  const most = await firstInTurns(counts, limit, compareCounts, work);
  const details = await findDetails(aggregated, most, work);
  const readExample = makeExampleReader(store, steps, deductElapsedTime(startedAtMs, limits));
  const listed: Pattern[][] = [];
  for (let from = 0; from < details.length; from += examplesAtOnce) {
    const next = details.slice(from, from + examplesAtOnce).map(async (pattern): Promise<Pattern[]> => {
      const example = await readExample(pattern);
      if (example === undefined) return [];
      return [{ ...pattern, text: templateTextOf(example), share: pattern.count / count, example }];
    });
    listed.push(...(await Promise.all(next)));
  }
  return {
    patterns: listed.flat(),
    count,
    distinct: counts.length,
    warnings: collectPlanWarnings(store, plan, range),
    scanned: aggregated.scanned,
  };
}

/** The most frequent first. */
function compareCounts(a: PatternCount, b: PatternCount): number {
  return b.count - a.count || (a.template < b.template ? -1 : 1);
}

/** There may be as many patterns as rows, so that each is counted with nothing else. */
async function countPatterns(
  { labels, points }: AggregateResult,
  work: WorkDeadline,
): Promise<PatternCount[]> {
  const patterns = new Map<string, PatternCount>();
  const [counts] = points.values as [Float64Array, Float64Array, Float64Array];
  for (const [point, group] of points.groups.entries()) {
    if (work.isTurnOver()) await work.yield();
    const template = textAt(labels, group * 2);
    const known = patterns.get(template);
    if (known === undefined) patterns.set(template, { template, count: counts[point]! });
    else known.count += counts[point]!;
  }
  return [...patterns.values()];
}

/** Times and levels of some patterns, in their order. */
async function findDetails(
  { labels, points }: AggregateResult,
  patterns: readonly PatternCount[],
  work: WorkDeadline,
): Promise<PatternDetail[]> {
  const details = new Map(patterns.map((pattern) => [pattern.template, makeDetail(pattern)]));
  const [counts, firsts, lasts] = points.values as [Float64Array, Float64Array, Float64Array];
  for (const [point, group] of points.groups.entries()) {
    if (work.isTurnOver()) await work.yield();
    const detail = details.get(textAt(labels, group * 2));
    if (detail === undefined) continue;
    detail.firstSeenMs = Math.min(detail.firstSeenMs, firsts[point]!);
    detail.lastSeenMs = Math.max(detail.lastSeenMs, lasts[point]!);
    detail.levels[textAt(labels, group * 2 + 1)] = counts[point]!;
  }
  return [...details.values()];
}

function makeDetail({ template, count }: PatternCount): PatternDetail {
  return {
    template,
    count,
    firstSeenMs: Number.POSITIVE_INFINITY,
    lastSeenMs: 0,
    // The object has no prototype, as a level may have the name of a member of it, such as `constructor`.
    levels: Object.create(null) as Record<string, number>,
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
): (pattern: PatternDetail) => Promise<string | undefined> {
  return async ({ template, lastSeenMs }) => {
    const filter = { kind: "equals", field: { kind: "template" }, value: template } as const;
    const narrowed = simplifyRowSteps([...steps, { kind: "filter", filter }]);
    const range = toRangeNs(lastSeenMs, lastSeenMs);
    const { rows } = await store.search({ signal: "logs", ...range, steps: narrowed, limit: 1 }, limits);
    return rows[0]?.message;
  };
}

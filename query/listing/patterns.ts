import {
  type Aggregated,
  type QueryLimits,
  type Step,
  type Store,
  templateTextOf,
  textAt,
} from "../../engine/index.ts";
import { planLogs } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifySteps } from "../plan/simplification.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that patterns need. */
export type PatternStore = Pick<Store, "aggregate" | "search" | "attributeKeys">;

export interface PatternQuery {
  /** Of the search for logs: svcQL, or search terms. */
  query: string;
  /** Whole milliseconds since the epoch, inclusive. */
  startMs: number;
  /** Inclusive: the whole millisecond. */
  endMs: number;
  /** Patterns at most, from 1. */
  limit: number;
}

/** Rows whose messages differ in their variables alone. */
export interface Pattern {
  /** Id of the template, as `template="…"` selects it. */
  template: string;
  /** The template with `<*>` in the place of each variable. */
  text: string;
  count: number;
  /** Part of all rows found, above 0 and up to 1. */
  share: number;
  /** The newest of the messages. */
  example: string;
  /** Whole milliseconds since the epoch. */
  firstSeenMs: number;
  lastSeenMs: number;
  /** Rows of each level, in lower case; "" for rows without one. */
  levels: Record<string, number>;
}

export interface PatternList {
  /** The most frequent first, equally frequent ones by id. */
  patterns: Pattern[];
  /** Rows found, and different patterns among them, listed or not. */
  count: number;
  distinct: number;
  warnings: string[];
  scanned: Aggregated["scanned"];
}

type PatternCount = Omit<Pattern, "text" | "share" | "example">;

/**
 * The patterns of the messages that a search for logs finds. Throws a QueryError for a query that is none, and what the store throws:
 * Failure "deadline", "cancelled", "limit".
 */
export async function queryPatterns(
  store: PatternStore,
  { query, startMs, endMs, limit }: PatternQuery,
  limits?: QueryLimits,
): Promise<PatternList> {
  const begunMs = performance.now();
  const plan = planLogs(query);
  const range = { signal: "logs", ...toRangeNs(startMs, endMs) } as const;
  const aggregated = await store.aggregate(
    {
      ...range,
      steps: dropUnreadExtraction(plan.steps, []),
      groupBy: [{ kind: "template" }, { kind: "level" }],
      aggregates: [{ op: "count" }, { op: "first" }, { op: "last" }],
    },
    limits,
  );
  const counted = countPatterns(aggregated);
  const count = counted.reduce((sum, each) => sum + each.count, 0);
  const newest = makeExampleReader(store, plan.steps, deductElapsedTime(begunMs, limits));
  const listed = await Promise.all(
    counted.slice(0, limit).map(async (each): Promise<Pattern[]> => {
      const example = await newest(each);
      if (example === undefined) return [];
      return [{ ...each, text: templateTextOf(example), share: each.count / count, example }];
    }),
  );
  return {
    patterns: listed.flat(),
    count,
    distinct: counted.length,
    warnings: collectPlanWarnings(store, plan, range.fromNs, range.toNs),
    scanned: aggregated.scanned,
  };
}

function countPatterns({ labels, points }: Aggregated): PatternCount[] {
  const patterns = new Map<string, PatternCount>();
  const [counts, firsts, lasts] = points.values as [Float64Array, Float64Array, Float64Array];
  for (const [point, group] of points.groups.entries()) {
    const template = textAt(labels, group * 2);
    const level = textAt(labels, group * 2 + 1);
    const pattern = patterns.get(template) ?? makeEmptyCount(template);
    patterns.set(template, pattern);
    pattern.count += counts[point]!;
    pattern.firstSeenMs = Math.min(pattern.firstSeenMs, firsts[point]!);
    pattern.lastSeenMs = Math.max(pattern.lastSeenMs, lasts[point]!);
    pattern.levels[level] = counts[point]!;
  }
  const byId = (a: PatternCount, b: PatternCount) => (a.template < b.template ? -1 : 1);
  return [...patterns.values()].sort((a, b) => b.count - a.count || byId(a, b));
}

function makeEmptyCount(template: string): PatternCount {
  return {
    template,
    count: 0,
    firstSeenMs: Number.POSITIVE_INFINITY,
    lastSeenMs: 0,
    // A level may be named like something that every object has.
    levels: Object.create(null) as Record<string, number>,
  };
}

/** Finds the newest message of a pattern; undefined where its rows went in the meantime. */
function makeExampleReader(
  store: PatternStore,
  steps: readonly Step[],
  limits: QueryLimits,
): (pattern: PatternCount) => Promise<string | undefined> {
  return async ({ template, lastSeenMs }) => {
    const filter = { kind: "equals", field: { kind: "template" }, value: template } as const;
    const { rows } = await store.search(
      {
        signal: "logs",
        ...toRangeNs(lastSeenMs, lastSeenMs),
        steps: simplifySteps([...steps, { kind: "filter", filter }]),
        limit: 1,
      },
      limits,
    );
    return rows[0]?.message;
  };
}

import {
  type AggregateResult,
  type CompareOp,
  type QueryLimits,
  type Step,
  type Store,
  textAt,
} from "../../engine/index.ts";
import { resolveSteps } from "../ordered/resolution.ts";
import { planSearch } from "../plan/search-plan.ts";
import { dropUnreadExtraction, simplifyRowSteps } from "../plan/simplification.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { collectPlanWarnings } from "../warning/unknown-names.ts";

/** The part of a store that a histogram of durations needs. */
export type DurationStore = Pick<Store, "readColumns" | "aggregate" | "attributeKeys">;

/** A search for spans. */
export interface DurationQuery extends TimeRange {
  query: string;
}

interface DurationBucket {
  /** Milliseconds, inclusive. */
  fromMs: number;
  /** Milliseconds, exclusive. */
  toMs: number;
  /** The number of spans. */
  count: number;
  /** Those of them whose status is an error. */
  errors: number;
}

/** How long the spans took that a search finds. */
export interface DurationHistogram {
  /** The number of spans with a duration. */
  count: number;
  errors: number;
  /** Milliseconds that half, 90 % and 99 % of the spans took at most; null without spans. */
  p50: number | null;
  p90: number | null;
  p99: number | null;
  /** From the shortest to the longest, each as wide as the one before by the same factor; empty ones too. */
  buckets: DurationBucket[];
  /** Sentences for people, such as about names that do not exist. */
  warnings: string[];
}

const bucketsMax = 40;
/** Buckets for each power of ten, the most that give `bucketsMax` at most. */
const perDecade = [20, 10, 5, 3, 2, 1];
/** Shorter durations fall into the first bucket, milliseconds. */
const shortestMs = 0.001;

const duration = { kind: "attribute", key: "duration_ms" } as const;
const status = { kind: "attribute", key: "status_code" } as const;
const of = { field: duration };

/**
 * Counts the spans that a search finds by their duration, in buckets that grow by a constant factor. Throws a QueryError
 * for a mistake in the query, and what the store throws.
 */
export async function queryDurations(
  store: DurationStore,
  { query, startMs, endMs }: DurationQuery,
  limits?: QueryLimits,
): Promise<DurationHistogram> {
  const startedAtMs = performance.now();
  const plan = planSearch("traces", query);
  const scan = { signal: "traces", ...toRangeNs(startMs, endMs) } as const;
  const fields = [duration, status];
  const rows = { ...scan, steps: dropUnreadExtraction(plan.steps, fields) };
  const { steps } = await resolveSteps(store, rows, limits, { fields });
  const present: Step = { kind: "filter", filter: { kind: "present", field: duration } };
  const whole = await store.aggregate(
    {
      ...scan,
      steps: simplifyRowSteps([...steps, present]),
      groupBy: [],
      aggregates: [
        { op: "min", of },
        { op: "max", of },
        ...[0.5, 0.9, 0.99].map((q) => ({ op: "quantile", of, q }) as const),
      ],
    },
    limits,
  );
  const warnings = collectPlanWarnings(store, plan, scan);
  const [least, greatest, p50, p90, p99] = whole.points.values.map((values) => values[0]) as number[];
  if (least === undefined || Number.isNaN(least))
    return { ...{ count: 0, errors: 0, p50: null, p90: null, p99: null }, buckets: [], warnings };
  const remaining = deductElapsedTime(startedAtMs, limits);
  const buckets = await Promise.all(
    makeBounds(least, greatest!).map(async ([fromMs, toMs]): Promise<DurationBucket> => {
      const within = simplifyRowSteps([
        ...steps,
        ...(fromMs === 0 ? [present] : [compare(">=", fromMs)]),
        compare("<", toMs),
      ]);
      const counted = await store.aggregate(
        { ...scan, steps: within, groupBy: [status], aggregates: [{ op: "count" }] },
        remaining,
      );
      return { fromMs, toMs, ...countByStatus(counted) };
    }),
  );
  const sum = (key: "count" | "errors") => buckets.reduce((total, bucket) => total + bucket[key], 0);
  return {
    ...{ count: sum("count"), errors: sum("errors"), buckets, warnings },
    ...{ p50: p50!, p90: p90!, p99: p99! },
  };
}

function compare(op: CompareOp, number: number): Step {
  return { kind: "filter", filter: { kind: "compares", field: duration, op, number } };
}

/** Bounds of buckets that contain both durations: powers of ten, and between them equal factors. */
function makeBounds(least: number, greatest: number): [fromMs: number, toMs: number][] {
  const decades = Math.log10(Math.max(greatest, shortestMs) / Math.max(least, shortestMs));
  const steps = perDecade.find((each) => decades * each <= bucketsMax - 2) ?? 1;
  const first = Math.floor(Math.log10(Math.max(least, shortestMs)) * steps);
  const bound = (i: number) => Number((10 ** ((first + i) / steps)).toPrecision(4));
  const bounds: [number, number][] = [];
  for (let i = 0; i === 0 || bound(i) <= greatest; i++)
    bounds.push([i === 0 && least < bound(0) ? 0 : bound(i), bound(i + 1)]);
  return bounds;
}

function countByStatus({ labels, points }: AggregateResult): { count: number; errors: number } {
  const counts = points.values[0]!;
  let [count, errors] = [0, 0];
  for (const [i, group] of points.groups.entries()) {
    count += counts[i]!;
    if (textAt(labels, group).toLowerCase() === "error") errors += counts[i]!;
  }
  return { count, errors };
}

/**
 * Whether a rule fires: M breaching datapoints out of N, decided as in CloudWatch ("Configuring how CloudWatch alarms
 * treat missing data"). Of the newest N + 2 buckets, the newest N that have a point count.
 */

import type { StaticRule } from "../../model/alert.ts";
import { isBreaching } from "./alert-definition.ts";
import { type MissingEffect, type PossiblePoint, possiblePoint } from "./missing-rows.ts";

export interface Verdict {
  /** `keep`: the state stays what it was. */
  state: "ok" | "firing" | "noData" | "keep";
  /** The reason, for people. */
  why: string;
}

const verdictsWithoutPoints = {
  missing: { state: "noData", why: "no bucket has a point" },
  ignore: { state: "keep", why: "no bucket has a point, and missing points keep the state" },
  breaching: { state: "firing", why: "no bucket has a point, and missing points breach" },
  notBreaching: { state: "ok", why: "no bucket has a point, and missing points do not breach" },
} satisfies Record<string, Verdict>;

/** One for each bucket: what rows that may be missing from it could do. Absent where no bucket lacks rows. */
export type MissingEffects = readonly (MissingEffect | undefined)[];

/**
 * Decides from the first `end` entries of `values`. Each entry is the value of one bucket, null where the bucket has no
 * point; the oldest bucket comes first. Only the newest N + 2 of the entries count. Where rows may be missing, the
 * state is kept unless all that they could make of the buckets leads to the same verdict.
 */
export function verdictOf(
  values: readonly (number | null)[],
  rule: StaticRule,
  end = values.length,
  effects?: MissingEffects,
): Verdict {
  const counts = countsOf(values, rule, end);
  const state = verdictState(values, rule, end, effects);
  if (state === decide(counts, rule)) return { state, why: explain(counts, rule) };
  return { state, why: `${explain(counts, rule)}; rows that may be missing could decide otherwise` };
}

/** Decides like `verdictOf`, without the reason: most verdicts change nothing, and nobody reads their reason. */
export function verdictState(
  values: readonly (number | null)[],
  rule: StaticRule,
  end: number,
  effects?: MissingEffects,
): Verdict["state"] {
  const oldest = end - rule.persistenceSettings.datapointsInEvaluationWindow - 2;
  const isWhole = !effects?.some((effect, i) => effect !== undefined && i >= oldest && i < end);
  if (isWhole) return decide(countsOf(values, rule, end), rule);
  let verdict: Verdict["state"] | undefined;
  for (const counts of possibleCounts(values, rule, end, effects!)) {
    const possible = decide(counts, rule);
    if (verdict !== undefined && verdict !== possible) return "keep";
    verdict = possible;
  }
  return verdict!;
}

/** All counts that the window may turn out to have, each once. */
function possibleCounts(
  values: readonly (number | null)[],
  rule: StaticRule,
  end: number,
  effects: MissingEffects,
): Iterable<Counts> {
  const { buckets, window } = bucketsOf(rule, end);
  const none: Counts = { buckets, window, points: 0, breaching: 0, oldestAge: 0 };
  let all = new Map([["", none]]);
  for (let age = 1; age <= buckets; age++) {
    const point = possiblePoint(values[end - age]!, effects[end - age], rule);
    const next = new Map<string, Counts>();
    for (const counts of all.values()) {
      for (const one of withPoint(counts, point, age)) {
        next.set(`${one.points} ${one.breaching} ${one.oldestAge}`, one);
      }
    }
    all = next;
  }
  return all.values();
}

function withPoint(
  counts: Counts,
  { canBeMissing, canBreach, canBeSound }: PossiblePoint,
  age: number,
): Counts[] {
  const { points, breaching, window } = counts;
  if (points === window) return [counts];
  const counted = { ...counts, points: points + 1, oldestAge: age };
  return [
    ...(canBeMissing ? [counts] : []),
    ...(canBeSound ? [counted] : []),
    ...(canBreach ? [{ ...counted, breaching: breaching + 1 }] : []),
  ];
}

interface Counts {
  /** Observed buckets, at most `datapointsInEvaluationWindow` + 2. */
  buckets: number;
  /** `datapointsInEvaluationWindow`, or `buckets` where that is smaller, as right after a start. */
  window: number;
  /** Number of points that count: the newest ones, `window` at most. */
  points: number;
  /** How many of `points` breach. */
  breaching: number;
  /** Age of the oldest of `points` in buckets; the newest bucket has age 1. */
  oldestAge: number;
}

/** Only the newest `buckets` of the first `end` values count. */
function bucketsOf(rule: StaticRule, end: number): { buckets: number; window: number } {
  const { datapointsInEvaluationWindow } = rule.persistenceSettings;
  const buckets = Math.min(end, datapointsInEvaluationWindow + 2);
  return { buckets, window: Math.min(datapointsInEvaluationWindow, buckets) };
}

function countsOf(values: readonly (number | null)[], rule: StaticRule, end: number): Counts {
  const { buckets, window } = bucketsOf(rule, end);
  let points = 0;
  let breaching = 0;
  let oldestAge = 0;
  for (let age = 1; age <= buckets && points < window; age++) {
    const value = values[end - age]!;
    if (value === null) continue;
    points++;
    oldestAge = age;
    if (isBreaching(value, rule)) breaching++;
  }
  return { buckets, window, points, breaching, oldestAge };
}

function decide(
  { buckets, window, points, breaching, oldestAge }: Counts,
  { persistenceSettings }: StaticRule,
): Verdict["state"] {
  const { datapointsToAlarm, missingDatapointBehavior: behaviour = "notBreaching" } = persistenceSettings;
  if (buckets === 0) return "keep";
  if (points === 0) return verdictsWithoutPoints[behaviour].state;
  if (behaviour === "breaching") return breaching + window - points >= datapointsToAlarm ? "firing" : "ok";
  if (breaching >= datapointsToAlarm) return "firing";
  if (behaviour === "notBreaching" || breaching < points) return "ok";
  return behaviour === "missing" && oldestAge >= datapointsToAlarm ? "firing" : "keep";
}

function explain(
  { buckets, window, points, breaching, oldestAge }: Counts,
  { persistenceSettings }: StaticRule,
): string {
  const { datapointsToAlarm, datapointsInEvaluationWindow } = persistenceSettings;
  const { missingDatapointBehavior: behaviour = "notBreaching" } = persistenceSettings;
  if (buckets === 0) return "no bucket was observed";
  if (points === 0) return verdictsWithoutPoints[behaviour].why;
  const counted = `${breaching} of ${points} points breach`;
  const needed = `${datapointsToAlarm} of ${datapointsInEvaluationWindow} are needed`;
  if (behaviour === "breaching") {
    return `${counted}, ${window - points} are missing, which breach too; ${needed}`;
  }
  if (breaching >= datapointsToAlarm || behaviour === "notBreaching" || breaching < points) {
    return `${counted}; ${needed}`;
  }
  if (behaviour === "ignore") return `${counted}, the rest is missing, which keeps the state; ${needed}`;
  if (oldestAge < datapointsToAlarm) return `${counted}, too few and too new to decide; ${needed}`;
  return `${counted} and none after the first is sound; the oldest is ${oldestAge} buckets old; ${needed}`;
}

/**
 * M out of N as CloudWatch decides it ("Configuring how CloudWatch alarms treat missing data"): over the newest N + 2 buckets, of
 * which the newest N points that are there count.
 */

import type { StaticRule } from "../../model/alert.ts";
import { isBreaching } from "./alert-definition.ts";

/** `keep`: the state stays what it was. */
export interface Verdict {
  state: "ok" | "firing" | "noData" | "keep";
  /** For people. */
  why: string;
}

const withoutPoints = {
  missing: { state: "noData", why: "no bucket has a point" },
  ignore: { state: "keep", why: "no bucket has a point, and missing points keep the state" },
  breaching: { state: "firing", why: "no bucket has a point, and missing points breach" },
  notBreaching: { state: "ok", why: "no bucket has a point, and missing points do not breach" },
} satisfies Record<string, Verdict>;

/**
 * `values`: of buckets from the oldest to the newest, null where a bucket has no point; of the first `end` those older than N + 2 do
 * not count.
 */
export function verdictOf(
  values: readonly (number | null)[],
  rule: StaticRule,
  end = values.length,
): Verdict {
  const counts = countsOf(values, rule, end);
  return { state: decided(counts, rule), why: explained(counts, rule) };
}

/** The same without the words: most verdicts change nothing, and nobody reads them. */
export function verdictState(
  values: readonly (number | null)[],
  rule: StaticRule,
  end: number,
): Verdict["state"] {
  return decided(countsOf(values, rule, end), rule);
}

interface Counts {
  /** Buckets that were observed, N + 2 at most. */
  buckets: number;
  /** Right after a start or a downtime fewer buckets were observed than the window has. */
  window: number;
  /** The newest points, as many as the window has at most, and how many of them breach. */
  points: number;
  breaching: number;
  /** Age of the oldest of them in buckets: that of the newest bucket is 1. */
  oldestAge: number;
}

function countsOf(values: readonly (number | null)[], rule: StaticRule, end: number): Counts {
  const { datapointsInEvaluationWindow } = rule.persistenceSettings;
  const buckets = Math.min(end, datapointsInEvaluationWindow + 2);
  const window = Math.min(datapointsInEvaluationWindow, buckets);
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

function decided(
  { buckets, window, points, breaching, oldestAge }: Counts,
  { persistenceSettings }: StaticRule,
): Verdict["state"] {
  const { datapointsToAlarm, missingDatapointBehavior: behaviour = "notBreaching" } = persistenceSettings;
  if (buckets === 0) return "keep";
  if (points === 0) return withoutPoints[behaviour].state;
  if (behaviour === "breaching") return breaching + window - points >= datapointsToAlarm ? "firing" : "ok";
  if (breaching >= datapointsToAlarm) return "firing";
  if (behaviour === "notBreaching" || breaching < points) return "ok";
  return behaviour === "missing" && oldestAge >= datapointsToAlarm ? "firing" : "keep";
}

function explained(
  { buckets, window, points, breaching, oldestAge }: Counts,
  { persistenceSettings }: StaticRule,
): string {
  const { datapointsToAlarm, datapointsInEvaluationWindow } = persistenceSettings;
  const { missingDatapointBehavior: behaviour = "notBreaching" } = persistenceSettings;
  if (buckets === 0) return "no bucket was observed";
  if (points === 0) return withoutPoints[behaviour].why;
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

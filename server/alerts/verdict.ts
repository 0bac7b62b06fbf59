/**
 * M out of N as CloudWatch decides it ("Configuring how CloudWatch alarms treat missing data"): over the newest N + 2 buckets, of
 * which the newest N points that are there count.
 */
import { breaches, type StaticRule } from "./alert.ts";

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

/** `values`: of buckets from the oldest to the newest, null where a bucket has no point; those older than N + 2 do not count. */
export function verdictOf(values: readonly (number | null)[], rule: StaticRule): Verdict {
  const { datapointsToAlarm, datapointsInEvaluationWindow, missingDatapointBehavior } =
    rule.persistenceSettings;
  const behaviour = missingDatapointBehavior ?? "notBreaching";
  const range = values.slice(-(datapointsInEvaluationWindow + 2));
  if (range.length === 0) return { state: "keep", why: "no bucket was observed" };
  // Right after a start or a downtime fewer buckets were observed than the window has.
  const window = Math.min(datapointsInEvaluationWindow, range.length);
  const { points, oldestAge } = newestPoints(range, window);
  if (points.length === 0) return withoutPoints[behaviour];
  const breaching = points.filter((value) => breaches(value, rule)).length;
  const counted = `${breaching} of ${points.length} points breach`;
  const needed = `${datapointsToAlarm} of ${datapointsInEvaluationWindow} are needed`;
  if (behaviour === "breaching") {
    const missing = window - points.length;
    const state = breaching + missing >= datapointsToAlarm ? "firing" : "ok";
    return { state, why: `${counted}, ${missing} are missing, which breach too; ${needed}` };
  }
  if (breaching >= datapointsToAlarm) return { state: "firing", why: `${counted}; ${needed}` };
  if (behaviour === "notBreaching" || breaching < points.length)
    return { state: "ok", why: `${counted}; ${needed}` };
  if (behaviour === "ignore")
    return { state: "keep", why: `${counted}, the rest is missing, which keeps the state; ${needed}` };
  if (oldestAge >= datapointsToAlarm) {
    const age = `the oldest is ${oldestAge} buckets old`;
    return { state: "firing", why: `${counted} and none after the first is sound; ${age}; ${needed}` };
  }
  return { state: "keep", why: `${counted}, too few and too new to decide; ${needed}` };
}

/** The newest points, at most so many, and the age of the oldest of them in buckets: that of the newest bucket is 1. */
function newestPoints(range: readonly (number | null)[], most: number) {
  const points: number[] = [];
  let oldestAge = 0;
  for (let place = range.length - 1; place >= 0 && points.length < most; place--) {
    const value = range[place]!;
    if (value === null) continue;
    points.push(value);
    oldestAge = range.length - place;
  }
  return { points, oldestAge };
}

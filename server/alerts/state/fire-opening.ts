/** What a rule saw when it began to fire, so that people can ask later. */

import type { StaticRule } from "../../model/alert.ts";
import { fireOpeningPointsMax } from "../limits.ts";
import { verdictOf } from "./verdict.ts";

/** Plain data, stored with the fire. */
export interface FireOpening {
  operators: StaticRule["operators"];
  persistenceSettings: StaticRule["persistenceSettings"];
  /** The newest buckets that the rule looked at, the oldest first: start of the bucket, value or null. */
  points: [ms: number, value: number | null][];
  /** Older buckets that it looked at, which are not kept. */
  olderPoints: number;
  /** Of these points. */
  verdict: ReturnType<typeof verdictOf>["state"];
  why: string;
}

/**
 * Makes it from the values of a window, of which the first `end` count. `buckets` holds the starts of the same buckets.
 */
export function makeFireOpening(
  rule: StaticRule,
  buckets: readonly number[],
  values: readonly (number | null)[],
  end: number,
): FireOpening {
  const { operators, persistenceSettings } = rule;
  const seen = Math.min(end, persistenceSettings.datapointsInEvaluationWindow + 2);
  const kept = Math.min(seen, fireOpeningPointsMax);
  const points = Array.from({ length: kept }, (_, i): [number, number | null] => {
    const at = end - kept + i;
    return [buckets[at]!, values[at]!];
  });
  const { state: verdict, why } = verdictOf(values, rule, end);
  return { operators, persistenceSettings, points, olderPoints: seen - kept, verdict, why };
}

/** Rows that may be missing from a bucket because the server was down, and what they could make of its values. */

import type { StaticRule } from "../../model/alert.ts";
import { isBreaching } from "./alert-definition.ts";

/**
 * What missing rows could do to the value of a bucket: `raise` and `lower` it only, or `change` it in any way. A series
 * without a value may get any.
 */
export type MissingEffect = "raise" | "lower" | "change";

/** A bucket that may lack rows. Plain data, stored with the window. */
export interface IncompleteBucket {
  /** Start of the bucket. */
  bucketMs: number;
  effect: MissingEffect;
  /** Until then senders may still repeat rows. Null where that time is over, and it is unknown whether rows are missing. */
  untilMs: number | null;
}

/** What a bucket may turn out to be for a rule. */
export interface PossiblePoint {
  canBeMissing: boolean;
  canBreach: boolean;
  canBeSound: boolean;
}

/** Finds what a value may become, itself included. Values between two thresholds are all alike to a rule. */
export function possiblePoint(
  value: number | null,
  effect: MissingEffect | undefined,
  rule: StaticRule,
): PossiblePoint {
  const candidates = candidatesOf(value, effect, rule);
  return {
    canBeMissing: value === null,
    canBreach: candidates.some((each) => isBreaching(each, rule)),
    canBeSound: candidates.some((each) => !isBreaching(each, rule)),
  };
}

/** A value of each kind that the rule tells apart, as far as the bucket may have one. */
function candidatesOf(value: number | null, effect: MissingEffect | undefined, rule: StaticRule): number[] {
  if (effect === undefined) return value === null ? [] : [value];
  const limits = rule.operators.map(({ threshold }) => threshold);
  if (value !== null) limits.push(value);
  limits.sort((a, b) => a - b);
  const between = limits.slice(1).map((limit, i) => (limits[i]! + limit) / 2);
  const all = [...limits, ...between, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  if (value === null || effect === "change") return all;
  return all.filter((each) => (effect === "raise" ? each >= value : each <= value));
}

/** What judging buckets finds: verdicts, transitions, and what changes in an alert. */

import type { Datapoint } from "../../model/event.ts";
import type { AlertDefinition } from "./alert-definition.ts";
import type { AlertState, RuleCondition } from "./alert-state.ts";
import type { ClosedFire, Fire } from "./fire.ts";
import type { Verdict } from "./verdict.ts";

export interface Transition {
  rule: string;
  labels: Record<string, string>;
  from: RuleCondition | null;
  to: RuleCondition;
  /** End of the bucket that caused the transition. */
  atMs: number;
  /** The datapoint that speaks for the new state; its value is null where the bucket has none. */
  decided: Datapoint;
  why: string;
  fireId: string | null;
  /** Present where rows decided that came after the bucket had been judged. */
  corrected?: true;
}

/** What a rule says of one bucket of an instance. */
export interface BucketVerdict {
  rule: string;
  /** Key of the instance. */
  key: string;
  /** Start of the bucket. */
  bucketMs: number;
  /** Null where the bucket has no point. */
  value: number | null;
  /** Of the newest points up to this bucket. */
  verdict: Verdict["state"];
  /** The state of the rule after this bucket. */
  state: RuleCondition;
}

/** An alert that judges the buckets of a window, which it shares with other alerts. */
export interface WindowFollower {
  alert: AlertDefinition;
  state: AlertState;
  /** Start of the first bucket that the alert judges. */
  fromMs: number;
  /** Receives every verdict, in the order of the buckets. */
  visit?: ((verdict: BucketVerdict) => void) | undefined;
}

export interface Advance {
  state: AlertState;
  transitions: Transition[];
  opened: Fire[];
  closed: ClosedFire[];
  /** Ids of ended fires that should not have been, by the rows as they are now. */
  retracted: string[];
}

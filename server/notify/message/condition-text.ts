/** What a rule decides by, as people read it. */

import type { Operator } from "../../model/alert.ts";
import type { AlertCondition } from "../../model/event.ts";

const operatorSigns: Readonly<Record<Operator, string>> = {
  greaterThan: ">",
  greaterThanOrEqual: "≥",
  lessThan: "<",
  lessThanOrEqual: "≤",
  equals: "=",
  notEquals: "≠",
};

/** `> 100`, or `> 100 and < 200`. */
export function thresholdText({ operators }: AlertCondition): string {
  return operators.map(({ operator, threshold }) => `${operatorSigns[operator]} ${threshold}`).join(" and ");
}

/** Such as `2 of 3 buckets of 1 min`. */
export function persistenceText(
  { datapointsToAlarm, datapointsInEvaluationWindow }: AlertCondition,
  bucketSeconds: number,
): string {
  const buckets = datapointsInEvaluationWindow === 1 ? "bucket" : "buckets";
  return `${datapointsToAlarm} of ${datapointsInEvaluationWindow} ${buckets} of ${durationText(bucketSeconds)}`;
}

function durationText(seconds: number): string {
  const units = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
  ] as const;
  const [size, unit] = units.find(([each]) => seconds % each === 0) ?? [1, "s"];
  return `${seconds / size} ${unit}`;
}

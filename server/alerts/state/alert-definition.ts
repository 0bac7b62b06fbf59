/** An alert's definition as evaluation uses it: its query, bucket size, thresholds, and digests that detect edits. */
import { createHash } from "node:crypto";
import type { Alert, EvaluationRule, Operator, StaticRule } from "../../model/alert.ts";

/** An alert under evaluation: unlike a configured one, it always has an id. */
export interface AlertDefinition extends Omit<Alert, "metadata"> {
  metadata: Alert["metadata"] & { id: string };
  /** The access rights of its queries, as text. Alerts share a query only if this text is the same. */
  readsAs?: string;
}

export function withId({ metadata, ...alert }: Alert, id: string): AlertDefinition {
  return { ...alert, metadata: { ...metadata, id } };
}

const comparisons: Readonly<Record<Operator, (value: number, threshold: number) => boolean>> = {
  greaterThan: (value, threshold) => value > threshold,
  greaterThanOrEqual: (value, threshold) => value >= threshold,
  lessThan: (value, threshold) => value < threshold,
  lessThanOrEqual: (value, threshold) => value <= threshold,
  equals: (value, threshold) => value === threshold,
  notEquals: (value, threshold) => value !== threshold,
};

/** Returns whether a value satisfies all operators of the rule. */
export function isBreaching(value: number, { operators }: Pick<StaticRule, "operators">): boolean {
  return operators.every(({ operator, threshold }) => comparisons[operator](value, threshold));
}

export function queryOf(alert: Alert): { query: string; bucketSeconds: number } {
  const { query, bucketSize } = alert.timeseries.expression.svcQLTimeseries;
  return { query, bucketSeconds: bucketSize };
}

export function bucketMsOf(alert: AlertDefinition): number {
  return queryOf(alert).bucketSeconds * 1000;
}

/** The wait for late data that an alert asks for itself. */
export function ownDelayMsOf({
  timeseries: { evaluationDelaySeconds },
}: AlertDefinition): number | undefined {
  return evaluationDelaySeconds === undefined ? undefined : evaluationDelaySeconds * 1000;
}

/** The largest number of buckets that a rule of the alert reads: two more than the longest evaluation window. */
export function windowBuckets(alert: AlertDefinition): number {
  const windows = alert.timeseries.evaluationRules.map(
    (rule) => rule.static.persistenceSettings.datapointsInEvaluationWindow,
  );
  return Math.max(...windows) + 2;
}

/** A digest of query and bucket size. Where it changes, earlier states and fires have no meaning any more. */
export function seriesDefinition(alert: AlertDefinition): string {
  const { query, bucketSeconds } = queryOf(alert);
  return digest([query, bucketSeconds]);
}

/** A digest of what a rule decides by: operators and persistence. */
export function ruleDefinition({ static: { operators, persistenceSettings } }: EvaluationRule): string {
  const { datapointsToAlarm, datapointsInEvaluationWindow, missingDatapointBehavior } = persistenceSettings;
  return digest([
    operators.map(({ operator, threshold }) => [operator, threshold]),
    datapointsToAlarm,
    datapointsInEvaluationWindow,
    missingDatapointBehavior ?? "notBreaching",
  ]);
}

/** 16 characters of a hash: short, because alert states are stored often. */
function digest(parts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 16);
}

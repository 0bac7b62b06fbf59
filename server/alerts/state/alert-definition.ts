import { createHash } from "node:crypto";
import type { Alert, EvaluationRule, Operator, StaticRule } from "../../model/alert.ts";

/** An alert under evaluation, which has an id in any case. */
export interface AlertDefinition extends Omit<Alert, "metadata"> {
  metadata: Alert["metadata"] & { id: string };
  /** Whose rights its queries have, as text: alerts share a query where it is the same. */
  readsAs?: string;
}

export function withId({ metadata, ...alert }: Alert, id: string): AlertDefinition {
  return { ...alert, metadata: { ...metadata, id } };
}

const holds: Readonly<Record<Operator, (value: number, threshold: number) => boolean>> = {
  greaterThan: (value, threshold) => value > threshold,
  greaterThanOrEqual: (value, threshold) => value >= threshold,
  lessThan: (value, threshold) => value < threshold,
  lessThanOrEqual: (value, threshold) => value <= threshold,
  equals: (value, threshold) => value === threshold,
  notEquals: (value, threshold) => value !== threshold,
};

export function isBreaching(value: number, { operators }: StaticRule): boolean {
  return operators.every(({ operator, threshold }) => holds[operator](value, threshold));
}

export function queryOf(alert: Alert): { query: string; bucketSeconds: number } {
  const { query, bucketSize } = alert.timeseries.expression.svcQLTimeseries;
  return { query, bucketSeconds: bucketSize };
}

export function bucketMsOf(alert: AlertDefinition): number {
  return queryOf(alert).bucketSeconds * 1000;
}

/** Buckets that the rules of an alert look at, at most: two more than the longest window. */
export function windowBuckets(alert: AlertDefinition): number {
  const windows = alert.timeseries.evaluationRules.map(
    (rule) => rule.static.persistenceSettings.datapointsInEvaluationWindow,
  );
  return Math.max(...windows) + 2;
}

/** A text that is another one where a fire of before means nothing any more. */
export function seriesDefinition(alert: AlertDefinition): string {
  const { query, bucketSeconds } = queryOf(alert);
  return digest([query, bucketSeconds]);
}

export function ruleDefinition({ static: { operators, persistenceSettings } }: EvaluationRule): string {
  const { datapointsToAlarm, datapointsInEvaluationWindow, missingDatapointBehavior } = persistenceSettings;
  return digest([
    operators.map(({ operator, threshold }) => [operator, threshold]),
    datapointsToAlarm,
    datapointsInEvaluationWindow,
    missingDatapointBehavior ?? "notBreaching",
  ]);
}

/** Short, for it is stored with every bucket. */
function digest(parts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 16);
}

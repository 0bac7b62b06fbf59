import { createHash } from "node:crypto";
import type { Action } from "../../model/event.ts";

/** What evaluation reads of an alert, as the interface specification shapes it. */
export interface Alert {
  metadata: { id: string; name: string; description?: string | undefined };
  investigateOnFire?: boolean | undefined;
  /** Whose rights its queries have, as text: alerts share a query where it is the same. */
  readsAs?: string;
  timeseries: {
    /** `bucketSize` is in whole seconds. */
    expression: { svcQLTimeseries: { query: string; bucketSize: number } };
    evaluationRules: readonly EvaluationRule[];
  };
}

/** As it is configured: the id may stand beside it. */
export type ConfiguredAlert = Omit<Alert, "metadata"> & { metadata: Omit<Alert["metadata"], "id"> };

export function withId({ metadata, ...alert }: ConfiguredAlert, id: string): Alert {
  return { ...alert, metadata: { ...metadata, id } };
}

export interface EvaluationRule {
  /** Unique within the alert: the identity of the rule. */
  name: string;
  static: StaticRule;
  actions?: readonly Action[] | undefined;
}

export interface StaticRule {
  /** All must hold for a point to breach. */
  operators: readonly { operator: Operator; threshold: number }[];
  persistenceSettings: {
    datapointsToAlarm: number;
    datapointsInEvaluationWindow: number;
    /** `notBreaching` where absent. */
    missingDatapointBehavior?: MissingDatapointBehavior | undefined;
  };
}

export type Operator =
  | "greaterThan"
  | "greaterThanOrEqual"
  | "lessThan"
  | "lessThanOrEqual"
  | "equals"
  | "notEquals";

export type MissingDatapointBehavior = "notBreaching" | "breaching" | "ignore" | "missing";

const holds: Readonly<Record<Operator, (value: number, threshold: number) => boolean>> = {
  greaterThan: (value, threshold) => value > threshold,
  greaterThanOrEqual: (value, threshold) => value >= threshold,
  lessThan: (value, threshold) => value < threshold,
  lessThanOrEqual: (value, threshold) => value <= threshold,
  equals: (value, threshold) => value === threshold,
  notEquals: (value, threshold) => value !== threshold,
};

export function breaches(value: number, { operators }: StaticRule): boolean {
  return operators.every(({ operator, threshold }) => holds[operator](value, threshold));
}

export function queryOf(alert: ConfiguredAlert): { query: string; bucketSeconds: number } {
  const { query, bucketSize } = alert.timeseries.expression.svcQLTimeseries;
  return { query, bucketSeconds: bucketSize };
}

export function bucketMsOf(alert: Alert): number {
  return queryOf(alert).bucketSeconds * 1000;
}

/** Buckets that the rules of an alert look at, at most: two more than the longest window. */
export function windowBuckets(alert: Alert): number {
  const windows = alert.timeseries.evaluationRules.map(
    (rule) => rule.static.persistenceSettings.datapointsInEvaluationWindow,
  );
  return Math.max(...windows) + 2;
}

/** A text that is another one where a fire of before means nothing any more. */
export function seriesDefinition(alert: Alert): string {
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

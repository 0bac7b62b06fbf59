/** Events that notifications carry, of fires and of investigations, and the JSON envelope they are sent in. */

import * as z from "zod";
import { operators, severities } from "./alert.ts";
import { investigationReport } from "./investigation.ts";
import type { RoutedAction } from "./notification-route.ts";

export const eventTypes = [
  "alertFired",
  "alertResolved",
  "alertUnhealthy",
  "alertHealthy",
  "investigationCompleted",
] as const;
export type EventType = (typeof eventTypes)[number];

const datapoint = z.object({
  /** Start of the bucket, milliseconds since the epoch. */
  bucketMs: z.int(),
  /** Null where a missing point decided. */
  value: z.number().nullable(),
});

export type Datapoint = z.infer<typeof datapoint>;

/**
 * Why a fire ended. `recovered`: its points no longer breach; `gone`: the instance had no data for a day; `changed`:
 * the rule or the query was edited; `deleted`: the alert was deleted; `corrected`: by rows that came late it should not
 * have begun.
 */
const resolveReason = z.enum(["recovered", "gone", "changed", "deleted", "corrected"]);

export type ResolveReason = z.infer<typeof resolveReason>;

/** A point breaches where all operators hold; a rule fires where so many of the newest points breach. */
const alertCondition = z.object({
  operators: z.array(z.object({ operator: z.enum(operators), threshold: z.number() })),
  datapointsToAlarm: z.int(),
  datapointsInEvaluationWindow: z.int(),
});

export type AlertCondition = z.infer<typeof alertCondition>;

/** The members of every event: facts about its fire. */
const fireFacts = {
  /** Stays the same when the event is sent again. */
  id: z.string(),
  alertId: z.string(),
  alertName: z.string(),
  alertDescription: z.string(),
  rule: z.string(),
  query: z.string(),
  bucketSeconds: z.int(),
  /** Stays the same from the begin to the end of the fire. */
  fireId: z.string(),
  /** Labels of the alert instance. */
  labels: z.record(z.string(), z.string()).readonly(),
  /** End of the bucket that decided, milliseconds since the epoch. */
  firedAtMs: z.int(),
  /** The newest point that breached. */
  breached: datapoint,
  /** What the rule decides by. Absent from fires that an earlier version stored, as are the members below. */
  condition: alertCondition.exactOptional(),
  severity: z.enum(severities).exactOptional(),
  /** Labels of the alert. */
  alertLabels: z.record(z.string(), z.string()).readonly().exactOptional(),
  runbook: z.string().exactOptional(),
  messageTemplate: z.string().exactOptional(),
  /** Instances of the rule that fire behind the event. */
  firingInstances: z.int().exactOptional(),
  /** Which message about a fire that goes on it is, from 1; absent from the first about a fire. */
  repeat: z.int().exactOptional(),
  /** True where it is sent much later than it happened, e.g. after a stop. */
  late: z.boolean(),
};

/** A fire has begun or ended; or an alert is not judged any more, or again, or was deleted meanwhile. */
const alertEvent = z.object({
  ...fireFacts,
  type: z.enum(["alertFired", "alertResolved", "alertUnhealthy", "alertHealthy"]),
  /** Why an alert is not judged. */
  problem: z.string().exactOptional(),
  resolvedAtMs: z.int().exactOptional(),
  reason: resolveReason.exactOptional(),
});

export type AlertEvent = z.infer<typeof alertEvent>;

/** An investigation of a fire has found something. */
const investigationEvent = z.object({
  ...fireFacts,
  type: z.literal("investigationCompleted"),
  report: investigationReport,
});

export type InvestigationEvent = z.infer<typeof investigationEvent>;

/** Every event that a notification can carry. */
export const notificationEvent = z.discriminatedUnion("type", [alertEvent, investigationEvent]);

export type NotificationEvent = z.infer<typeof notificationEvent>;

/** An event and the destinations it is sent to. */
export interface EventMessage<Event extends NotificationEvent = NotificationEvent> {
  event: Event;
  actions: readonly RoutedAction[];
}

/** RFC 3339. */
const timeText = z.iso.datetime();

/** `data` of every event: facts about its fire. */
const sharedData = {
  alertId: z.string(),
  alertName: z.string(),
  alertDescription: z.string(),
  rule: z.string(),
  state: z.enum(["firing", "resolved", "unhealthy", "healthy"]),
  fireId: z.string().meta({ description: "The same from the begin of a fire to its end" }),
  attributes: z.record(z.string(), z.string()).meta({ description: "Labels of the alert instance" }),
  query: z.string(),
  bucketSize: z.int().meta({ description: "Seconds" }),
  firedAt: timeText,
  condition: alertCondition.nullable().meta({ description: "What the rule decides by" }),
  severity: z.enum(severities).nullable(),
  alertLabels: z.record(z.string(), z.string()),
  runbook: z.string().nullable(),
  firingInstances: z
    .int()
    .nullable()
    .meta({ description: "Instances of the rule that fire behind the event" }),
  breachingDatapoint: z.strictObject({ time: timeText, value: z.number().nullable() }),
  repeat: z.int().nullable().meta({ description: "Which message about a fire that goes on it is, from 1" }),
  late: z.boolean().meta({ description: "Sent much later than it happened, as after a stop" }),
  deepLink: z.string(),
};

const endData = { resolvedAt: timeText.nullable(), resolveReason: resolveReason.nullable() };

/** What differs between the instances in one message. */
const instanceData = z.strictObject({
  fireId: z.string(),
  rule: z.string(),
  attributes: z.record(z.string(), z.string()),
  firedAt: timeText,
  ...endData,
  breachingDatapoint: sharedData.breachingDatapoint,
  late: z.boolean(),
  deepLink: z.string(),
});

const alertData = z
  .strictObject({
    ...sharedData,
    ...endData,
    instances: z
      .array(instanceData)
      .exactOptional()
      .meta({ description: "All instances, where the webhook groups them" }),
  })
  .meta({ id: "AlertEventData" });

const alertHealthData = z
  .strictObject({
    ...sharedData,
    problem: z.string().meta({ description: "Why the alert is not judged, or was not" }),
    ...endData,
  })
  .meta({ id: "AlertHealthEventData" });

const investigationCompletedData = z
  .strictObject({ ...sharedData, ...investigationReport.shape })
  .meta({ id: "InvestigationCompletedData" });

function envelopeFor<Type extends EventType, Data extends z.ZodType>(type: Type, data: Data, id: string) {
  return z
    .strictObject({
      id: z.string().meta({ description: "The same when the event is sent again" }),
      type: z.literal(type),
      version: z.literal("1.0.0"),
      timestamp: timeText,
      title: z.string(),
      message: z.string(),
      data,
    })
    .meta({ id });
}

/** The JSON form of each type of event. */
export const eventEnvelopes = {
  alertFired: envelopeFor("alertFired", alertData, "AlertFiredEvent"),
  alertResolved: envelopeFor("alertResolved", alertData, "AlertResolvedEvent"),
  alertUnhealthy: envelopeFor("alertUnhealthy", alertHealthData, "AlertUnhealthyEvent"),
  alertHealthy: envelopeFor("alertHealthy", alertHealthData, "AlertHealthyEvent"),
  investigationCompleted: envelopeFor(
    "investigationCompleted",
    investigationCompletedData,
    "InvestigationCompletedEvent",
  ),
} as const;

/** The JSON form in which an event is sent. */
export interface EventEnvelope {
  id: string;
  type: EventType;
  version: "1.0.0";
  timestamp: string;
  title: string;
  message: string;
  data: Record<string, unknown>;
}

/** Events that notifications carry, of fires and of investigations, and the JSON envelope they are sent in. */

import * as z from "zod";
import type { Action } from "./alert.ts";

export const eventTypes = ["alertFired", "alertResolved", "investigationCompleted"] as const;
export type EventType = (typeof eventTypes)[number];

const datapoint = z.object({
  /** Start of the bucket, milliseconds since the epoch. */
  bucketMs: z.int(),
  /** Null where a missing point decided. */
  value: z.number().nullable(),
});

export type Datapoint = z.infer<typeof datapoint>;

/**
 * Why a fire ended. `recovered`: its points no longer breach; `gone`: the instance had no data for a day; `changed`: the
 * rule or the query was edited; `deleted`: the alert was deleted.
 */
const resolveReason = z.enum(["recovered", "gone", "changed", "deleted"]);

export type ResolveReason = z.infer<typeof resolveReason>;

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
  /** True where it is sent much later than it happened, e.g. after a stop. */
  late: z.boolean(),
};

/** A fire has begun or ended. */
const alertEvent = z.object({
  ...fireFacts,
  type: z.enum(["alertFired", "alertResolved"]),
  resolvedAtMs: z.int().exactOptional(),
  reason: resolveReason.exactOptional(),
});

export type AlertEvent = z.infer<typeof alertEvent>;

/** What an investigation of a fire has found. */
const investigationEvent = z.object({
  ...fireFacts,
  type: z.literal("investigationCompleted"),
  completedAtMs: z.int(),
  summary: z.string(),
});

export type InvestigationEvent = z.infer<typeof investigationEvent>;

/** Every event that a notification can carry. */
export const notificationEvent = z.discriminatedUnion("type", [alertEvent, investigationEvent]);

export type NotificationEvent = z.infer<typeof notificationEvent>;

/** An event and the destinations it is sent to. */
export interface EventMessage<Event extends NotificationEvent = NotificationEvent> {
  event: Event;
  actions: readonly Action[];
}

/** The JSON form of every event. */
export const eventEnvelope = z.strictObject({
  id: z.string(),
  type: z.enum(eventTypes),
  version: z.literal("1.0.0"),
  /** RFC 3339. */
  timestamp: z.iso.datetime(),
  title: z.string(),
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
});

export type EventEnvelope = z.infer<typeof eventEnvelope>;

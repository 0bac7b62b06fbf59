import type { AlertEvent } from "../model/event.ts";
import { deepLink, eventLine, messageOf, time } from "./message.ts";

/** What all events that are sent as JSON share. */
export interface Envelope {
  id: string;
  type: string;
  version: "1.0.0";
  /** RFC 3339. */
  timestamp: string;
  title: string;
  message: string;
  data: Record<string, unknown>;
}

export function envelopeOf(event: AlertEvent, publicUrl: string): Envelope {
  return {
    id: event.id,
    type: event.type,
    version: "1.0.0",
    timestamp: time(event.resolvedAtMs ?? event.firedAtMs),
    title: messageOf([event], publicUrl).title,
    message: eventLine(event),
    data: {
      alertId: event.alertId,
      alertName: event.alertName,
      alertDescription: event.alertDescription,
      rule: event.rule,
      state: stateOf(event),
      fireId: event.fireId,
      attributes: event.labels,
      query: event.query,
      bucketSize: event.bucketSeconds,
      firedAt: time(event.firedAtMs),
      resolvedAt: event.resolvedAtMs === undefined ? null : time(event.resolvedAtMs),
      resolveReason: event.reason ?? null,
      breachingDatapoint: { time: time(event.breached.bucketMs), value: event.breached.value },
      late: event.late,
      deepLink: deepLink(event, publicUrl),
    },
  };
}

export function stateOf(event: AlertEvent): "firing" | "resolved" {
  return event.type === "alertFired" ? "firing" : "resolved";
}

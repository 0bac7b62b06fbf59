import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { stableId } from "../../../server/model/stable-id.ts";

export const firedAtMs = Date.UTC(2026, 0, 10, 12);

export function fired(name: string, changes: Partial<AlertEvent> = {}): AlertEvent {
  const fireId = stableId("fire", name);
  return {
    id: stableId("fired", fireId),
    type: "alertFired",
    alertId: "alert-1",
    alertName: "Too many errors",
    alertDescription: "Errors of the shop",
    rule: "high",
    query: 'count(logs{log_level="error"}) by (service.name)',
    bucketSeconds: 60,
    fireId,
    labels: { "service.name": name },
    firedAtMs,
    breached: { bucketMs: firedAtMs - 60_000, value: 42 },
    late: false,
    ...changes,
  };
}

export function resolved(name: string, changes: Partial<AlertEvent> = {}): AlertEvent {
  const event = fired(name);
  return {
    ...event,
    id: stableId("resolved", event.fireId),
    type: "alertResolved",
    resolvedAtMs: firedAtMs + 300_000,
    reason: "recovered",
    ...changes,
  };
}

export const hook = (uuid: string): Action => ({
  type: "webhook",
  webhookDestination: { uuid, notifyOnResolve: true },
});
export const mail = (...emails: string[]): Action => ({
  type: "email",
  emailDestination: { emails, notifyOnResolve: true },
});
export const slack = (channel: string): Action => ({
  type: "slack",
  slackDestination: { channel, notifyOnResolve: true },
});
export const pager: Action = { type: "pagerDuty", pagerDutyDestination: { serviceName: "shop" } };

/** Names of the receivers of messages, and lists of what is configured. */
import type { Action } from "../../../../server/model/alert.ts";

export function nameOf(action: Action): string {
  switch (action.type) {
    case "slack":
      return `slack ${action.slackDestination.channel}`;
    case "email":
      return `email ${action.emailDestination.emails.join(" ")}`;
    case "pagerDuty":
      return `pagerDuty ${action.pagerDutyDestination.serviceName}`;
    case "webhook":
      return `webhook ${action.webhookDestination.uuid}`;
  }
}

/** Routes or inhibitions in the order of their ids, as they are stored. */
export function listOf<T>(all: ReadonlyMap<string, T>): { id: string; value: T }[] {
  return [...all].map(([id, value]) => ({ id, value })).sort((a, b) => (a.id < b.id ? -1 : 1));
}

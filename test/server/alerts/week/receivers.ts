/** Names of the receivers of messages. */
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

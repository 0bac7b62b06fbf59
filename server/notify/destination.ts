import type { Action } from "../model/alert.ts";

/** The same for what reaches the same receiver: what goes there goes one after the other. */
export function destinationKey(action: Action): string {
  switch (action.type) {
    case "slack":
      return `slack ${action.slackDestination.channel}`;
    case "email":
      return `email ${action.emailDestination.emails.toSorted().join(" ")}`;
    case "pagerDuty": {
      const { routingKey, serviceId, serviceName } = action.pagerDutyDestination;
      return `pagerDuty ${routingKey ?? serviceId ?? serviceName ?? ""}`;
    }
    case "webhook":
      return `webhook ${action.webhookDestination.uuid}`;
  }
}

/** People get one message for many instances; programs get one each. */
export function isGrouped(action: Action): boolean {
  return action.type === "slack" || action.type === "email";
}

/** For people; says nothing that is secret. */
export function destinationName(action: Action): string {
  switch (action.type) {
    case "slack":
      return /^https?:/i.test(action.slackDestination.channel.trim())
        ? "a Slack webhook"
        : `Slack ${action.slackDestination.channel}`;
    case "email":
      return action.emailDestination.emails.join(", ");
    case "pagerDuty":
      return `PagerDuty ${action.pagerDutyDestination.serviceName ?? action.pagerDutyDestination.serviceId ?? ""}`.trim();
    case "webhook":
      return `webhook ${action.webhookDestination.uuid}`;
  }
}

import type { Action } from "../model/alert.ts";

/** Key of the receiver. Notifications with equal keys are sent one after the other. */
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

/**
 * Whether one message reports many instances. People want it so; programs get a message for each instance unless the
 * integration asks for one.
 */
export function isGrouped(action: Action, isGroupedWebhook: (uuid: string) => boolean): boolean {
  switch (action.type) {
    case "slack":
    case "email":
      return true;
    case "pagerDuty":
      return action.pagerDutyDestination.groupInstances === true;
    case "webhook":
      return isGroupedWebhook(action.webhookDestination.uuid);
  }
}

/** Whether an action opens one incident of PagerDuty for all instances of a rule. */
export function sharesIncident(action: Action): boolean {
  return action.type === "pagerDuty" && action.pagerDutyDestination.groupInstances === true;
}

/** Name of the receiver for people. It contains no secret. */
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

/** The first of the actions of each destination. */
export function distinctActions<Each extends Action>(actions: readonly Each[]): Each[] {
  const found = new Map<string, Each>();
  for (const action of actions) {
    const key = destinationKey(action);
    if (!found.has(key)) found.set(key, action);
  }
  return [...found.values()];
}

/** Whether a Slack action names the URL of an incoming webhook in the place of a channel. */
export function isIncomingWebhook(channel: string): boolean {
  return /^https?:\/\//.test(channel);
}

import type { Action } from "../model/alert.ts";
import type { DeliveryRules } from "./delivery-queue.ts";

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

/** Messages to one destination that may be on their way at once. Slack takes about one a second for each channel. */
const inFlightMaxOf = { slack: 1, email: 4, pagerDuty: 16, webhook: 32 } as const satisfies Record<
  Action["type"],
  number
>;

/**
 * How messages go to the destination of an action. `isGroupedWebhook` returns whether a webhook integration asks for
 * one message for all instances of an alert.
 */
export function deliveryRulesOf(
  { type }: Action,
  isGroupedWebhook: (uuid: string) => boolean,
): DeliveryRules {
  return {
    inFlightMax: inFlightMaxOf[type],
    isGrouped: ({ action }) => isGrouped(action, isGroupedWebhook),
    orderKeyOf: ({ action, event }) => {
      // One incident stands for all instances of a rule: its messages keep the order in which they arose.
      const isShared = action.type === "pagerDuty" && action.pagerDutyDestination.groupInstances === true;
      return isShared ? JSON.stringify([event.alertId, event.rule]) : event.fireId;
    },
  };
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

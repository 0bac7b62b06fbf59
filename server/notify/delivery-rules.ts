import type { Action } from "../model/alert.ts";
import { isGrouped, sharesIncident } from "./destination.ts";
import type { Notification } from "./notification.ts";

/** How messages go to one destination. */
export interface DeliveryRules {
  /** Messages that may be on their way at once. */
  inFlightMax: number;
  /** Whether one message reports several instances of an alert. */
  isGrouped(notification: Notification): boolean;
  /** Notifications with equal keys are sent one after the other, in the order of their creation. */
  orderKeyOf(notification: Notification): string;
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
      return sharesIncident(action) ? JSON.stringify([event.alertId, event.rule]) : event.fireId;
    },
  };
}

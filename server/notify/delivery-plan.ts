/** How and when notifications go out, by the configuration of this moment: grouped or alone, at once or later. */

import type { Action } from "../model/alert.ts";
import type { NotificationRoute, RoutedAction } from "../model/notification-route.ts";
import { isGrouped } from "./destination.ts";
import { groupWaitMs } from "./limits.ts";
import { findMuteEnd } from "./mute-time.ts";
import { makeNotification, type Notification } from "./notification.ts";
import { groupKeyOf } from "./routing.ts";

export interface DeliveryPlanOptions {
  /** Whether a webhook integration asks for one message for all instances of an alert. */
  isGroupedWebhook: (uuid: string) => boolean;
  routeOf: (id: string) => NotificationRoute | undefined;
}

export class DeliveryPlan {
  readonly #options: DeliveryPlanOptions;

  constructor(options: DeliveryPlanOptions) {
    this.#options = options;
  }

  isGroupedWebhook(uuid: string): boolean {
    return this.#options.isGroupedWebhook(uuid);
  }

  /** Whether one message of an action reports several instances. */
  isGrouped(action: Action): boolean {
    return isGrouped(action, this.#options.isGroupedWebhook);
  }

  /** Makes a notification. A grouped one waits a little for others that share its message. */
  make(
    { id, event, action, sequence }: Pick<Notification, "id" | "event" | "action" | "sequence">,
    nowMs: number,
  ): Notification {
    const route = this.#routeOf(action);
    const waitMs = route?.groupWaitSeconds === undefined ? groupWaitMs : route.groupWaitSeconds * 1_000;
    const groupKey = route === undefined ? null : groupKeyOf(route, event);
    const nextAtMs = this.isGrouped(action) ? nowMs + waitMs : nowMs;
    return makeNotification({ id, event, action, sequence, groupKey }, nowMs, nextAtMs);
  }

  /**
   * Returns the notifications of one message as they are from now on: where a route mutes one, its next try is at the end
   * of the mute time. The others are the same objects. What was tried before is not muted.
   */
  mute(message: readonly Notification[], nowMs: number): Notification[] {
    const endsMs = new Map<string | undefined, number | undefined>();
    const endMsOf = (action: RoutedAction) => {
      const { routeId } = action;
      if (!endsMs.has(routeId)) endsMs.set(routeId, this.#mutedUntilMs(action, nowMs));
      return endsMs.get(routeId);
    };
    return message.map((each) => {
      // Notifications that were sent under one message id are sent together again: the first one decides for all.
      const { action } = each.messageId === null ? each : message[0]!;
      const mutedUntilMs = each.tries === 0 ? endMsOf(action) : undefined;
      return mutedUntilMs === undefined ? each : { ...each, nextAtMs: mutedUntilMs, mutedUntilMs };
    });
  }

  /** When the mute time is over that holds for an action; undefined where none holds. Unix milliseconds. */
  #mutedUntilMs(action: RoutedAction, nowMs: number): number | undefined {
    return findMuteEnd(this.#routeOf(action)?.muteTimes ?? [], nowMs);
  }

  #routeOf({ routeId }: RoutedAction): NotificationRoute | undefined {
    return routeId === undefined ? undefined : this.#options.routeOf(routeId);
  }
}

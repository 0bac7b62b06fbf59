/** Which notifications need not be sent any more. */
import type { NotificationEvent } from "../model/event.ts";
import { untoldMsMax } from "./limits.ts";
import { rulesOf } from "./message/event-types.ts";
import { endId, firedId, hasReachedNobody, isBegin, type Notification } from "./notification.ts";
import type { StoredNotifications } from "./stored-notifications.ts";

/** Returns the id of the silence that covers an event now. */
export type SilencedBy = (event: NotificationEvent, nowMs: number) => string | undefined;

export class DeliveryNeeds {
  readonly #stored: StoredNotifications;
  readonly #silencedBy: SilencedBy;

  constructor(stored: StoredNotifications, silencedBy: SilencedBy) {
    this.#stored = stored;
    this.#silencedBy = silencedBy;
  }

  /** Returns why a notification need not be sent; undefined where it must be. `waitedMs`: how long it has waited. */
  findSkipReason(notification: Notification, waitedMs: number, nowMs: number): string | undefined {
    const { event, tries, messageId } = notification;
    const isFresh = tries === 0 && messageId === null;
    if (!isBegin(event)) return this.#whyNotFollow(notification, isFresh);
    const silence = isFresh ? this.#silencedBy(event, nowMs) : undefined;
    if (silence !== undefined) return `silenced by ${silence}`;
    const hasEnded = this.#stored.get(endId(notification))?.status === "waiting";
    // A message again ends with the begin that came to nothing.
    const isLeftOut = this.#stored.get(firedId(event, notification.action))?.status === "skipped";
    const hasWaited = waitedMs > untoldMsMax || notification.mutedUntilMs !== null || isLeftOut;
    const isOver = hasEnded && !notification.mayHaveArrived && hasWaited;
    return isOver ? "it ended before anybody could be told" : undefined;
  }

  /** Returns why what follows the begin of a fire need not be sent: its end, or a note about it. */
  #whyNotFollow(notification: Notification, isFresh: boolean): string | undefined {
    const { event, action } = notification;
    // One more trigger would open an incident that is resolved.
    if (rulesOf(event.type).pagerDuty === "note" && action.type === "pagerDuty")
      if (this.#stored.get(endId(notification)) !== undefined) return "its fire has ended";
    const fired = isFresh ? this.#stored.begunBefore(notification) : undefined;
    const isUntold =
      fired !== undefined && hasReachedNobody(fired) && !this.#stored.hasToldAgain(notification);
    return isUntold ? "its fire was never told" : undefined;
  }
}

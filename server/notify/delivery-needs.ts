/** What becomes of a notification that is due: it is sent, left out, or waits until nothing holds it back any more. */
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";
import { inhibitedTryMs, untoldMsMax } from "./limits.ts";
import { rulesOf } from "./message/event-types.ts";
import { endId, firedId, hasReachedNobody, isBegin, type Notification } from "./notification.ts";
import type { StoredNotifications } from "./stored-notifications.ts";

/** A silence that covers an event, or an inhibition that holds it back. */
export interface Hold {
  id: string;
  /** Unix milliseconds; null where nobody knows when it ends: an inhibition ends with the fires of its source. */
  endsAtMs: number | null;
}

/** Returns what holds an event back now. */
export type FindHold = (event: NotificationEvent, nowMs: number) => Hold | undefined;

export class DeliveryNeeds {
  readonly #stored: StoredNotifications;
  readonly #findHold: FindHold;

  constructor(stored: StoredNotifications, findHold: FindHold) {
    this.#stored = stored;
    this.#findHold = findHold;
  }

  /**
   * Whether an event is to be stored for an action. While the begin waits, the end is stored even if nobody there wants to
   * hear of it: so it is known that the fire has ended. `made`: begins that are not stored yet.
   */
  mustStore(event: NotificationEvent, action: Action, made: ReadonlyMap<string, Notification>): boolean {
    if (rulesOf(event.type).isWanted(action)) return true;
    const id = firedId(event, action);
    return (made.get(id) ?? this.#stored.get(id))?.status === "waiting";
  }

  /**
   * Returns the notification as it is from now on: with another status where it need not be sent, and with a silence or
   * inhibition where it waits for the end of that; the same where it is sent as it is. `waitedMs`: how long it has
   * waited.
   */
  decide(notification: Notification, waitedMs: number, nowMs: number): Notification {
    const hold = this.findHold(notification, nowMs);
    if (hold !== undefined && this.#mayHoldEndFirst(notification)) {
      const endsAtMs = hold.endsAtMs ?? nowMs + inhibitedTryMs;
      const times = { nextAtMs: endsAtMs, mutedUntilMs: endsAtMs };
      return { ...notification, ...times, silencedBy: hold.id, problem: `silenced by ${hold.id}` };
    }
    const problem =
      hold === undefined ? this.#findSkipReason(notification, waitedMs) : `silenced by ${hold.id}`;
    if (problem !== undefined)
      return { ...notification, status: "skipped", problem, endedAtMs: nowMs, silencedBy: null };
    if (notification.silencedBy === null) return notification;
    return { ...notification, silencedBy: null, problem: null, nextAtMs: nowMs, mutedUntilMs: nowMs };
  }

  /** Returns what keeps a notification back, which nobody tried to send yet. */
  findHold(notification: Notification, nowMs: number): Hold | undefined {
    const { event, tries, messageId } = notification;
    const isFresh = tries === 0 && messageId === null;
    return isFresh && isBegin(event) ? this.#findHold(event, nowMs) : undefined;
  }

  /** Whether it waits for the end of what holds it back: a repeat does not, nor a begin whose fire has ended. */
  #mayHoldEndFirst(notification: Notification): boolean {
    return notification.event.repeat === undefined && this.#stored.get(endId(notification)) === undefined;
  }

  #findSkipReason(notification: Notification, waitedMs: number): string | undefined {
    const { event, action } = notification;
    if (!isBegin(event)) return this.#whyNotFollow(notification);
    const hasEnded = this.#stored.get(endId(notification))?.status === "waiting";
    // Where the begin was skipped, its repeats are skipped, too.
    const isLeftOut = this.#stored.get(firedId(event, action))?.status === "skipped";
    const hasWaited = waitedMs > untoldMsMax || notification.mutedUntilMs !== null || isLeftOut;
    const isOver = hasEnded && !notification.mayHaveArrived && hasWaited;
    return isOver ? "it ended before anybody could be told" : undefined;
  }

  /** Returns why what follows the begin of a fire need not be sent: its end, or a note about it. */
  #whyNotFollow(notification: Notification): string | undefined {
    const { event, action, tries, messageId } = notification;
    if (!rulesOf(event.type).isWanted(action)) return "nobody there wants to hear of ends";
    // One more trigger would open an incident that is resolved.
    if (rulesOf(event.type).pagerDuty === "note" && action.type === "pagerDuty")
      if (this.#stored.get(endId(notification)) !== undefined) return "its fire has ended";
    const isFresh = tries === 0 && messageId === null;
    const fired = isFresh ? this.#stored.begunBefore(notification) : undefined;
    const isUntold =
      fired !== undefined && hasReachedNobody(fired) && !this.#stored.hasToldAgain(notification);
    return isUntold ? "its fire was never told" : undefined;
  }
}

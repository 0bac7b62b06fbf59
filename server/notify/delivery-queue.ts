import type { NotificationEvent } from "../model/event.ts";
import { isGrouped } from "./destination.ts";
import { groupedMax } from "./limits.ts";
import type { Notification } from "./notification.ts";

/** The notifications that wait for one destination, in the order of their creation. One message is sent at a time. */
export class DeliveryQueue {
  readonly waiting: Notification[] = [];
  isBusy = false;
  /** Nothing is sent before this time: the receiver asked for a pause, or the state could not be written. */
  pausedUntilMs = 0;
  /** The outcome of the last message, until it is stored. */
  unstoredOutcome: { messageId: string; notifications: readonly Notification[] } | undefined;

  /** Returns whether a message can be sent now. */
  isReady(nowMs: number): boolean {
    return !this.isBusy && this.pausedUntilMs <= nowMs && this.next(nowMs).length > 0;
  }

  /** The time from which the next message can be sent; infinite where nothing waits. */
  dueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const each of this.#heads()) dueMs = Math.min(dueMs, each.nextAtMs);
    return Math.max(dueMs, this.pausedUntilMs);
  }

  /** The notifications in the next message: one, or for people several of one alert and type; none if none is due. */
  next(nowMs: number): Notification[] {
    const heads = this.#heads();
    const first = heads.find(({ nextAtMs }) => nextAtMs <= nowMs);
    if (first === undefined || !isGrouped(first.action)) return first === undefined ? [] : [first];
    // Notifications that came while the first one waited share its message. A message that was tried before keeps its
    // notifications, so that its id always stands for the same ones.
    return heads.filter((each) => canShareMessage(first, each)).slice(0, groupedMax);
  }

  add(notification: Notification): void {
    this.waiting.push(notification);
  }

  remove(ids: ReadonlySet<string>): void {
    const remaining = this.waiting.filter(({ id }) => !ids.has(id));
    this.waiting.splice(0, this.waiting.length, ...remaining);
  }

  /** The first waiting notification of each fire: nobody is notified of its end before its begin. */
  #heads(): Notification[] {
    const seen = new Set<string>();
    return this.waiting.filter(({ event: { fireId } }) => {
      if (seen.has(fireId)) return false;
      seen.add(fireId);
      return true;
    });
  }
}

function canShareMessage(first: Notification, other: Notification): boolean {
  if (first.messageId !== other.messageId) return false;
  const same = (key: keyof NotificationEvent) => first.event[key] === other.event[key];
  return first === other || (same("alertId") && same("type"));
}

import type { NotificationEvent } from "../model/event.ts";
import { isGrouped } from "./destination.ts";
import { groupedMax } from "./limits.ts";
import type { Notification } from "./notification.ts";

/** All that waits for one destination, in the order in which it was made. One message is on its way at a time. */
export class DeliveryQueue {
  readonly waiting: Notification[] = [];
  isBusy = false;
  /** The receiver has asked to be left alone until then. */
  pausedUntilMs = 0;
  /** What became of the last message, as long as that is not stored. */
  unstoredOutcome: { messageId: string; notifications: readonly Notification[] } | undefined;

  /** Whether a message could be sent now. */
  isReady(nowMs: number): boolean {
    return !this.isBusy && this.pausedUntilMs <= nowMs && this.next(nowMs).length > 0;
  }

  /** When the next message can be sent; infinite where nothing waits. */
  dueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const each of this.#heads()) dueMs = Math.min(dueMs, each.nextAtMs);
    return Math.max(dueMs, this.pausedUntilMs);
  }

  /** The notifications that make up the next message: one, or several of one alert and one type for people. */
  next(nowMs: number): Notification[] {
    const heads = this.#heads();
    const first = heads.find(({ nextAtMs }) => nextAtMs <= nowMs);
    if (first === undefined || !isGrouped(first.action)) return first === undefined ? [] : [first];
    // What came while the first one waited goes with it. What was one message before stays one, so that its id stands for the same.
    return heads.filter((each) => canShareMessage(first, each)).slice(0, groupedMax);
  }

  add(notification: Notification): void {
    this.waiting.push(notification);
  }

  remove(ids: ReadonlySet<string>): void {
    const remaining = this.waiting.filter(({ id }) => !ids.has(id));
    this.waiting.splice(0, this.waiting.length, ...remaining);
  }

  /** Of each fire only the first that waits: its end is not told before its begin. */
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

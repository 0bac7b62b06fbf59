import type { NotificationEvent } from "../model/event.ts";
import { isGrouped } from "./destination.ts";
import { groupedMax, retryWaitMsMax } from "./limits.ts";
import type { Notification } from "./notification.ts";

/** One moment on both clocks. */
export interface Moment {
  /** Unix milliseconds, as notifications are stored and shown. The clock may be set at any time. */
  wallMs: number;
  /** Milliseconds of a monotonic clock, by which everything waits. */
  elapsedMs: number;
}

interface Entry {
  notification: Notification;
  /** When the next try is due, on the monotonic clock. */
  dueMs: number;
  /** Since when it waits, on the monotonic clock. */
  sinceMs: number;
  /** Approximate size of the stored record. */
  bytes: number;
}

/** The notifications that wait for one destination, in the order of their creation. One message is sent at a time. */
export class DeliveryQueue {
  readonly #entries = new Map<string, Entry>();
  /** Bytes of all that waits. */
  bytes = 0;
  isBusy = false;
  /**
   * Nothing is sent before this time of the monotonic clock: the receiver asked for a pause, or the state could not be
   * written.
   */
  pausedUntilMs = 0;
  /** The outcome of the last message, until it is stored. */
  unstoredOutcome: { messageId: string; notifications: readonly Notification[] } | undefined;
  /** What `dueMs` found, until something changes. */
  #dueMs: number | undefined;

  get size(): number {
    return this.#entries.size;
  }

  /** The oldest first. */
  *oldest(): Generator<Entry> {
    yield* this.#entries.values();
  }

  /** Returns whether a message can be sent now. */
  isReady(nowMs: number): boolean {
    return !this.isBusy && this.dueMs(nowMs) <= nowMs;
  }

  /** The time from which the next message can be sent; infinite where nothing waits. A time until `nowMs` means now. */
  dueMs(nowMs: number): number {
    if (this.#dueMs === undefined || this.#dueMs <= nowMs) this.#dueMs = this.#findDueMs(nowMs);
    return Math.max(this.#dueMs, this.pausedUntilMs);
  }

  #findDueMs(nowMs: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const each of this.#heads()) {
      dueMs = Math.min(dueMs, each.dueMs);
      if (dueMs <= nowMs) break;
    }
    return dueMs;
  }

  /** The notifications in the next message: one, or for people several of one alert and type; none if none is due. */
  next(nowMs: number): Notification[] {
    const first = this.#heads().find(({ dueMs }) => dueMs <= nowMs)?.notification;
    if (first === undefined || !isGrouped(first.action)) return first === undefined ? [] : [first];
    // Notifications that came while the first one waited share its message. A message that was tried before keeps its
    // notifications, so that its id always stands for the same ones.
    const waiting = this.#heads().map(({ notification }) => notification);
    return [...waiting.filter((each) => canShareMessage(first, each)).take(groupedMax)];
  }

  /** Adds a notification, or replaces the one that has its id. `ageMs`: how long a new one has waited already. */
  put(notification: Notification, { wallMs, elapsedMs }: Moment, ageMs = 0): void {
    const before = this.#entries.get(notification.id);
    // A time of another clock, or from before this one was set, is believed within bounds only.
    const waitMs = Math.min(Math.max(0, notification.nextAtMs - wallMs), retryWaitMsMax);
    const bytes = Buffer.byteLength(JSON.stringify(notification));
    this.bytes += bytes - (before?.bytes ?? 0);
    const sinceMs = before?.sinceMs ?? elapsedMs - ageMs;
    this.#entries.set(notification.id, { notification, dueMs: elapsedMs + waitMs, sinceMs, bytes });
    this.#dueMs = undefined;
  }

  remove(id: string): void {
    this.bytes -= this.#entries.get(id)?.bytes ?? 0;
    this.#entries.delete(id);
    this.#dueMs = undefined;
  }

  /** How long a notification has waited; 0 where it does not wait. */
  ageMs(id: string, nowMs: number): number {
    return nowMs - (this.#entries.get(id)?.sinceMs ?? nowMs);
  }

  /** The first waiting notification of each fire: nobody is notified of its end before its begin. */
  *#heads(): Generator<Entry> {
    const seen = new Set<string>();
    for (const entry of this.#entries.values()) {
      const { fireId } = entry.notification.event;
      if (seen.has(fireId)) continue;
      seen.add(fireId);
      yield entry;
    }
  }
}

function canShareMessage(first: Notification, other: Notification): boolean {
  if (first.messageId !== other.messageId) return false;
  const same = (key: keyof NotificationEvent) => first.event[key] === other.event[key];
  return first === other || (same("alertId") && same("type"));
}

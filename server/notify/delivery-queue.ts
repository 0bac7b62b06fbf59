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
  /** Size of the stored record, about. */
  bytes: number;
}

/** All that waits for one destination, in the order in which it was made. One message is on its way at a time. */
export class DeliveryQueue {
  readonly #entries = new Map<string, Entry>();
  /** Bytes of all that waits. */
  bytes = 0;
  isBusy = false;
  /** The receiver has asked to be left alone until then, on the monotonic clock. */
  pausedUntilMs = 0;
  /** What became of the last message, as long as that is not stored. */
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

  /** Whether a message could be sent now. */
  isReady(nowMs: number): boolean {
    return !this.isBusy && this.dueMs(nowMs) <= nowMs;
  }

  /** When the next message can be sent; infinite where nothing waits. Any time until `nowMs` stands for now. */
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

  /** The notifications that make up the next message: one, or several of one alert and one type for people. */
  next(nowMs: number): Notification[] {
    const first = this.#heads().find(({ dueMs }) => dueMs <= nowMs)?.notification;
    if (first === undefined || !isGrouped(first.action)) return first === undefined ? [] : [first];
    // What came while the first one waited goes with it. What was one message before stays one, so that its id stands for the same.
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

  /** Of each fire only the first that waits: its end is not told before its begin. */
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

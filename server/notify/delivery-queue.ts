import type { NotificationEvent } from "../model/event.ts";
import type { DeliveryRules } from "./delivery-rules.ts";
import { sharesIncident } from "./destination.ts";
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
  /** Since when it waits, on the monotonic clock; ahead where a route mutes it. */
  sinceMs: number;
  /** Approximate size of the stored record. */
  bytes: number;
}

/** The outcome of a message that is not stored yet. */
export interface MessageOutcome {
  messageId: string;
  notifications: readonly Notification[];
}

/**
 * The notifications that wait for one destination, in the order of their creation. Several messages are sent at once,
 * but of one fire only one. What works on a notification claims it first: no other message with its order key begins
 * until it is released.
 */
export class DeliveryQueue {
  readonly #rules: DeliveryRules;
  readonly #entries = new Map<string, Entry>();
  /** Order keys of the notifications that something works on. */
  readonly #claimed = new Set<string>();
  #inFlight = 0;
  /** Bytes of all that waits. */
  bytes = 0;
  /**
   * Nothing is sent before this time of the monotonic clock: the receiver asked for a pause, or the state could not be
   * written.
   */
  pausedUntilMs = 0;
  /** Outcomes of messages that could not be stored. Until they are, nothing is sent, and their notifications stay claimed. */
  readonly unstoredOutcomes = new Set<MessageOutcome>();
  isStoringAgain = false;
  /** What `dueMs` found, until something changes. */
  #dueMs: number | undefined;

  constructor(rules: DeliveryRules) {
    this.#rules = rules;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns whether something works on a notification of the queue. */
  get isBusy(): boolean {
    return this.#claimed.size > 0;
  }

  /** The oldest first. */
  *oldest(): Generator<Entry> {
    yield* this.#entries.values();
  }

  isClaimed(notification: Notification): boolean {
    return this.#claimed.has(this.#rules.orderKeyOf(notification));
  }

  claim(notifications: readonly Notification[]): void {
    for (const each of notifications) this.#claimed.add(this.#rules.orderKeyOf(each));
    this.#dueMs = undefined;
  }

  release(notifications: readonly Notification[]): void {
    for (const each of notifications) this.#claimed.delete(this.#rules.orderKeyOf(each));
    this.#dueMs = undefined;
  }

  /** Returns whether a message can be sent now. */
  isReady(nowMs: number): boolean {
    return !this.isFull && this.unstoredOutcomes.size === 0 && this.dueMs(nowMs) <= nowMs;
  }

  /** Returns whether outcomes wait to be stored again, and the pause before that is over. */
  canStoreAgain(nowMs: number): boolean {
    return this.unstoredOutcomes.size > 0 && !this.isStoringAgain && this.pausedUntilMs <= nowMs;
  }

  /** Whether as many messages as allowed are on their way. */
  get isFull(): boolean {
    return this.#inFlight >= this.#rules.inFlightMax;
  }

  /** The time from which the next message can be sent; infinite where nothing waits. A time until `nowMs` means now. */
  dueMs(nowMs: number): number {
    if (this.unstoredOutcomes.size > 0)
      return this.isStoringAgain ? Number.POSITIVE_INFINITY : this.pausedUntilMs;
    if (this.#dueMs === undefined || this.#dueMs <= nowMs) this.#dueMs = this.#findDueMs(nowMs);
    return Math.max(this.#dueMs, this.pausedUntilMs);
  }

  #findDueMs(nowMs: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const each of this.#heads(nowMs)) {
      dueMs = Math.min(dueMs, each.dueMs);
      if (dueMs <= nowMs) break;
    }
    return dueMs;
  }

  /**
   * Takes the notifications of the next message: one, or where messages are grouped several of one alert and type; none
   * if none is due. They are claimed, and the message counts as on its way, until `endMessage`.
   */
  beginMessage(nowMs: number): Notification[] {
    const first = this.#heads(nowMs).find(({ dueMs }) => dueMs <= nowMs)?.notification;
    if (first === undefined) return [];
    const message = this.#rules.isGrouped(first) ? this.#groupOf(first, nowMs) : [first];
    this.claim(message);
    this.#inFlight++;
    return message;
  }

  /** Ends a message. Its notifications stay claimed where its outcome is not stored. */
  endMessage(message: readonly Notification[]): void {
    this.#inFlight--;
    const unstored = [...this.unstoredOutcomes].some(({ notifications }) =>
      notifications.some(({ id }) => id === message[0]!.id),
    );
    if (!unstored) this.release(message);
  }

  /**
   * Notifications that came while the first one waited share its message, as far as none with the same order key comes
   * before them; not those that a mute time, silence or inhibition keeps back. A message that was tried before keeps its
   * notifications, so that its id always stands for the same ones.
   */
  #groupOf(first: Notification, nowMs: number): Notification[] {
    const group: Notification[] = [];
    const blocked = new Set<string>(this.#claimed);
    for (const entry of this.#entries.values()) {
      if (group.length === groupedMax) break;
      const { notification } = entry;
      const key = this.#rules.orderKeyOf(notification);
      if (blocked.has(key) || blocked.has(notification.event.fireId)) continue;
      if (isKeptBack(entry, nowMs)) blocked.add(this.#blockedBy(entry, nowMs));
      else if (canShareMessage(first, notification)) group.push(notification);
      else blocked.add(key);
    }
    return group;
  }

  /** Adds a notification, or replaces the one that has its id. `ageMs`: how long a new one has waited already. */
  put(notification: Notification, { wallMs, elapsedMs }: Moment, ageMs = 0): void {
    const before = this.#entries.get(notification.id);
    // A time of another clock, or from before this one was set, is believed within bounds only.
    const waitMs = Math.min(Math.max(0, notification.nextAtMs - wallMs), retryWaitMsMax);
    const bytes = Buffer.byteLength(JSON.stringify(notification));
    this.bytes += bytes - (before?.bytes ?? 0);
    const mutedMs = (notification.mutedUntilMs ?? wallMs) - wallMs;
    const sinceMs =
      mutedMs > 0 ? elapsedMs + mutedMs : Math.min(elapsedMs, before?.sinceMs ?? elapsedMs - ageMs);
    this.#entries.set(notification.id, { notification, dueMs: elapsedMs + waitMs, sinceMs, bytes });
    this.#dueMs = undefined;
  }

  /** Makes a notification due, if it waits. */
  makeDue({ id }: Notification, nowMs: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.dueMs = Math.min(entry.dueMs, nowMs);
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

  /** The first waiting notification of each order key that is not claimed. */
  *#heads(nowMs: number): Generator<Entry> {
    const seen = new Set<string>();
    for (const entry of this.#entries.values()) {
      const key = this.#rules.orderKeyOf(entry.notification);
      if (this.#claimed.has(key) || seen.has(key) || seen.has(entry.notification.event.fireId)) continue;
      seen.add(this.#blockedBy(entry, nowMs));
      yield entry;
    }
  }

  /**
   * What waits for a notification: all with its order key. While a mute time, silence or inhibition keeps it back, only
   * what is about the same fire: other fires of the incident go on.
   */
  #blockedBy(entry: Entry, nowMs: number): string {
    const { notification } = entry;
    return isKeptBack(entry, nowMs) ? notification.event.fireId : this.#rules.orderKeyOf(notification);
  }
}

/** Whether a notification that was not tried yet waits for the end of a mute time, silence or inhibition. */
function isKeptBack({ notification: { mutedUntilMs, messageId }, dueMs }: Entry, nowMs: number): boolean {
  return mutedUntilMs !== null && messageId === null && dueMs > nowMs;
}

function canShareMessage(first: Notification, other: Notification): boolean {
  if (first.messageId !== other.messageId || first.groupKey !== other.groupKey) return false;
  const same = (key: keyof NotificationEvent) => first.event[key] === other.event[key];
  if (sharesIncident(first.action) && !same("rule")) return false;
  const isRepeat = ({ event }: Notification) => event.repeat !== undefined;
  return first === other || (same("alertId") && same("type") && isRepeat(first) === isRepeat(other));
}

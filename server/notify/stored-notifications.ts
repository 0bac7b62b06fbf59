import type { Json, State, StateChange } from "../../engine/index.ts";
import { destinationKey, sharesIncident } from "./destination.ts";
import { begunKept, endedKept } from "./limits.ts";
import { rulesOf } from "./message/event-types.ts";
import { endId, firedId, isBegin, mayHaveTold, type Notification, readNotification } from "./notification.ts";
import { SharedIncidents } from "./shared-incidents.ts";

const table = "notifications";

/**
 * All notifications that are kept, in memory as on disk: those that wait, the newest that have ended, and of those that
 * ended earlier the begins of fires that go on. Whether a fire was told at all decides on its end.
 */
export class StoredNotifications {
  readonly #state: State;
  readonly #all = new Map<string, Notification>();
  /** Ids of the notifications that have ended, the oldest first. */
  readonly #ended: string[] = [];
  /** Ids of the begins that have ended and are kept for their ends, by the ids of those; the oldest first. */
  readonly #begun = new Map<string, string>();
  readonly #incidents = new SharedIncidents();
  #lastSequence = 0;
  /** Ids of the messages that a fire goes on, of those that may have reached somebody, by fire and destination. */
  readonly #toldAgain = new Map<string, Set<string>>();

  /** `nowMs`: Unix milliseconds. */
  constructor(state: State, nowMs: number) {
    this.#state = state;
    const stored = state.list(table).map(({ value }) => readNotification(value, nowMs));
    stored.sort(
      (a, b) => a.sequence - b.sequence || a.createdAtMs - b.createdAtMs || orderOf(a) - orderOf(b),
    );
    for (const notification of stored) this.take(notification);
    this.#ended.sort((a, b) => this.#all.get(a)!.endedAtMs! - this.#all.get(b)!.endedAtMs!);
  }

  /** The number of the next notification, by which those that are stored keep their order whatever the clock says. */
  nextSequence(): number {
    return ++this.#lastSequence;
  }

  get(id: string): Notification | undefined {
    return this.#all.get(id);
  }

  /** In the order of their creation. */
  values(): Iterable<Notification> {
    return this.#all.values();
  }

  /** What stores a notification. Whoever stores it calls `take` after the commit. */
  changeFor(notification: Notification): StateChange {
    return { table, id: notification.id, value: notification as unknown as Json };
  }

  /** The notification of a fire's begin for any later one about it; undefined for itself. */
  begunBefore({ event, action }: Notification): Notification | undefined {
    return isBegin(event) ? undefined : this.#all.get(firedId(event, action));
  }

  /** Whether a message that a fire goes on may have reached the destination of a notification. */
  hasToldAgain(notification: Notification): boolean {
    return this.#toldAgain.has(fireKeyOf(notification));
  }

  /**
   * Whether an incident that stands for all instances of a rule goes on: people were told of fires besides these, and
   * the ends of those are not decided.
   */
  hasOtherFires(notifications: readonly Notification[]): boolean {
    const own = new Set(notifications.map(({ event }) => event.fireId));
    for (const begin of this.#incidents.beginsOf(notifications[0]!))
      if (!own.has(begin.event.fireId) && (mayHaveTold(begin) || this.hasToldAgain(begin))) return true;
    return false;
  }

  /** Adds or replaces a notification that is on disk. */
  take(notification: Notification): void {
    const { id, status } = notification;
    const known = this.#all.get(id);
    this.#keep(notification);
    if (known !== undefined && known.status !== "waiting") this.#leaveEnded(known);
    if (status === "waiting") return;
    this.#ended.push(id);
    // What was kept for this end is the oldest of all that have ended.
    const begin = this.#begun.get(id);
    if (begin === undefined) return;
    this.#begun.delete(id);
    this.#ended.unshift(begin);
  }

  #keep(notification: Notification): void {
    const { id, action, event, sequence, status } = notification;
    this.#all.set(id, notification);
    this.#lastSequence = Math.max(this.#lastSequence, sequence);
    if (event.repeat !== undefined) this.#keepRepeat(notification);
    else if (!sharesIncident(action)) return;
    else if (this.#isAwaited(notification)) this.#incidents.add(notification);
    else if (!isBegin(event) && id === endId(notification) && status !== "waiting")
      this.#incidents.delete(notification, firedId(event, action));
  }

  #forget(notification: Notification): void {
    this.#all.delete(notification.id);
    if (notification.event.repeat !== undefined) this.#forgetRepeat(notification);
    else if (sharesIncident(notification.action)) this.#incidents.delete(notification, notification.id);
  }

  #keepRepeat(notification: Notification): void {
    if (!mayHaveTold(notification)) {
      this.#forgetRepeat(notification);
      return;
    }
    const key = fireKeyOf(notification);
    const told = this.#toldAgain.get(key) ?? new Set();
    this.#toldAgain.set(key, told.add(notification.id));
  }

  #forgetRepeat(notification: Notification): void {
    const key = fireKeyOf(notification);
    const told = this.#toldAgain.get(key);
    told?.delete(notification.id);
    if (told?.size === 0) this.#toldAgain.delete(key);
  }

  #leaveEnded(known: Notification): void {
    const place = this.#ended.indexOf(known.id);
    if (place >= 0) this.#ended.splice(place, 1);
    else this.#begun.delete(endId(known));
  }

  /**
   * Stores notifications, and only then changes them in memory. Deletes the oldest ended ones above `endedKept`, and the
   * oldest begins above `begunKept`.
   */
  async write(notifications: readonly Notification[]): Promise<void> {
    const ending = notifications.filter(({ status }) => status !== "waiting").length;
    // Taken out before the write, so that no other write forgets the same ones instead of further ones.
    const forgotten = this.#takeOldest(Math.max(0, this.#ended.length + ending - endedKept));
    for (const each of forgotten) this.#forget(each);
    const removed = forgotten.map(({ id }): StateChange => ({ table, id, value: undefined }));
    try {
      await this.#state.write([...notifications.map((each) => this.changeFor(each)), ...removed]);
    } catch (error) {
      for (const each of forgotten) this.#keep(each);
      this.#ended.unshift(...forgotten.map(({ id }) => id));
      throw error;
    }
    for (const notification of notifications) this.take(notification);
  }

  /** Takes out the oldest ended notifications. Begins of fires that go on are set aside, as many as are kept. */
  #takeOldest(count: number): Notification[] {
    const forgotten: Notification[] = [];
    for (const id of this.#ended.splice(0, count)) {
      const notification = this.#all.get(id)!;
      if (this.#isAwaited(notification)) this.#begun.set(endId(notification), id);
      else forgotten.push(notification);
    }
    for (const [end, id] of this.#begun) {
      if (this.#begun.size <= begunKept) break;
      this.#begun.delete(end);
      forgotten.push(this.#all.get(id)!);
    }
    return forgotten;
  }

  /** Whether the end of what a notification begins is still to be decided on. */
  #isAwaited(notification: Notification): boolean {
    const { event, action } = notification;
    if (!isBegin(event) || event.repeat !== undefined) return false;
    if (!rulesOf("alertResolved").isWanted(action)) return false;
    const end = this.#all.get(endId(notification));
    return end === undefined || end.status === "waiting";
  }
}

/** The same for all notifications of a fire to a destination. */
const fireKeyOf = ({ event, action }: Notification) => JSON.stringify([event.fireId, destinationKey(action)]);

const orderOf = ({ event }: Notification) => rulesOf(event.type).order;

import type { Json, State, StateChange } from "../../engine/index.ts";
import { destinationKey } from "./destination.ts";
import { endedKept } from "./limits.ts";
import { rulesOf } from "./message/event-types.ts";
import { hasReachedNobody, type Notification, readNotification } from "./notification.ts";

const table = "notifications";

/** All notifications that are kept, in memory as on disk: those that wait, and the newest that have ended. */
export class StoredNotifications {
  readonly #state: State;
  readonly #all = new Map<string, Notification>();
  /** Ids of the notifications that have ended, the oldest first. */
  readonly #ended: string[] = [];

  /** `nowMs`: Unix milliseconds. */
  constructor(state: State, nowMs: number) {
    this.#state = state;
    const stored = state.list(table).map(({ value }) => readNotification(value, nowMs));
    stored.sort((a, b) => a.createdAtMs - b.createdAtMs || orderOf(a) - orderOf(b));
    for (const notification of stored) this.take(notification);
    this.#ended.sort((a, b) => this.#all.get(a)!.endedAtMs! - this.#all.get(b)!.endedAtMs!);
  }

  get(id: string): Notification | undefined {
    return this.#all.get(id);
  }

  /** In the order of their creation. */
  values(): Iterable<Notification> {
    return this.#all.values();
  }

  /** What stores a notification. Whoever stores it calls `take` behind the commit. */
  changeFor(notification: Notification): StateChange {
    return { table, id: notification.id, value: notification as unknown as Json };
  }

  /** Whether a message that a fire goes on may have reached the destination of a notification. */
  hasToldAgain({ event: { fireId }, action }: Notification): boolean {
    const key = destinationKey(action);
    return [...this.#all.values()].some(({ event, ...each }) => {
      if (event.fireId !== fireId || event.repeat === undefined) return false;
      return destinationKey(each.action) === key && !hasReachedNobody({ ...each, event });
    });
  }

  /** Adds or replaces a notification that is on disk. */
  take(notification: Notification): void {
    const { id, status } = notification;
    const known = this.#all.get(id);
    this.#all.set(id, notification);
    if (known !== undefined && known.status !== "waiting") this.#ended.splice(this.#ended.indexOf(id), 1);
    if (status !== "waiting") this.#ended.push(id);
  }

  /** Stores notifications, and only then changes them in memory. Deletes the oldest ended ones above `endedKept`. */
  async write(notifications: readonly Notification[]): Promise<void> {
    const ending = notifications.filter(({ status }) => status !== "waiting").length;
    // Taken out before the write, so that no other write forgets the same ones instead of further ones.
    const forgotten = this.#ended
      .splice(0, Math.max(0, this.#ended.length + ending - endedKept))
      .map((id) => this.#all.get(id)!);
    for (const { id } of forgotten) this.#all.delete(id);
    const removed = forgotten.map(({ id }): StateChange => ({ table, id, value: undefined }));
    try {
      await this.#state.write([...notifications.map((each) => this.changeFor(each)), ...removed]);
    } catch (error) {
      for (const each of forgotten) this.#all.set(each.id, each);
      this.#ended.unshift(...forgotten.map(({ id }) => id));
      throw error;
    }
    for (const notification of notifications) this.take(notification);
  }
}

const orderOf = ({ event }: Notification) => rulesOf(event.type).order;

/** PagerDuty's incidents that stand for all instances of a rule: the fires whose ends are not decided yet. */
import { destinationKey } from "./destination.ts";
import type { Notification } from "./notification.ts";

export class SharedIncidents {
  /** The begins of the fires, by their ids; by incident. */
  readonly #begins = new Map<string, Map<string, Notification>>();

  add(begin: Notification): void {
    const key = keyOf(begin);
    const begins = this.#begins.get(key) ?? new Map<string, Notification>();
    this.#begins.set(key, begins.set(begin.id, begin));
  }

  /** `beginId`: the id of a begin of the same incident as `notification`. */
  delete(notification: Notification, beginId: string): void {
    const key = keyOf(notification);
    const begins = this.#begins.get(key);
    begins?.delete(beginId);
    if (begins?.size === 0) this.#begins.delete(key);
  }

  /** The begins of all fires of the incident that a notification is about. */
  beginsOf(notification: Notification): Iterable<Notification> {
    return this.#begins.get(keyOf(notification))?.values() ?? [];
  }
}

function keyOf({ action, event }: Notification): string {
  return JSON.stringify([destinationKey(action), event.alertId, event.rule]);
}

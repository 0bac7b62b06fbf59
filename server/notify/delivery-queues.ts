import type { Metrics } from "../metrics/metrics.ts";
import type { Action } from "../model/alert.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { deliveryRulesOf } from "./delivery-rules.ts";
import { destinationKey } from "./destination.ts";

/** The queues of all destinations that something waits for. */
export class DeliveryQueues {
  readonly #queues = new Map<string, DeliveryQueue>();
  readonly #isGroupedWebhook: (uuid: string) => boolean;

  /** `isGroupedWebhook` returns whether a webhook integration asks for one message for all instances of an alert. */
  constructor(isGroupedWebhook: (uuid: string) => boolean) {
    this.#isGroupedWebhook = isGroupedWebhook;
  }

  /** The queue of an action's destination, which is made where nothing waited for it. */
  of(action: Action): DeliveryQueue {
    const key = destinationKey(action);
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = new DeliveryQueue(deliveryRulesOf(action, this.#isGroupedWebhook));
      this.#queues.set(key, queue);
    }
    return queue;
  }

  all(): Iterable<DeliveryQueue> {
    return this.#queues.values();
  }

  /** Forgets the destinations that nothing waits for any more. */
  forgetEmpty(nowMs: number): void {
    for (const [key, queue] of this.#queues) {
      const { size, isBusy, pausedUntilMs } = queue;
      if (size === 0 && !isBusy && pausedUntilMs <= nowMs) this.#queues.delete(key);
    }
  }

  /** The time of the next try on the monotonic clock; infinite where nothing waits. */
  nextDueMs(nowMs: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) if (!queue.isFull) dueMs = Math.min(dueMs, queue.dueMs(nowMs));
    return dueMs;
  }

  /** `elapsed`: milliseconds of the monotonic clock. */
  readMetrics(metrics: Metrics, elapsed: () => number): void {
    const oldestHelp = "Age of the oldest notification that waits.";
    metrics.read("gauge", "svc_notifications_oldest_seconds", oldestHelp, () => {
      const nowMs = elapsed();
      let oldestMs = nowMs;
      for (const queue of this.#queues.values())
        for (const { sinceMs } of queue.oldest()) oldestMs = Math.min(oldestMs, sinceMs);
      return (nowMs - oldestMs) / 1000;
    });
    const bytesHelp = "Size of the notifications that wait.";
    metrics.read("gauge", "svc_notifications_waiting_bytes", bytesHelp, () => {
      return this.#queues.values().reduce((sum, { bytes }) => sum + bytes, 0);
    });
  }
}

/** Bounds on what waits to be sent: which notifications are given up so that those that come find room. */

import type { DeliveryQueue } from "./delivery-queue.ts";
import { allWaitingBytesMax, allWaitingMax, waitingAgeMsMax, waitingBytesMax, waitingMax } from "./limits.ts";
import type { Notification } from "./notification.ts";

/** A notification to give up, and why. */
export interface Excess {
  notification: Notification;
  problem: string;
}

const MiB = 1024 * 1024;
const hour = 3_600_000;
const tooOld = `it waited for more than ${waitingAgeMsMax / hour} h`;
const tooMany =
  `more than ${waitingMax} notifications, or ${waitingBytesMax / MiB} MiB of them, ` +
  "wait for this destination: the oldest are given up";
const tooManyInAll =
  `more than ${allWaitingMax} notifications, or ${allWaitingBytesMax / MiB} MiB of them, wait in all: ` +
  "the oldest of the destination that most wait for are given up";

/**
 * Returns the oldest notifications of each queue beyond its bounds. Where all queues together are beyond theirs, the
 * fullest loses its oldest, so that a receiver that fails costs no other one its messages. What is being sent is left out.
 */
export function findExcess(queues: Iterable<DeliveryQueue>, nowMs: number): Map<DeliveryQueue, Excess[]> {
  const all = Array.from(queues, (queue) => new Remainder(queue));
  for (const each of all) {
    while (each.isTooOld(nowMs)) each.giveUpOldest(tooOld);
    while (each.count > waitingMax || each.bytes > waitingBytesMax) if (!each.giveUpOldest(tooMany)) break;
  }
  let count = all.reduce((sum, each) => sum + each.count, 0);
  let bytes = all.reduce((sum, each) => sum + each.bytes, 0);
  while (count > allWaitingMax || bytes > allWaitingBytesMax) {
    const fullest = findFullest(all, bytes > allWaitingBytesMax ? "bytes" : "count");
    if (fullest === undefined) break;
    const before = fullest.bytes;
    if (!fullest.giveUpOldest(tooManyInAll)) break;
    count--;
    bytes -= before - fullest.bytes;
  }
  return new Map(all.flatMap(({ queue, excess }) => (excess.length === 0 ? [] : [[queue, excess] as const])));
}

function findFullest(all: readonly Remainder[], by: "bytes" | "count"): Remainder | undefined {
  let fullest: Remainder | undefined;
  for (const each of all) if (each[by] > (fullest?.[by] ?? 0)) fullest = each;
  return fullest;
}

type Oldest = ReturnType<DeliveryQueue["oldest"]>;

/** What remains of a queue, from the oldest on. What is being sent counts, but is not given up. */
class Remainder {
  readonly queue: DeliveryQueue;
  readonly excess: Excess[] = [];
  count: number;
  bytes: number;
  readonly #entries: Oldest;
  #oldest: ReturnType<Oldest["next"]>;

  constructor(queue: DeliveryQueue) {
    this.queue = queue;
    this.count = queue.size;
    this.bytes = queue.bytes;
    this.#entries = queue.oldest();
    this.#oldest = this.#nextOldest();
  }

  isTooOld(nowMs: number): boolean {
    return !this.#oldest.done && nowMs - this.#oldest.value.sinceMs > waitingAgeMsMax;
  }

  /** Returns false where all that remains is being sent. */
  giveUpOldest(problem: string): boolean {
    if (this.#oldest.done) return false;
    const { notification, bytes } = this.#oldest.value;
    this.excess.push({ notification, problem });
    this.count--;
    this.bytes -= bytes;
    this.#oldest = this.#nextOldest();
    return true;
  }

  #nextOldest(): ReturnType<Oldest["next"]> {
    let next = this.#entries.next();
    while (!next.done && this.queue.isClaimed(next.value.notification)) next = this.#entries.next();
    return next;
  }
}

/** The outbox: stores notifications, then sends each at least once under one id, and reports those it gives up. */
import type { State, StateChange } from "../../engine/index.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import type { Action } from "../model/alert.ts";
import type { EventMessage, NotificationEvent } from "../model/event.ts";
import { DeliveryNeeds, type FindHold } from "./delivery-needs.ts";
import { DeliveryPlan, type DeliveryPlanOptions } from "./delivery-plan.ts";
import type { DeliveryQueue, MessageOutcome, Moment } from "./delivery-queue.ts";
import { DeliveryQueues } from "./delivery-queues.ts";
import { destinationName } from "./destination.ts";
import {
  holdsLookEveryMs,
  pauseMsMax,
  sendingMax,
  storeWaitMs,
  waitingAgeMsMax,
  waitingMsMin,
} from "./limits.ts";
import { afterTry, type Notification, notificationId, toSendAgain } from "./notification.ts";
import { type Outcome, type Senders, tryToSend } from "./senders/sender.ts";
import { StoredNotifications } from "./stored-notifications.ts";
import { type Excess, findExcess } from "./waiting-bounds.ts";

export interface OutboxOptions extends DeliveryPlanOptions {
  state: State;
  /** The wall clock, Unix milliseconds: what is stored and shown. It may be set at any time. */
  now: () => number;
  /** Milliseconds of a monotonic clock, by which everything waits. */
  elapsed: () => number;
  /** Returns a random number from 0 to 1. */
  random: () => number;
  senders: Senders;
  findHold: FindHold;
  /** Called when a message is given up, with a sentence about it for people and the notifications in it. */
  onGivenUp: (message: string, notifications: readonly Notification[]) => void;
  metrics: Metrics;
  log: (level: "warn" | "error", message: string) => void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #plan: DeliveryPlan;
  readonly #queues: DeliveryQueues;
  readonly #stored: StoredNotifications;
  readonly #needs: DeliveryNeeds;
  readonly #outcomes: Counter;
  readonly #givenUp: Counter;
  readonly #sending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  /** When to look next whether silences and inhibitions still keep notifications back, on the monotonic clock. */
  #holdsLookMs = Number.POSITIVE_INFINITY;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#plan = new DeliveryPlan(options);
    this.#queues = new DeliveryQueues((uuid) => this.#plan.isGroupedWebhook(uuid));
    const moment = this.#moment();
    this.#stored = new StoredNotifications(options.state, moment.wallMs);
    this.#needs = new DeliveryNeeds(this.#stored, options.findHold);
    const ageMsMax = waitingAgeMsMax - waitingMsMin;
    for (const notification of this.#stored.values()) {
      const ageMs = Math.min(
        Math.max(0, moment.wallMs - (notification.mutedUntilMs ?? notification.createdAtMs)),
        ageMsMax,
      );
      this.#queue(notification, moment, ageMs);
    }
    this.#outcomes = options.metrics.counter(
      "svc_notification_tries_total",
      "Tries to send messages, by outcome.",
    );
    this.#givenUp = options.metrics.counter(
      "svc_notifications_given_up_total",
      "Notifications that reached nobody and are tried no more.",
    );
    this.#queues.readMetrics(options.metrics, options.elapsed);
    const help = "Notifications that are kept, by status.";
    options.metrics.read("gauge", "svc_notifications", help, () => {
      const counts = Map.groupBy(this.#stored.values(), ({ status }) => status);
      return [...counts].map(([status, all]) => [{ status }, all.length]);
    });
  }

  /**
   * Makes the notifications of messages. The caller stores `changes` in the commit that causes the messages. Then it
   * calls `stored`, which queues the notifications.
   */
  prepare({ messages }: { messages: readonly EventMessage[] }): { changes: StateChange[]; stored(): void } {
    const made = new Map<string, Notification>();
    const nowMs = this.#options.now();
    for (const { event, actions } of messages) {
      for (const action of actions) {
        const id = notificationId(event.id, action);
        if (!this.#needs.mustStore(event, action, made) || this.#stored.get(id) !== undefined) continue;
        const sequence = this.#stored.nextSequence();
        made.set(id, this.#plan.make({ id, event, action, sequence }, nowMs));
      }
    }
    const fresh = [...made.values()];
    return {
      changes: fresh.map((each) => this.#stored.changeFor(each)),
      stored: () => {
        const moment = this.#moment();
        for (const notification of fresh) {
          this.#stored.take(notification);
          this.#queue(notification, moment);
        }
        if (fresh.length === 0) return;
        this.#giveUpExcess();
        this.#schedule();
      },
    };
  }

  /** Sends notifications as they become due, until `close`. */
  run(): void {
    this.#isRunning = true;
    this.#schedule();
  }

  /** Waits for the messages that are being sent. */
  async close(): Promise<void> {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    await Promise.all(this.#sending);
  }

  /** Starts to send what is due. Resolves when all messages that are being sent have been answered or have failed. */
  async sendDue(): Promise<void> {
    this.#giveUpExcess();
    this.#lookAtHolds();
    const nowMs = this.#options.elapsed();
    this.#queues.forgetEmpty(nowMs);
    for (const queue of this.#queues.all()) {
      if (queue.canStoreAgain(nowMs)) this.#storeOutcomes(queue);
      while (this.#sending.size < sendingMax && queue.isReady(nowMs)) this.#sendNext(queue, nowMs);
    }
    await Promise.all(this.#sending);
  }

  /** The time of the next try on the monotonic clock, infinite without one. Queues that send all they may do not count. */
  nextDueMs(): number {
    return Math.min(this.#queues.nextDueMs(this.#options.elapsed()), this.#holdsLookMs);
  }

  /** All notifications that are kept, the newest first. */
  list(): Notification[] {
    return [...this.#stored.values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  get(id: string): Notification | undefined {
    return this.#stored.get(id);
  }

  /**
   * Sends a notification again under its id if it has ended, however it ended. If it waits for its next try, sends it
   * at once. Returns false where there is no notification of that id.
   */
  async resend(id: string): Promise<boolean> {
    const known = this.#stored.get(id);
    if (known === undefined) return false;
    const nextAtMs = this.#options.now();
    if (known.status === "waiting") {
      await this.#setNextTry(known, nextAtMs);
      return true;
    }
    const again = toSendAgain(known, nextAtMs);
    await this.#stored.write([again]);
    this.#queue(again, this.#moment());
    this.#schedule();
    return true;
  }

  /** Makes the next try of a notification due, unless its queue is working on it just now. */
  async #setNextTry(notification: Notification, nextAtMs: number): Promise<void> {
    const queue = this.#queues.of(notification.action);
    if (queue.isClaimed(notification)) return;
    queue.claim([notification]);
    try {
      await this.#update(queue, [{ ...notification, nextAtMs }]);
    } finally {
      queue.release([notification]);
    }
    this.#schedule();
  }

  /** Tries once to send a test message. Nothing about it is stored. */
  async test(event: NotificationEvent, action: Action): Promise<Outcome> {
    const id = notificationId(event.id, action);
    const delivery = { id, action, events: [event], receipts: [], nowMs: this.#options.now() };
    return tryToSend(this.#options.senders, delivery);
  }

  /** Queues a notification that waits. `ageMs`: how long it has waited already. */
  #queue(notification: Notification, moment: Moment, ageMs = 0): void {
    if (notification.status !== "waiting") return;
    const queue = this.#queues.of(notification.action);
    queue.put(notification, moment, ageMs);
    // If the fire has ended, its begin waits no longer for the end of a silence or inhibition.
    const begin = this.#stored.begunBefore(notification);
    if (begin !== undefined && begin.silencedBy !== null) queue.makeDue(begin, moment.elapsedMs);
    if (notification.silencedBy !== null) this.#holdsLookMs = moment.elapsedMs;
  }

  #moment(): Moment {
    return { wallMs: this.#options.now(), elapsedMs: this.#options.elapsed() };
  }

  #schedule(): void {
    if (!this.#isRunning) return;
    clearTimeout(this.#timer);
    const waitMs = this.nextDueMs() - this.#options.elapsed();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    // The timer runs at least every 10 s, to give up what has waited too long.
    this.#timer = setTimeout(
      () => {
        void this.sendDue();
        this.#schedule();
      },
      Math.min(Math.max(waitMs, this.#sending.size >= sendingMax ? 100 : 0), 10_000),
    );
  }

  /** Gives up what is beyond the bounds of what may wait. */
  #giveUpExcess(): void {
    for (const [queue, excess] of findExcess(this.#queues.all(), this.#options.elapsed())) {
      const notifications = excess.map(({ notification }) => notification);
      queue.claim(notifications);
      void this.#work(queue, () => this.#giveUp(queue, excess)).finally(() => queue.release(notifications));
    }
  }

  /** Begins to send the next message of a queue. */
  #sendNext(queue: DeliveryQueue, nowMs: number): void {
    const message = queue.beginMessage(nowMs);
    void this.#work(queue, () => this.#send(queue, message)).finally(() => {
      queue.endMessage(message);
      this.#schedule();
    });
  }

  /** Tries again to store the outcomes of messages whose first write failed. */
  #storeOutcomes(queue: DeliveryQueue): void {
    queue.isStoringAgain = true;
    void this.#work(queue, async () => {
      for (const each of [...queue.unstoredOutcomes]) {
        await this.#storeOutcome(queue, each);
        queue.release(each.notifications);
      }
    }).finally(() => {
      queue.isStoringAgain = false;
      this.#schedule();
    });
  }

  /** Follows something that is done to a queue until it has ended. An error pauses the queue. */
  #work(queue: DeliveryQueue, act: () => Promise<void>): Promise<void> {
    const working = act()
      .catch((error: unknown) => {
        // The state cannot be written. After a pause, the write is repeated before another message is sent.
        queue.pausedUntilMs = Math.max(queue.pausedUntilMs, this.#options.elapsed() + storeWaitMs);
        this.#options.log(
          "error",
          `notifications: ${error instanceof Error ? error.message : String(error)}`,
        );
      })
      .finally(() => {
        this.#sending.delete(working);
        this.#schedule();
      });
    this.#sending.add(working);
    return working;
  }

  /** Stores that the notifications of a queue are given up, and says so once for each alert. */
  async #giveUp(queue: DeliveryQueue, excess: readonly Excess[]): Promise<void> {
    const endedAtMs = this.#options.now();
    const ended = excess.map(({ notification, problem }): Notification => {
      return { ...notification, status: "givenUp", problem, endedAtMs };
    });
    await this.#update(queue, ended);
    for (const each of Map.groupBy(ended, ({ event }) => event.alertId).values()) this.#reportGivenUp(each);
  }

  /** Sends a message about claimed notifications, and stores its outcome. */
  async #send(queue: DeliveryQueue, message: readonly Notification[]): Promise<void> {
    const nowMs = this.#options.now();
    const needed = await this.#leaveOutNeedless(queue, message, nowMs);
    const group = await this.#leaveOutMuted(queue, needed, nowMs);
    const first = group[0];
    if (first === undefined) return;
    const messageId = first.messageId ?? first.id;
    // The id is stored before the message is sent. If the process dies during this try, the next try sends the same
    // notifications under the same id; later ones get a message of their own.
    if (this.#plan.isGrouped(first.action) && first.messageId === null) {
      await this.#update(
        queue,
        group.map((each) => ({ ...each, messageId })),
      );
    }
    const outcome = await tryToSend(this.#options.senders, {
      id: messageId,
      action: first.action,
      events: group.map(({ event }) => event),
      receipts: group.flatMap((each) => this.#stored.begunBefore(each)?.receipt ?? []),
      othersFire: this.#stored.hasOtherFires(group),
      nowMs,
    });
    this.#outcomes.add(1, { type: first.action.type, outcome: outcome.kind });
    const endedMs = this.#options.now();
    if (outcome.kind === "retry" && outcome.afterMs !== undefined)
      queue.pausedUntilMs = this.#options.elapsed() + Math.min(outcome.afterMs, pauseMsMax);
    const random = this.#options.random();
    const notifications = group.map((each) => afterTry(each, messageId, outcome, endedMs, random));
    await this.#storeOutcome(queue, { messageId, notifications });
  }

  /** Returns the notifications that no route mutes now. The others wait for the end of the mute time. */
  async #leaveOutMuted(
    queue: DeliveryQueue,
    message: readonly Notification[],
    nowMs: number,
  ): Promise<Notification[]> {
    const planned = this.#plan.mute(message, nowMs);
    const muted = planned.filter((each, i) => each !== message[i]);
    if (muted.length > 0) await this.#update(queue, muted);
    return planned.filter((each, i) => each === message[i]);
  }

  /** Returns the notifications that are still to be sent. The others end as skipped, or wait until nothing holds them. */
  async #leaveOutNeedless(
    queue: DeliveryQueue,
    due: readonly Notification[],
    nowMs: number,
  ): Promise<Notification[]> {
    const elapsedMs = this.#options.elapsed();
    const decided = due.map((each) => this.#needs.decide(each, queue.ageMs(each.id, elapsedMs), nowMs));
    const changed = decided.filter((each, i) => each !== due[i]);
    if (changed.length > 0) await this.#update(queue, changed);
    return decided.filter(({ status, silencedBy }) => status === "waiting" && silencedBy === null);
  }

  /** Makes due what is not kept back any more: a silence was edited or deleted, or the fires of an inhibition ended. */
  #lookAtHolds(): void {
    const { wallMs, elapsedMs } = this.#moment();
    if (elapsedMs < this.#holdsLookMs) return;
    this.#holdsLookMs = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.all()) {
      for (const { notification } of queue.oldest()) {
        if (notification.silencedBy === null) continue;
        this.#holdsLookMs = elapsedMs + holdsLookEveryMs;
        const isHeld = this.#needs.findHold(notification, wallMs) !== undefined;
        if (!isHeld) queue.makeDue(notification, elapsedMs);
      }
    }
  }

  /** Stores the outcome of a message. Until that succeeds, the queue keeps it, so that nobody is notified twice. */
  async #storeOutcome(queue: DeliveryQueue, outcome: MessageOutcome): Promise<void> {
    const { notifications } = outcome;
    queue.unstoredOutcomes.add(outcome);
    await this.#update(queue, notifications);
    queue.unstoredOutcomes.delete(outcome);
    if (notifications[0]!.status === "givenUp") this.#reportGivenUp(notifications);
  }

  #reportGivenUp(notifications: readonly Notification[]): void {
    const { id, messageId, action, event, problem } = notifications[0]!;
    this.#givenUp.add(notifications.length, { type: action.type });
    const what = `${event.type} of alert ${JSON.stringify(event.alertName)}`;
    const message = `notification ${messageId ?? id} (${what}) to ${destinationName(action)} was given up: ${problem}`;
    this.#options.onGivenUp(message, notifications);
  }

  /** Stores notifications of a queue, and only then changes them in the queue. */
  async #update(queue: DeliveryQueue, notifications: readonly Notification[]): Promise<void> {
    await this.#stored.write(notifications);
    const moment = this.#moment();
    for (const notification of notifications) {
      if (notification.status === "waiting") queue.put(notification, moment);
      else queue.remove(notification.id);
      if (notification.silencedBy !== null)
        this.#holdsLookMs = Math.min(this.#holdsLookMs, moment.elapsedMs + holdsLookEveryMs);
    }
  }
}

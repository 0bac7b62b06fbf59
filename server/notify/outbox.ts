/**
 * The outbox of notifications. Stores them before it sends them, sends them at least once under the same id, and
 * reports those that it gives up.
 */
import type { Json, State, StateChange } from "../../engine/index.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import type { Action } from "../model/alert.ts";
import type { EventMessage, NotificationEvent } from "../model/event.ts";
import { stableId } from "../model/stable-id.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { destinationKey, destinationName, isGrouped } from "./destination.ts";
import { rulesOf } from "./event-types.ts";
import { endedKept, senderMsMax, sendingMax, storeWaitMs } from "./limits.ts";
import { afterTry, makeNotification, type Notification } from "./notification.ts";
import type { Delivery, Outcome, Sender, Senders } from "./sender.ts";

export interface OutboxOptions {
  state: State;
  now: () => number;
  /** Returns a random number from 0 to 1. */
  random: () => number;
  senders: Senders;
  /** The id of the silence that covers an event now. */
  silencedBy: (event: NotificationEvent, nowMs: number) => string | undefined;
  /** Called when a message is given up, with a sentence about it for people and the notifications in it. */
  onGivenUp: (message: string, notifications: readonly Notification[]) => void;
  metrics: Metrics;
  log: (level: "warn" | "error", message: string) => void;
}

const table = "notifications";

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #queues = new Map<string, DeliveryQueue>();
  readonly #all = new Map<string, Notification>();
  /** Ids of the notifications that have ended, the oldest first. */
  readonly #ended: string[] = [];
  readonly #outcomes: Counter;
  readonly #givenUp: Counter;
  readonly #sending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    const stored = options.state.list(table).map(([, value]) => value as unknown as Notification);
    stored.sort((a, b) => a.createdAtMs - b.createdAtMs || orderOf(a) - orderOf(b));
    for (const notification of stored) this.#take(notification);
    this.#ended.sort((a, b) => this.#all.get(a)!.endedAtMs! - this.#all.get(b)!.endedAtMs!);
    this.#outcomes = options.metrics.counter(
      "svc_notification_tries_total",
      "Tries to send messages, by outcome.",
    );
    this.#givenUp = options.metrics.counter(
      "svc_notifications_given_up_total",
      "Notifications that reached nobody and are tried no more.",
    );
    this.#readMetrics(options.metrics);
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
        if (!rulesOf(event.type).isWanted(action) || this.#all.has(id)) continue;
        made.set(id, makeNotification(id, event, action, nowMs));
      }
    }
    const fresh = [...made.values()];
    return {
      changes: fresh.map(toChange),
      stored: () => {
        for (const notification of fresh) this.#take(notification);
        if (fresh.length > 0) this.#schedule();
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
    const nowMs = this.#options.now();
    for (const queue of this.#queues.values()) {
      if (this.#sending.size >= sendingMax) break;
      if (queue.isReady(nowMs)) this.#start(queue);
    }
    await Promise.all(this.#sending);
  }

  /** The time of the next try, infinite without one. Queues that are sending a message do not count. */
  nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) if (!queue.isBusy) dueMs = Math.min(dueMs, queue.dueMs());
    return dueMs;
  }

  /** All notifications that are kept, the newest first. */
  list(): Notification[] {
    return [...this.#all.values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  get(id: string): Notification | undefined {
    return this.#all.get(id);
  }

  /**
   * Sends a notification again under its id if it has ended, however it ended. If it waits for its next try, sends it
   * at once. Returns false where there is no notification of that id.
   */
  async resend(id: string): Promise<boolean> {
    const known = this.#all.get(id);
    if (known === undefined) return false;
    const nextAtMs = this.#options.now();
    if (known.status === "waiting") {
      await this.#setNextTry(known, nextAtMs);
      return true;
    }
    const fresh = { status: "waiting", tries: 0, nextAtMs, endedAtMs: null, problem: null } as const;
    const again: Notification = { ...known, ...fresh };
    await this.#options.state.write([toChange(again)]);
    this.#ended.splice(this.#ended.indexOf(id), 1);
    this.#take(again);
    this.#schedule();
    return true;
  }

  /** Makes the next try of a notification due, unless its queue is sending a message just now. */
  async #setNextTry(notification: Notification, nextAtMs: number): Promise<void> {
    const queue = this.#queues.get(destinationKey(notification.action))!;
    if (queue.isBusy) return;
    queue.isBusy = true;
    try {
      await this.#update(queue, [{ ...notification, nextAtMs }]);
    } finally {
      queue.isBusy = false;
    }
    this.#schedule();
  }

  /** Tries once to send a test message. Nothing about it is stored. */
  async test(event: NotificationEvent, action: Action): Promise<Outcome> {
    const id = notificationId(event.id, action);
    return this.#try({ id, action, events: [event], receipts: [], nowMs: this.#options.now() });
  }

  #take(notification: Notification): void {
    this.#all.set(notification.id, notification);
    if (notification.status !== "waiting") {
      this.#ended.push(notification.id);
      return;
    }
    const key = destinationKey(notification.action);
    const queue = this.#queues.get(key) ?? new DeliveryQueue();
    this.#queues.set(key, queue);
    queue.add(notification);
  }

  #schedule(): void {
    if (!this.#isRunning) return;
    clearTimeout(this.#timer);
    const waitMs = this.nextDueMs() - this.#options.now();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    // The timer runs at least every 10 s, because somebody may set the clock.
    this.#timer = setTimeout(
      () => {
        void this.sendDue();
        this.#schedule();
      },
      Math.min(Math.max(waitMs, this.#sending.size >= sendingMax ? 100 : 0), 10_000),
    );
  }

  #start(queue: DeliveryQueue): void {
    queue.isBusy = true;
    const sending = this.#sendNext(queue)
      .catch((error: unknown) => {
        // The state cannot be written. After a pause, the write is repeated before another message is sent.
        queue.pausedUntilMs = Math.max(queue.pausedUntilMs, this.#options.now() + storeWaitMs);
        this.#options.log(
          "error",
          `notifications: ${error instanceof Error ? error.message : String(error)}`,
        );
      })
      .finally(() => {
        queue.isBusy = false;
        this.#sending.delete(sending);
        this.#schedule();
      });
    this.#sending.add(sending);
  }

  async #sendNext(queue: DeliveryQueue): Promise<void> {
    if (queue.unstoredOutcome !== undefined) await this.#storeOutcome(queue, queue.unstoredOutcome);
    const nowMs = this.#options.now();
    const due = queue.next(nowMs);
    const group = await this.#skipNeedless(queue, due, nowMs);
    const first = group[0];
    if (first === undefined) return;
    const messageId = first.messageId ?? first.id;
    // The id is stored before the message is sent. If the process dies during this try, the next try sends the same
    // notifications under the same id; later ones get a message of their own.
    if (isGrouped(first.action) && first.messageId === null) {
      await this.#update(
        queue,
        group.map((each) => ({ ...each, messageId })),
      );
    }
    const outcome = await this.#try({
      id: messageId,
      action: first.action,
      events: group.map(({ event }) => event),
      receipts: group.flatMap((each) => this.#firedBefore(each)?.receipt ?? []),
      nowMs,
    });
    this.#outcomes.add(1, { type: first.action.type, outcome: outcome.kind });
    const endedMs = this.#options.now();
    if (outcome.kind === "retry" && outcome.afterMs !== undefined)
      queue.pausedUntilMs = endedMs + Math.min(outcome.afterMs, pauseMsMax);
    const random = this.#options.random();
    const notifications = group.map((each) => afterTry(each, messageId, outcome, endedMs, random));
    await this.#storeOutcome(queue, { messageId, notifications });
  }

  /**
   * Returns the notifications that are still to be sent. The others end as skipped: those that a silence covers by now,
   * and ends of fires whose begin reached nobody.
   */
  async #skipNeedless(
    queue: DeliveryQueue,
    due: readonly Notification[],
    nowMs: number,
  ): Promise<Notification[]> {
    const kept: Notification[] = [];
    const ended: Notification[] = [];
    for (const each of due) {
      const problem = this.#findSkipReason(each, nowMs);
      if (problem === undefined) kept.push(each);
      else ended.push({ ...each, status: "skipped", problem, endedAtMs: nowMs });
    }
    if (ended.length > 0) await this.#update(queue, ended);
    return kept;
  }

  /** Returns why a notification need not be sent; undefined where it must be. */
  #findSkipReason(notification: Notification, nowMs: number): string | undefined {
    if (notification.tries > 0 || notification.messageId !== null) return undefined;
    if (notification.event.type === "alertFired") {
      const silence = this.#options.silencedBy(notification.event, nowMs);
      return silence === undefined ? undefined : `silenced by ${silence}`;
    }
    const fired = this.#firedBefore(notification);
    // A receiver that was tried more than once may have taken the message although no answer came back.
    const hasReachedNobody =
      fired?.status === "skipped" || (fired?.status === "givenUp" && fired.tries === 1);
    return hasReachedNobody ? "its fire was never told" : undefined;
  }

  /** Returns the notification of a fire's begin for the notification of its end; undefined for any other. */
  #firedBefore({ event, action }: Notification): Notification | undefined {
    if (event.type !== "alertResolved") return undefined;
    return this.#all.get(notificationId(stableId("fired", event.fireId), action));
  }

  async #try(delivery: Delivery): Promise<Outcome> {
    const send = this.#options.senders[delivery.action.type] as Sender<Action>;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Outcome>((resolve) => {
      const problem = `no end after ${senderMsMax / 1000} s`;
      timer = setTimeout(() => resolve({ kind: "retry", problem }), senderMsMax);
    });
    try {
      return await Promise.race([send(delivery), late]);
    } catch (error) {
      return { kind: "retry", problem: (error as Error).message };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stores the outcome of a message. Until that succeeds, the queue keeps it, so that nobody is notified twice. */
  async #storeOutcome(
    queue: DeliveryQueue,
    { messageId, notifications }: NonNullable<DeliveryQueue["unstoredOutcome"]>,
  ): Promise<void> {
    queue.unstoredOutcome = { messageId, notifications };
    await this.#update(queue, notifications);
    queue.unstoredOutcome = undefined;
    const [first] = notifications;
    if (first!.status !== "givenUp") return;
    const { action, event } = first!;
    this.#givenUp.add(notifications.length, { type: action.type });
    const what = `${event.type} of alert ${JSON.stringify(event.alertName)}`;
    const message = `notification ${messageId} (${what}) to ${destinationName(action)} was given up: ${first!.problem}`;
    this.#options.onGivenUp(message, notifications);
  }

  /** Stores notifications, and only then changes them in memory. Deletes the oldest ended ones above `endedKept`. */
  async #update(queue: DeliveryQueue, notifications: readonly Notification[]): Promise<void> {
    const ending = notifications.filter(({ status }) => status !== "waiting").length;
    const forgotten = this.#ended.slice(0, Math.max(0, this.#ended.length + ending - endedKept));
    const removed = forgotten.map((id): StateChange => ({ table, id, value: undefined }));
    await this.#options.state.write([...notifications.map(toChange), ...removed]);
    for (const id of this.#ended.splice(0, forgotten.length)) this.#all.delete(id);
    for (const notification of notifications) {
      this.#all.set(notification.id, notification);
      const place = queue.waiting.findIndex(({ id }) => id === notification.id);
      if (notification.status === "waiting") queue.waiting[place] = notification;
      else this.#ended.push(notification.id);
    }
    queue.remove(new Set(notifications.filter(({ status }) => status !== "waiting").map(({ id }) => id)));
  }

  #readMetrics(metrics: Metrics): void {
    const waiting = () => [...this.#queues.values()].flatMap((queue) => queue.waiting);
    metrics.gauge("svc_notifications", "Notifications that are kept, by status.", () => {
      const counts = Map.groupBy(this.#all.values(), ({ status }) => status);
      return [...counts].map(([status, all]) => [{ status }, all.length]);
    });
    metrics.gauge("svc_notifications_oldest_seconds", "Age of the oldest notification that waits.", () => {
      const oldestMs = Math.min(...waiting().map(({ createdAtMs }) => createdAtMs));
      return Number.isFinite(oldestMs) ? (this.#options.now() - oldestMs) / 1000 : 0;
    });
  }
}

/** Longest pause of a queue that a receiver can ask for: shorter than `retryAfterMsMax`, which delays one message. */
const pauseMsMax = 60 * 60 * 1000;

function notificationId(eventId: string, action: Action): string {
  return stableId(eventId, destinationKey(action));
}

const orderOf = ({ event }: Notification) => rulesOf(event.type).order;

function toChange(notification: Notification): StateChange {
  return { table, id: notification.id, value: notification as unknown as Json };
}

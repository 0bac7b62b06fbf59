/** An outbox over a state in memory, with clocks and receivers that do as a test says. */
import { Metrics } from "../../../server/metrics/metrics.ts";
import type { Action } from "../../../server/model/alert.ts";
import type { EventMessage } from "../../../server/model/event.ts";
import type { NotificationRoute } from "../../../server/model/notification-route.ts";
import { Outbox } from "../../../server/notify/outbox.ts";
import type { Delivery, Outcome } from "../../../server/notify/senders/sender.ts";
import { Disk } from "../alerts/disk.ts";

export class Post {
  nowMs = 1_000_000_000_000;
  /** By how much the wall clock is wrong. */
  clockErrorMs = 0;
  readonly disk = new Disk();
  state = this.disk.open();
  readonly sent: { id: string; to: string; type: string; names: string[]; atMs: number }[] = [];
  readonly logged: string[] = [];
  readonly silenced = new Set<string>();
  silencesEndMs = this.nowMs + 365 * 86_400_000;
  /** Webhooks that ask for one message for all instances of an alert. */
  readonly grouped = new Set<string>();
  readonly routes = new Map<string, NotificationRoute>();
  metrics = new Metrics();
  answer: (delivery: Delivery) => Outcome | Promise<Outcome> = () => ({ kind: "delivered" });
  outbox: Outbox = this.open();

  open(): Outbox {
    const { state } = this;
    this.metrics = new Metrics();
    const send = async (delivery: Delivery) => {
      if (!state.isAlive) return new Promise<never>(() => undefined);
      const { id, action, events } = delivery;
      const names = events.map(({ labels }) => labels["service.name"]!);
      this.sent.push({ id, to: receiver(action), type: events[0]!.type, names, atMs: this.nowMs });
      return this.answer(delivery);
    };
    this.outbox = new Outbox({
      state: this.state,
      now: () => this.nowMs + this.clockErrorMs,
      elapsed: () => this.nowMs,
      random: () => 0,
      senders: { slack: send, email: send, pagerDuty: send, webhook: send },
      isGroupedWebhook: (uuid) => this.grouped.has(uuid),
      routeOf: (id) => this.routes.get(id),
      findHold: ({ labels }, nowMs) => {
        const isCovered = this.silenced.has(labels["service.name"]!) && nowMs < this.silencesEndMs;
        return isCovered ? { id: "silence-1", endsAtMs: this.silencesEndMs } : undefined;
      },
      metrics: this.metrics,
      onGivenUp: (message) => this.logged.push(`error ${message}`),
      log: (level, message) => this.logged.push(`${level} ${message}`),
    });
    return this.outbox;
  }

  async put(...messages: EventMessage[]): Promise<void> {
    const { changes, stored } = this.outbox.prepare({ messages });
    await this.state.write(changes);
    stored();
  }

  /** Goes from try to try until `ms` have passed. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (;;) {
      await this.outbox.sendDue();
      const dueMs = this.outbox.nextDueMs();
      if (dueMs > untilMs) break;
      this.nowMs = Math.max(this.nowMs, dueMs);
    }
    this.nowMs = untilMs;
  }

  said(): string[] {
    return this.sent.map(
      ({ to, type, names }) => `${to} ${type === "alertFired" ? "fired" : "resolved"} ${names.join(",")}`,
    );
  }
}

export function receiver(action: Action): string {
  if (action.type === "webhook") return action.webhookDestination.uuid;
  return action.type === "email" ? action.emailDestination.emails[0]! : action.type;
}

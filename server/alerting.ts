/** Alerts of one server: what is configured is evaluated over its store, and what follows is told. */
import type { State, Store } from "../engine/index.ts";
import { queryTimeseries, type SeriesStore } from "../query/index.ts";
import type { Action, AlertEvent } from "./alert-event.ts";
import { type Alert, type ConfiguredAlert, withId } from "./alerts/alert.ts";
import { Evaluator } from "./alerts/evaluator.ts";
import { defaultDelayMs } from "./alerts/limits.ts";
import { shapeOf } from "./alerts/query-shape.ts";
import { SharedScans } from "./alerts/shared-scans.ts";
import type { Metrics } from "./metrics.ts";
import { AddressGuard } from "./notify/address-guard.ts";
import { type EmailOptions, emailSender } from "./notify/email.ts";
import { Outbox } from "./notify/outbox.ts";
import { pagerDutySender } from "./notify/pager-duty.ts";
import { isSilenced, type Silence } from "./notify/silence.ts";
import { slackSender } from "./notify/slack.ts";
import { type Webhook, webhookSender } from "./notify/webhook.ts";
import type { Caller } from "./route.ts";
import type { Searchable } from "./searchable.ts";

export interface NotifySettings {
  /** Where people reach the server, without a slash at the end. */
  publicUrl: string;
  /** Networks that messages may go to although they are private. */
  allowedNetworks: readonly string[];
  slackToken?: string;
  /** Where Slack's API is, if not at Slack. */
  slackUrl?: string;
  email?: Omit<EmailOptions, "publicUrl">;
  /** By the id or name of a service. */
  pagerDutyKeys: Readonly<Record<string, string>>;
  /** Where PagerDuty takes events, if not at PagerDuty. */
  pagerDutyUrl?: string;
}

/** What is configured, as it is now. */
interface AlertSources {
  /** The revision is another one whenever the alert is; queries have the rights of whoever saved it last. */
  alerts: () => readonly (readonly [
    id: string,
    stored: { value: ConfiguredAlert; revision: string; updatedBy: Caller },
  ])[];
  webhook: (id: string) => { value: Webhook; revision: string } | undefined;
  silences: () => readonly (readonly [id: string, stored: { value: Silence; updatedBy: Caller }])[];
}

export interface AlertingOptions {
  store: Store;
  state: State;
  sources: AlertSources;
  notify: NotifySettings;
  metrics: Metrics;
  now: () => number;
  /** The store as the caller sees it; reading fails where the caller sees nothing. */
  storeFor: (store: Searchable, caller: Caller) => SeriesStore;
  /** Whether silences of the caller's cover an alert. */
  maySilence: (caller: Caller, alertId: string) => boolean;
  queryMemoryBytes: number;
  /** Notifications wait: only what is sent by hand goes out. */
  holdsNotifications: boolean;
  log: (level: "warn" | "error", message: string) => void;
}

/** Webhook integrations that are gone, with the revision that was. */
const goneTable = "webhooks-gone";
/** What is configured anew is taken up this soon. */
const syncEveryMs = 500;

export class Alerting {
  readonly evaluator: Evaluator;
  readonly outbox: Outbox;
  readonly #options: AlertingOptions;
  readonly #revisions = new Map<string, string>();
  /** Whoever saved alerts, by what says which rights they have. */
  readonly #callers = new Map<string, Caller>();
  #syncing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AlertingOptions) {
    const { state, metrics, now, log, store, queryMemoryBytes: memoryBytes } = options;
    this.#options = options;
    const silencedBy = (event: Pick<AlertEvent, "alertId" | "labels">, nowMs: number) =>
      options.sources.silences().find(([, { value, updatedBy }]) => {
        return isSilenced(value, event, nowMs) && options.maySilence(updatedBy, event.alertId);
      })?.[0];
    this.outbox = new Outbox({
      state,
      now,
      random: Math.random,
      senders: this.#senders(),
      silencedBy,
      metrics,
      log,
    });
    const help = "1 where notifications wait, for the data folder was made of a backup.";
    metrics.read("gauge", "svc_notifications_held", help, () => Number(options.holdsNotifications));
    const scans = new SharedScans(store, metrics);
    this.evaluator = new Evaluator({
      state,
      now,
      shapeOf,
      query: async (asked, abort) => {
        // What is narrowed is shared too: scans are told apart by all that they keep.
        const seen = options.storeFor(scans, this.#callers.get(asked.readsAs)!);
        return (await queryTimeseries(seen, asked, { abort, memoryBytes })).series;
      },
      outbox: this.outbox,
      silencedBy,
      delayMs: defaultDelayMs,
      metrics,
      log,
    });
  }

  /** Takes up what is configured and evaluates and tells from now on. */
  async run(): Promise<void> {
    await this.#sync();
    await this.evaluator.begin();
    if (!this.#options.holdsNotifications) this.outbox.run();
    this.evaluator.run();
    this.#scheduleSync();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    await this.evaluator.close();
    await this.outbox.close();
  }

  #scheduleSync(): void {
    this.#timer = setTimeout(() => {
      this.#syncing = this.#sync()
        .catch((error: unknown) => this.#options.log("error", `alerts: ${String(error)}`))
        .then(() => this.#scheduleSync());
    }, syncEveryMs);
  }

  async #sync(): Promise<void> {
    const alerts = this.#options.sources.alerts();
    const gone = new Set(this.#revisions.keys());
    const changed: Promise<void>[] = [];
    for (const [id, { value, revision, updatedBy }] of alerts) {
      gone.delete(id);
      if (this.#revisions.get(id) === revision) continue;
      this.#revisions.set(id, revision);
      const readsAs = JSON.stringify([updatedBy.role, updatedBy.groups, updatedBy.user?.claimed]);
      this.#callers.set(readsAs, updatedBy);
      changed.push(this.#orAgain(id, this.evaluator.upsert({ ...withId(value, id), readsAs })));
    }
    for (const id of gone) {
      this.#revisions.delete(id);
      changed.push(this.evaluator.remove(id));
    }
    await Promise.all(changed);
  }

  /** What could not be stored is taken up again with the next look. */
  async #orAgain(id: string, taken: Promise<void>): Promise<void> {
    try {
      await taken;
    } catch (error) {
      this.#revisions.delete(id);
      throw error;
    }
  }

  #senders() {
    const { sources, state, notify, log } = this.#options;
    const { publicUrl, slackToken, slackUrl, email, pagerDutyKeys, pagerDutyUrl } = notify;
    const guard = new AddressGuard(notify.allowedNetworks);
    return {
      slack: slackSender({
        guard,
        publicUrl,
        ...(slackToken === undefined ? {} : { botToken: slackToken }),
        ...(slackUrl === undefined ? {} : { apiUrl: slackUrl }),
      }),
      email: emailSender(email && { ...email, publicUrl }),
      pagerDuty: pagerDutySender({
        guard,
        publicUrl,
        routingKeys: pagerDutyKeys,
        ...(pagerDutyUrl === undefined ? {} : { eventsUrl: pagerDutyUrl }),
      }),
      webhook: webhookSender({
        guard,
        publicUrl,
        webhookOf: (id) => sources.webhook(id)?.value,
        isOff: (id) => state.get(goneTable, id) === sources.webhook(id)?.revision,
        onGone: (id) => {
          const value = sources.webhook(id)?.revision;
          state.write([{ table: goneTable, id, value }]).catch((error: unknown) => {
            log("error", `webhook ${id}: that it is gone cannot be stored: ${String(error)}`);
          });
        },
      }),
    };
  }

  /** One message by hand, to see whether it arrives. */
  test(alert: Alert, action: Action): ReturnType<Outbox["test"]> {
    return this.outbox.test(testEvent(alert, this.#options.now()), action);
  }
}

function testEvent(alert: Alert, nowMs: number): AlertEvent {
  const { id, name, description = "" } = alert.metadata;
  const { query, bucketSize } = alert.timeseries.expression.svcQLTimeseries;
  const fireId = crypto.randomUUID();
  return {
    id: crypto.randomUUID(),
    type: "alertFired",
    alertId: id,
    alertName: `[test] ${name}`,
    alertDescription: description,
    rule: alert.timeseries.evaluationRules[0]?.name ?? "test",
    query,
    bucketSeconds: bucketSize,
    fireId,
    labels: {},
    firedAtMs: nowMs,
    breached: { bucketMs: nowMs - bucketSize * 1000, value: 0 },
    late: false,
  };
}

/** Alerts of one server: what is configured is evaluated over its store, and what follows is told. */
import { setImmediate, setTimeout as setTimeoutAsync } from "node:timers/promises";
import type { LogRow, State, Store } from "../../engine/index.ts";
import { queryTimeseries, type SeriesStore } from "../../query/index.ts";
import type { Searchable } from "../access/searchable.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import type { Action, AlertEvent } from "../model/event.ts";
import { AddressGuard } from "../notify/address-guard.ts";
import { type EmailOptions, emailSender } from "../notify/email.ts";
import type { Notification } from "../notify/notification.ts";
import { Outbox } from "../notify/outbox.ts";
import { pagerDutySender } from "../notify/pager-duty.ts";
import type { Outcome } from "../notify/sender.ts";
import { isSilenced, type Silence, type SilenceExpression } from "../notify/silence.ts";
import { slackSender } from "../notify/slack.ts";
import { type Webhook, webhookSender } from "../notify/webhook.ts";
import { Evaluator } from "./evaluator.ts";
import { defaultDelayMs } from "./limits.ts";
import { QueryPlans } from "./query/query-shape.ts";
import { SharedScans } from "./query/shared-scans.ts";
import { type Alert, type ConfiguredAlert, withId } from "./state/alert-definition.ts";

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
  /** The same list until one of them changes. The revision is another one whenever the alert is; queries have the rights of whoever saved it last. */
  alerts: () => readonly (readonly [
    id: string,
    stored: { value: ConfiguredAlert; revision: string; updatedBy: Caller },
  ])[];
  alertCount: () => number;
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
  /** The store as whoever saved an alert sees it now. Throws an Error for people where access was lost, and so do its reads. */
  storeFor: (store: Searchable, caller: Caller) => SeriesStore;
  /** Whether silences of the caller's cover an alert. */
  maySilence: (caller: Caller, alertId: string) => boolean;
  queryMemoryBytes: number;
  /** Notifications wait: only what is sent by hand goes out. */
  holdsNotifications: boolean;
  log: (level: "warn" | "error", message: string) => void;
}

type Silenced = Pick<AlertEvent, "alertId" | "labels">;

/** Webhook integrations that are gone, with the revision that was. */
const goneTable = "webhooks-gone";
/** What is configured anew is taken up this soon. */
const syncEveryMs = 500;
/** So many alerts are taken up before a start is over, unless that goes on for so long. */
const alertsAwaitedMax = 1_000;
const beginMsMax = 100;
/** Taking up alerts, which plans their queries, lets others have a turn this often. */
const turnMsMax = 10;

/** A silence as its alerts show it. */
interface ShownSilence {
  id: string;
  comment: string;
  /** Unix milliseconds. */
  endsAt: number;
  matchExpressions: readonly SilenceExpression[];
}

export class Alerting {
  readonly evaluator: Evaluator;
  readonly outbox: Outbox;
  readonly #options: AlertingOptions;
  readonly #scans: SharedScans;
  readonly #revisions = new Map<string, string>();
  /** Whoever saved alerts, by what says which rights they have. */
  readonly #callers = new Map<string, Caller>();
  /** What was configured when all of it was taken up. */
  #seen: ReturnType<AlertSources["alerts"]> | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: AlertingOptions) {
    const { state, metrics, now, log, store, queryMemoryBytes: memoryBytes } = options;
    this.#options = options;
    const silencedBy = (event: Silenced) => this.silencedBy(event);
    this.outbox = new Outbox({
      state,
      now,
      random: Math.random,
      senders: this.#senders(),
      silencedBy,
      onGivenUp: (message, notifications) => {
        log("error", message);
        store.append("logs", [givenUpRow(message, notifications, now())]).catch((error: unknown) => {
          log("error", `that a notification was given up is not in the logs: ${String(error)}`);
        });
      },
      metrics,
      log,
    });
    const help = "1 where notifications wait, for the data folder was made of a backup.";
    metrics.read("gauge", "svc_notifications_held", help, () => Number(options.holdsNotifications));
    const scans = new SharedScans(store, metrics);
    this.#scans = scans;
    const plans = new QueryPlans();
    this.evaluator = new Evaluator({
      state,
      now,
      shapeOf: (query) => plans.shapeOf(query),
      arrivals: {
        position: () => store.arrivalMax,
        oldestMs: (signals, position) => {
          const times = signals.map(
            (signal) => store.oldestArrivedMs(signal, position) ?? Number.POSITIVE_INFINITY,
          );
          const oldestMs = Math.min(...times);
          return oldestMs === Number.POSITIVE_INFINITY ? undefined : oldestMs;
        },
      },
      query: async (asked, abort) => {
        // What is narrowed is shared too: scans are told apart by all that they keep.
        const seen = options.storeFor(scans, this.#callers.get(asked.readsAs)!);
        const planned = { ...asked, plan: plans.planOf(asked.query) };
        return (await queryTimeseries(seen, planned, { abort, memoryBytes })).series;
      },
      outbox: this.outbox,
      silencedBy,
      delayMs: defaultDelayMs,
      metrics,
      log,
    });
  }

  /** The id of the silence that covers an instance of an alert now. */
  silencedBy(instance: Silenced): string | undefined {
    const nowMs = this.#options.now();
    const { sources, maySilence } = this.#options;
    return sources.silences().find(([, { value, updatedBy }]) => {
      return isSilenced(value, instance, nowMs) && maySilence(updatedBy, instance.alertId);
    })?.[0];
  }

  /** Silences that hold now and may cover instances of an alert, or all of them. */
  silencesOf(alertId: string): ShownSilence[] {
    const nowMs = this.#options.now();
    return this.#options.sources.silences().flatMap(([id, { value }]) => {
      const { match, ...silence } = value;
      if (!isSilenced(silence, { alertId, labels: {} }, nowMs)) return [];
      const { comment = "", endsAt } = silence;
      return [{ id, comment, endsAt, matchExpressions: match?.matchExpressions ?? [] }];
    });
  }

  /**
   * Takes up what is configured and evaluates and tells from then on. Resolves when that is done, or goes on for long: with alerts by
   * the ten thousand a server answers before.
   */
  async run(): Promise<void> {
    const isMany = this.#options.sources.alertCount() > alertsAwaitedMax;
    const begun = isMany ? setImmediate().then(() => this.#begin()) : this.#begin();
    let isLate = isMany;
    this.#syncing = begun.catch((error: unknown) => {
      if (isLate) this.#beginAgain(error);
    });
    if (isMany) return;
    await Promise.race([begun, setTimeoutAsync(beginMsMax, undefined, { ref: false })]);
    isLate = true;
  }

  #beginAgain(error: unknown): void {
    this.#options.log("error", `alerts: ${String(error)}`);
    this.#timer = setTimeout(() => {
      this.#syncing = this.#begin().catch((again: unknown) => this.#beginAgain(again));
    }, syncEveryMs);
  }

  async #begin(): Promise<void> {
    await this.takeUp();
    if (this.#isClosed) return;
    if (!this.#options.holdsNotifications) this.outbox.run();
    this.evaluator.run();
    this.#scheduleSync();
  }

  /** Takes up what is configured. */
  async takeUp(): Promise<void> {
    await this.#sync();
    if (this.#isClosed) return;
    await this.evaluator.begin();
  }

  /** Queries that run are given up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#scans.end();
    await this.#syncing;
    clearTimeout(this.#timer);
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
    if (alerts === this.#seen) return;
    const gone = new Set(this.#revisions.keys());
    const changed: Promise<void>[] = [];
    let turnMs = performance.now();
    for (const [id, { value, revision, updatedBy }] of alerts) {
      gone.delete(id);
      if (this.#revisions.get(id) === revision) continue;
      this.#revisions.set(id, revision);
      const { role, groups, tokenId, user } = updatedBy;
      // What a token may read changes; an admin's sees all.
      const readsAs = JSON.stringify(
        role === "admin" && user === undefined ? [role] : [role, groups, tokenId, user?.claimed],
      );
      this.#callers.set(readsAs, updatedBy);
      const taken = this.#orAgain(id, this.evaluator.upsert({ ...withId(value, id), readsAs }));
      // A failure is thrown when all had their turn; until then it must not count as unheard.
      taken.catch(() => undefined);
      changed.push(taken);
      if (performance.now() - turnMs < turnMsMax) continue;
      await setImmediate();
      turnMs = performance.now();
      if (!this.#isClosed) continue;
      // Those that had no turn yet are not gone.
      gone.clear();
      break;
    }
    for (const id of gone) {
      this.#revisions.delete(id);
      changed.push(this.evaluator.remove(id));
    }
    await Promise.all(changed);
    this.#seen = alerts;
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

  /** One message by hand, to see whether it arrives. An incident that it opens is closed again. */
  async test(alert: Alert, action: Action): Promise<Outcome> {
    const nowMs = this.#options.now();
    const event = testEvent(alert, nowMs);
    const outcome = await this.outbox.test(event, action);
    if (action.type !== "pagerDuty" || outcome.kind !== "delivered") return outcome;
    const end = { id: crypto.randomUUID(), type: "alertResolved", resolvedAtMs: nowMs } as const;
    return this.outbox.test({ ...event, ...end, reason: "recovered" }, action);
  }
}

/** To be searched, and alerted on, like any other log. */
function givenUpRow(message: string, [first, ...others]: readonly Notification[], nowMs: number): LogRow {
  const { id, action, event } = first!;
  return {
    timeNs: BigInt(nowMs) * 1_000_000n,
    level: "error",
    message,
    attributes: {
      "service.name": "svc",
      "notification.id": id,
      "notification.status": "givenUp",
      "notification.destination": action.type,
      "notification.instances": String(1 + others.length),
      "alert.id": event.alertId,
      "alert.name": event.alertName,
      "fire.id": event.fireId,
    },
  };
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

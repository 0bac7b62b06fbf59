/** Sends notifications of alerts to the destinations of their actions, except for instances that a silence covers. */

import { setTimeout as sleep } from "node:timers/promises";
import { type LogRow, type State, type Store, Turns } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Action, Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import type { AlertEvent, NotificationEvent } from "../model/event.ts";
import type { Inhibition, NotificationRoute, RoutedAction } from "../model/notification-route.ts";
import type { SilenceExpression } from "../model/silence.ts";
import type { ManagedPlace } from "../model/stored-resource.ts";
import type { Webhook } from "../model/webhook.ts";
import { warnUndeliverable } from "./deliverability.ts";
import type { Hold } from "./delivery-needs.ts";
import { closeMsMax } from "./limits.ts";
import type { Notification } from "./notification.ts";
import { Outbox } from "./outbox.ts";
import { findActions, findInhibition, type RoutedFire } from "./routing.ts";
import { AddressGuard } from "./senders/address-guard.ts";
import { type EmailOptions, emailSender } from "./senders/email.ts";
import { pagerDutySender } from "./senders/pager-duty.ts";
import type { Outcome, Senders } from "./senders/sender.ts";
import { slackSender } from "./senders/slack.ts";
import { type ReadSecret, webhookSender } from "./senders/webhook.ts";
import { isSilenced, SilencesByAlert, type StoredSilence } from "./silence.ts";

export interface NotifySettings {
  /** The URL at which people reach the server, without a slash at its end. */
  publicUrl: string;
  /** Private networks to which messages may be sent nevertheless. */
  allowedNetworks: readonly string[];
  slackToken?: string;
  /** URL of another server that stands in for Slack's API. */
  slackUrl?: string;
  email?: Omit<EmailOptions, "publicUrl">;
  /** Routing keys by the id or name of a PagerDuty service. */
  pagerDutyKeys: Readonly<Record<string, string>>;
  /** URL of another server that stands in for PagerDuty's events API. */
  pagerDutyUrl?: string;
}

/** Access to what is configured now, and to the fires that are open. */
interface NotifierSources {
  webhook: (id: string) => { value: Webhook; revision: string; managed?: ManagedPlace } | undefined;
  /** Whether a webhook may be sent an event: see `mayReceive` of the control plane. */
  mayReceive: (webhookId: string, event: NotificationEvent) => boolean;
  /** Reads a Secret in the cluster and namespace of a webhook that Kubernetes manages. */
  secret: ReadSecret;
  /** The same list until a silence changes. */
  silences: () => readonly StoredSilence[];
  routes: () => readonly { id: string; value: { value: NotificationRoute } }[];
  route: (id: string) => NotificationRoute | undefined;
  inhibitions: () => readonly { id: string; value: { value: Inhibition } }[];
  /** The open fires of all alerts: the same list until one of them changes. */
  openFires: () => readonly RoutedFire[];
}

export interface NotifierOptions {
  store: Pick<Store, "append">;
  state: State;
  sources: NotifierSources;
  notify: NotifySettings;
  metrics: Metrics;
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  /**
   * Returns whether silences that the caller saved may cover instances of an alert: one with these labels, or without
   * labels all.
   */
  canSilence: (caller: Caller, alertId: string, labels?: AlertInstance["labels"]) => boolean;
  /** True where notifications wait. Then only test messages are sent. */
  holdsNotifications: boolean;
  log: (level: "warn" | "error", message: string) => void;
}

type AlertInstance = Pick<AlertEvent, "alertId" | "labels">;

/** The table of webhooks whose receiver is gone. Holds the revision that a webhook had at that time, by its id. */
const goneTable = "webhooks-gone";

/** A silence, as the answers about an alert list it. */
export interface SilenceSummary {
  id: string;
  comment: string;
  /** Unix milliseconds. */
  endsAt: number;
  matchExpressions: readonly SilenceExpression[];
}

/** What silences hold back of an alert. */
export interface SilenceCover {
  /** `endsAt` is in Unix milliseconds. */
  silences: { id: string; endsAt: number }[];
  /** Some silence covers the alert whatever labels its instances have. */
  isWhole: boolean;
  /** Number of the given instances that a silence covers. */
  instances: number;
}

export class Notifier {
  readonly outbox: Outbox;
  #silences = new SilencesByAlert([]);
  readonly #options: NotifierOptions;

  constructor(options: NotifierOptions) {
    const { state, metrics, now, elapsed, log, store } = options;
    this.#options = options;
    this.outbox = new Outbox({
      state,
      now,
      elapsed,
      random: Math.random,
      senders: makeSenders(options, (uuid) => this.isWebhookOff(uuid)),
      isGroupedWebhook: (uuid) => options.sources.webhook(uuid)?.value.groupInstances === true,
      routeOf: options.sources.route,
      findHold: (event) => this.#findHold(event),
      onGivenUp: (message, notifications) => {
        log("error", message);
        store.append("logs", [makeGivenUpRow(message, notifications, now())]).catch((error: unknown) => {
          log("error", `that a notification was given up is not in the logs: ${String(error)}`);
        });
      },
      metrics,
      log,
    });
    const help = "1 where notifications wait, for the data folder was made of a backup.";
    metrics.gauge("svc_notifications_held", help, () => Number(options.holdsNotifications));
  }

  /** Starts to send notifications, unless they wait. */
  async run(): Promise<void> {
    await this.#readSilences();
    if (!this.#options.holdsNotifications) this.outbox.run();
  }

  /** Reads all silences once in turns: the first one who asks for them would otherwise read them in one. */
  async #readSilences(): Promise<void> {
    const turns = new Turns();
    for (const { value } of this.#options.sources.silences()) {
      if (turns.isOver) await turns.next();
      void value;
    }
  }

  /** Waits for the notifications that are being sent, but not long: after a start they are sent again. */
  async close(): Promise<void> {
    await Promise.race([this.outbox.close(), sleep(closeMsMax, undefined, { ref: false })]);
  }

  /** The id of the silence that covers an instance of an alert now. */
  silencedBy(instance: AlertInstance): string | undefined {
    return this.#silenceOf(instance)?.id;
  }

  #silenceOf(instance: AlertInstance): StoredSilence | undefined {
    const { now, canSilence } = this.#options;
    return this.#silencesAbout(instance.alertId).find(({ value: { value, updatedBy } }) => {
      return isSilenced(value, instance, now()) && canSilence(updatedBy, instance.alertId, instance.labels);
    });
  }

  /** The actions that report a fire: the rule's own, and those of the routes that take it. */
  actionsFor(fire: RoutedFire, own: readonly Action[]): RoutedAction[] {
    return findActions(fire, own, unwrap(this.#options.sources.routes()));
  }

  /**
   * What holds a fire back now: the id of a silence, or `inhibition/` and the id of the inhibition by which one of the
   * open fires does.
   */
  heldBy(fire: RoutedFire, openFires: () => readonly RoutedFire[]): string | undefined {
    return this.silencedBy(fire) ?? this.#inhibitedBy(fire, openFires);
  }

  #inhibitedBy(fire: RoutedFire, openFires: () => readonly RoutedFire[]): string | undefined {
    const id = findInhibition(fire, unwrap(this.#options.sources.inhibitions()), openFires);
    return id === undefined ? undefined : `inhibition/${id}`;
  }

  /** What holds a message back as it is to be sent. Inhibitions hold fires alone, not that an alert is not judged. */
  #findHold(event: NotificationEvent): Hold | undefined {
    const silence = this.#silenceOf(event);
    if (silence !== undefined) return { id: silence.id, endsAtMs: silence.value.value.endsAt };
    if (event.type !== "alertFired") return undefined;
    const id = this.#inhibitedBy(event, this.#options.sources.openFires);
    return id === undefined ? undefined : { id, endsAtMs: null };
  }

  /** The silences that are in force now and may cover some or all instances of an alert. */
  silencesOf(alertId: string): SilenceSummary[] {
    const nowMs = this.#options.now();
    return this.#silencesAbout(alertId).flatMap(({ id, value }) => {
      const { match, ...silence } = value.value;
      if (!isSilenced(silence, { alertId, labels: {} }, nowMs)) return [];
      const { comment = "", endsAt } = silence;
      return [{ id, comment, endsAt, matchExpressions: match?.matchExpressions ?? [] }];
    });
  }

  /**
   * The silences that hold now for an alert: those that cover all instances that it may have, and those that cover one
   * of these instances.
   */
  coverOf(alertId: string, instances: readonly Readonly<Record<string, string>>[]): SilenceCover {
    const nowMs = this.#options.now();
    const { canSilence } = this.#options;
    const silenced = new Set<object>();
    const cover: SilenceCover = { silences: [], isWhole: false, instances: 0 };
    for (const { id, value: stored } of this.#silencesAbout(alertId)) {
      const { value: silence, updatedBy } = stored;
      const { match, ...everywhere } = silence;
      if (!isSilenced(everywhere, { alertId, labels: {} }, nowMs)) continue;
      const isWhole = match === undefined && canSilence(updatedBy, alertId);
      const covered = instances.filter(
        (labels) => isSilenced(silence, { alertId, labels }, nowMs) && canSilence(updatedBy, alertId, labels),
      );
      for (const labels of covered) silenced.add(labels);
      if (!isWhole && covered.length === 0) continue;
      cover.isWhole ||= isWhole;
      cover.silences.push({ id, endsAt: silence.endsAt });
    }
    return { ...cover, instances: silenced.size };
  }

  /** The silences that may cover instances of an alert at some time. */
  #silencesAbout(alertId: string): readonly StoredSilence[] {
    const silences = this.#options.sources.silences();
    if (this.#silences.list !== silences) this.#silences = new SilencesByAlert(silences);
    return this.#silences.about(alertId);
  }

  /** Sentences about the actions of an alert that cannot be delivered, as the server is set up now. */
  undeliverable(alert: Alert, path: string): string[] {
    const { slackToken, email, pagerDutyKeys } = this.#options.notify;
    return warnUndeliverable(alert, path, {
      hasSlackToken: slackToken !== undefined,
      hasMailServer: email !== undefined,
      pagerDutyServices: new Set(Object.keys(pagerDutyKeys)),
      isWebhookOff: (uuid) => this.isWebhookOff(uuid),
    });
  }

  /** Whether the receiver of a webhook answered 410, and the webhook was not saved since. */
  isWebhookOff(uuid: string): boolean {
    const { state, sources } = this.#options;
    const goneRevision = state.get(goneTable, uuid);
    return goneRevision !== undefined && goneRevision === sources.webhook(uuid)?.revision;
  }

  /** Sends a test message. Closes the PagerDuty incident that it opens. */
  async test(tested: TestedAlert, action: Action): Promise<Outcome> {
    const nowMs = this.#options.now();
    const event = makeTestEvent(tested, nowMs);
    const outcome = await this.outbox.test(event, action);
    if (action.type !== "pagerDuty" || outcome.kind !== "delivered") return outcome;
    const end = { id: crypto.randomUUID(), type: "alertResolved", resolvedAtMs: nowMs } as const;
    return this.outbox.test({ ...event, ...end, reason: "recovered" }, action);
  }
}

function unwrap<T>(stored: readonly { id: string; value: { value: T } }[]): { id: string; value: T }[] {
  return stored.map(({ id, value: { value } }) => ({ id, value }));
}

function makeSenders(
  { sources, state, notify, log }: NotifierOptions,
  isOff: (uuid: string) => boolean,
): Senders {
  const { publicUrl, slackToken, slackUrl, email, pagerDutyKeys, pagerDutyUrl } = notify;
  const guard = new AddressGuard(notify.allowedNetworks);
  return {
    slack: slackSender({ guard, publicUrl, botToken: slackToken, apiUrl: slackUrl }),
    email: emailSender(email && { ...email, publicUrl }),
    pagerDuty: pagerDutySender({
      guard,
      publicUrl,
      routingKeys: pagerDutyKeys,
      eventsUrl: pagerDutyUrl,
    }),
    webhook: webhookSender({
      guard,
      publicUrl,
      webhookOf: (id) => sources.webhook(id),
      mayReceive: sources.mayReceive,
      readSecret: sources.secret,
      isOff,
      onGone: (id) => {
        const value = sources.webhook(id)?.revision;
        // Those that were deleted since are forgotten.
        const deleted = state.list(goneTable).filter(({ id: other }) => sources.webhook(other) === undefined);
        const changes = [...deleted.map((each) => each.id), id].map((each) => {
          return { table: goneTable, id: each, value: each === id ? value : undefined };
        });
        state.write(changes).catch((error: unknown) => {
          log("error", `webhook ${id}: that it is gone cannot be stored: ${String(error)}`);
        });
      },
    }),
  };
}

/** Makes a log row of notifications that were given up, so that people can search it and alert on it. */
function makeGivenUpRow(message: string, [first, ...others]: readonly Notification[], nowMs: number): LogRow {
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

/** What a test message says of the alert. */
export type TestedAlert = Pick<
  AlertEvent,
  "alertId" | "alertName" | "alertDescription" | "rule" | "query" | "bucketSeconds"
>;

function makeTestEvent(tested: TestedAlert, nowMs: number): AlertEvent {
  return {
    ...tested,
    id: crypto.randomUUID(),
    type: "alertFired",
    alertName: `[test] ${tested.alertName}`,
    fireId: crypto.randomUUID(),
    labels: {},
    firedAtMs: nowMs,
    breached: { bucketMs: nowMs - tested.bucketSeconds * 1000, value: 0 },
    late: false,
  };
}

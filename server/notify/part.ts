/** The part that sends notifications of alerts to the destinations of their actions. */

import { labelValues } from "../access/row-selection.ts";
import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StoragePart } from "../storage/part.ts";
import { Notifier, type NotifySettings } from "./notifier.ts";
import { notificationRoutes } from "./routes.ts";
import type { RoutedFire } from "./routing.ts";
import type { ReadSecret } from "./senders/webhook.ts";

export interface NotifyPartSettings {
  /** How notifications are sent. Without it, they are sent only to webhooks at public addresses. */
  notify?: Partial<NotifySettings>;
  log: (level: "warn" | "error", message: string) => void;
}

export interface NotifyPart extends Part {
  notifier: Notifier;
}

/** What other parts know. They are asked once this part runs. */
export interface NotifyKnowledge {
  secret: ReadSecret;
  /** The open fires of all alerts: the same list until one of them changes. */
  openFires: () => readonly RoutedFire[];
}

/** `ownUrl`: the URL that the server listens at, for links where no public URL is configured. */
export function notifyPart(
  { notify, log }: NotifyPartSettings,
  ownUrl: string,
  { store, state, holdsNotifications }: StoragePart,
  { collections: { webhooks, silences, routes, inhibitions }, scope, visibility, mayReceive }: ControlPart,
  metrics: Metrics,
  { secret, openFires }: NotifyKnowledge,
): NotifyPart {
  const notifier = new Notifier({
    store,
    state,
    metrics,
    log,
    holdsNotifications,
    now: Date.now,
    elapsed: () => performance.now(),
    canSilence: (caller, alertId, labels = {}) => scope.canSilence(caller, alertId, labelValues(labels)),
    notify: { publicUrl: ownUrl, allowedNetworks: [], pagerDutyKeys: {}, ...notify },
    sources: {
      webhook: (id) => webhooks.get(id),
      mayReceive,
      silences: () => silences.list(),
      secret,
      routes: () => routes.list(),
      route: (id) => routes.get(id)?.value,
      inhibitions: () => inhibitions.list(),
      openFires,
    },
  });
  return {
    notifier,
    routes: notificationRoutes(notifier, visibility),
    run: () => notifier.run(),
    close: () => notifier.close(),
  };
}

/** The part that evaluates alerts over the store, with the rights of whoever saved them. */

import { join } from "node:path";
import type { Visibility } from "../access/alert-visibility.ts";
import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { NotifyPart } from "../notify/part.ts";
import type { StoragePart } from "../storage/part.ts";
import { Alerting, type AlertTiming } from "./alerting.ts";
import { AliveFile } from "./alive-file.ts";
import type { Evaluator } from "./evaluator.ts";
import type { InvestigationRequests } from "./investigation-requests.ts";
import { alertRoutes } from "./routes/alert-routes.ts";

export interface AlertsSettings {
  dataDir: string;
  queryMemoryBytes: number;
  alertTiming?: AlertTiming;
  log: (level: "warn" | "error", message: string) => void;
}

export interface AlertsPart extends Part {
  evaluator: Evaluator;
  investigationRequests: InvestigationRequests;
  visibility: Visibility;
}

export function alertsPart(
  { dataDir, queryMemoryBytes, alertTiming, log }: AlertsSettings,
  { store, state }: StoragePart,
  { collections: { alerts, routes }, storeOnBehalf, visibility }: ControlPart,
  { notifier }: NotifyPart,
  metrics: Metrics,
): AlertsPart {
  const aliveMark = new AliveFile(join(dataDir, "alive"));
  const alerting = new Alerting({
    store,
    state,
    metrics,
    log,
    queryMemoryBytes,
    aliveMark,
    timing: alertTiming,
    now: Date.now,
    storeFor: storeOnBehalf,
    subscribers: [notifier.outbox],
    repeats: { outbox: notifier.outbox, routeOf: (id) => routes.get(id)?.value },
    holds: {
      silencedBy: (fire, openFires) => notifier.heldBy(fire, openFires),
      actionsFor: (fire, own) => notifier.actionsFor(fire, own),
      actionsForEvent: (event, own) => notifier.actionsFor(event, own),
    },
    sources: { alerts: () => alerts.list(), alertCount: () => alerts.size },
  });
  return {
    evaluator: alerting.evaluator,
    investigationRequests: alerting.investigationRequests,
    visibility,
    routes: alertRoutes({ alerting, notifier, visibility }),
    run: () => alerting.run(),
    close: async () => {
      await alerting.close();
      aliveMark.close();
    },
  };
}

/** The part of the server that investigates: what fires, and what people ask about. */

import type { AlertsPart } from "../alerts/part.ts";
import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { NotifyPart } from "../notify/part.ts";
import type { SearchPart } from "../search/part.ts";
import type { StoragePart } from "../storage/part.ts";
import { FireInvestigator } from "./fire-investigator.ts";
import { type Investigate, type InvestigateFires, investigate, investigateFires } from "./investigate.ts";
import type { ModelSettings } from "./narrative/chat-client.ts";
import { Narration } from "./narrative/narration.ts";
import { makeNarrator } from "./narrative/narrator.ts";
import { InvestigationRecords } from "./records.ts";
import { investigationRoutes } from "./routes.ts";

export interface InvestigateSettings {
  log: (level: "warn" | "error", message: string) => void;
  /** The language model that writes about investigations; none where absent. */
  model?: ModelSettings;
}

/** Parts that the investigator builds on. */
export interface InvestigateDependencies {
  storage: StoragePart;
  control: ControlPart;
  notify: NotifyPart;
  alerts: AlertsPart;
  search: SearchPart;
  metrics: Metrics;
}

export function investigatePart(
  { log, model }: InvestigateSettings,
  { storage: { store, state }, control, notify, alerts, search, metrics }: InvestigateDependencies,
): Part {
  const { scope, visibility, storeOnBehalf, collections } = control;
  const records = new InvestigationRecords(state);
  const { byHand, ofFires } = makeInvestigations(model, metrics, log);
  const investigator = new FireInvestigator({
    ...{ state, records, requests: alerts.investigationRequests, outbox: notify.notifier.outbox },
    fireOf: (alertId, fireId) => alerts.evaluator.fireOf(alertId, fireId),
    saverOf: (alertId) => collections.alerts.get(alertId)?.updatedBy,
    readsSame: (one, other) => scope.canReadAllOf(one, other) && scope.canReadAllOf(other, one),
    storeFor: (caller) => storeOnBehalf(store, caller),
    ...{ investigate: ofFires, now: Date.now, log },
  });
  const help = "Fires that wait for their investigation, or have one now.";
  metrics.gauge("svc_investigations_waiting", help, () => investigator.waiting);
  metrics.read(
    "gauge",
    "svc_investigations",
    "Investigations that are kept, by verdict and by what people say.",
    () => {
      const counts = Map.groupBy(records.list(), ({ investigation: { answer, feedback } }) =>
        JSON.stringify([answer?.verdict ?? "failed", feedback?.verdict ?? "none"]),
      );
      return [...counts].map(([key, { length }]) => {
        const [verdict, feedback] = JSON.parse(key) as [string, string];
        return [{ verdict, feedback }, length];
      });
    },
  );
  return {
    routes: investigationRoutes({
      ...{ searches: search.searches, records, investigate: byHand, now: Date.now },
      canReadAllOf: (caller, other) => scope.canReadAllOf(caller, other),
      firesIn: ({ startMs, endMs }, caller) =>
        alerts.evaluator
          .firesBetween(startMs, endMs)
          .filter(({ alertId }) => visibility.alertOf(alertId, caller)?.isWhole === true),
      seesAlert: (alertId, caller) => visibility.alertOf(alertId, caller) !== undefined,
    }),
    run: () => investigator.run(),
    close: () => investigator.close(),
  };
}

function makeInvestigations(
  model: ModelSettings | undefined,
  metrics: Metrics,
  log: InvestigateSettings["log"],
): { byHand: Investigate; ofFires: InvestigateFires } {
  if (model === undefined) return { byHand: investigate, ofFires: investigateFires };
  const help = "Answers of investigations that a language model was asked to write about, by how that ended.";
  const counter = metrics.counter("svc_investigation_narratives_total", help);
  const narration = new Narration({ narrate: makeNarrator(model), counter, log });
  return { byHand: narration.of(investigate), ofFires: narration.ofFires(investigateFires) };
}

/** An investigator of fires with a real outbox, over any state; what it investigates with is told by the test. */

import type { State } from "../../../engine/index.ts";
import { InvestigationRequests } from "../../../server/alerts/investigation-requests.ts";
import type { Fire } from "../../../server/alerts/state/fire.ts";
import { FireInvestigator } from "../../../server/investigate/fire-investigator.ts";
import { InvestigationRecords } from "../../../server/investigate/records.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import type { Action } from "../../../server/model/alert.ts";
import type { Caller } from "../../../server/model/caller.ts";
import type { InvestigationAnswer } from "../../../server/model/investigation.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import { Outbox } from "../../../server/notify/outbox.ts";
import type { Delivery, Outcome } from "../../../server/notify/senders/sender.ts";
import { fired, firedAtMs, hook } from "../notify/events.ts";

export const saver: Caller = { tokenId: "t", name: "ada", role: "admin", groups: null, environment: null };

/** A fire whose people were notified. */
export function makeFire(alertId: string, afterMs = 0, changes: Partial<Fire> = {}): Fire {
  const { type: _, fireId: __, late: ___, ...facts } = fired(alertId);
  return {
    ...facts,
    ...{
      id: stableId("fire", alertId, afterMs),
      alertId,
      alertName: alertId,
      firedAtMs: firedAtMs + afterMs,
    },
    ...{ labels: {}, resolvedAtMs: null, reason: null, told: "yes", silencedBy: null },
    actions: [hook(`hook-${alertId}`)],
    ...changes,
  };
}

export function makeAnswer(verdict: InvestigationAnswer["verdict"]): InvestigationAnswer {
  const evidence = [{ id: "1.1", sentence: "cart logs errors", query: "logs{}" }];
  const suspect = { service: "/k8s/shop/cart", kind: "code", confidence: 0.9, score: 0.9, evidence } as const;
  return {
    ...{ verdict, summary: "cart is the likely cause", suspects: [{ ...suspect, evidence: [...evidence] }] },
    ...{ timeline: [], affected: [], normal: [], nextSteps: [], ms: 1 },
    read: { spans: 1, logs: 1, series: 0, resources: 0 },
  };
}

export interface Rig {
  investigator: FireInvestigator;
  requests: InvestigationRequests;
  records: InvestigationRecords;
  outbox: Outbox;
  logged: string[];
}

export interface RigOptions {
  state: State;
  fires: ReadonlyMap<string, Fire>;
  now: () => number;
  investigate(): Promise<InvestigationAnswer>;
  send(delivery: Delivery): Promise<Outcome>;
  saverOf?: (alertId: string) => Caller | undefined;
  readsSame?: (one: Caller, other: Caller) => boolean;
}

export function openRig(options: RigOptions): Rig {
  const { state, fires, now, investigate, send } = options;
  const logged: string[] = [];
  const records = new InvestigationRecords(state);
  const requests = new InvestigationRequests(state);
  const senders = { webhook: send, slack: send, email: send, pagerDuty: send };
  const outbox = new Outbox({
    ...{
      state,
      now,
      elapsed: now,
      random: Math.random,
      senders,
      isGroupedWebhook: () => false,
      routeOf: () => undefined,
      metrics: new Metrics(),
    },
    ...{ findHold: () => undefined, onGivenUp: () => undefined, log: (_, text) => logged.push(text) },
  });
  const investigator = new FireInvestigator({
    ...{ state, records, requests, outbox, now },
    investigate: async (_, window) => ({ window, answer: await investigate() }),
    fireOf: (_, fireId) => fires.get(fireId),
    saverOf: options.saverOf ?? (() => saver),
    readsSame: options.readsSame ?? (() => true),
    storeFor: () => ({}) as never,
    log: (_, text) => logged.push(text),
  });
  return { investigator, requests, records, outbox, logged };
}

/** Stores requests for fires, as the evaluator does with the fires. */
export async function request(state: State, { requests }: Rig, fires: readonly Fire[]): Promise<void> {
  const alert = { investigateOnFire: true } as never;
  const firstSeen = fires.map((fire) => ({ fire, alert }));
  const prepared = requests.prepare({ nowMs: firedAtMs, messages: [], firstSeen });
  await state.write([...prepared.changes]);
  prepared.stored();
}

export type SentTo = { uuid: string; id: string; fireId: string };

export function sentTo({ action, events: [event], id }: Delivery<Action>): SentTo {
  const uuid = action.type === "webhook" ? action.webhookDestination.uuid : action.type;
  return { uuid, id, fireId: event!.fireId };
}

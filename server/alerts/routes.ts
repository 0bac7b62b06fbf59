/** What alerts do and tell, over HTTP: their states, fires and evaluations, and the notifications that came of them. */

import * as z from "zod";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Caller, Permission } from "../model/caller.ts";
import type { Action } from "../model/event.ts";
import { destinationName } from "../notify/destination.ts";
import type { Notification } from "../notify/notification.ts";
import type { Outcome } from "../notify/sender.ts";
import type { Alerting } from "./alerting.ts";
import type { Alert } from "./state/alert-definition.ts";
import type { Fire } from "./state/fire.ts";

/** What a caller may see and do of alerts and webhooks; undefined where there is none of the id, or none that is seen. */
export interface AlertSight {
  alertOf: (id: string, caller: Caller) => SeenAlert | undefined;
  webhookOf: (id: string, caller: Caller) => { mayTell: boolean } | undefined;
}

interface SeenAlert {
  alert: Alert;
  /** Messages of it may be sent by hand. */
  mayTell: boolean;
  /** The caller reads all that the alert does. Others must not learn the labels and values that it found. */
  isWhole: boolean;
}

export interface AlertRoutesOptions extends AlertSight {
  alerting: Alerting;
}

const deadlineMs = 60_000;
const listedMax = 1_000;

export function alertRoutes(options: AlertRoutesOptions): Route[] {
  return [...statusRoutes(options), ...notificationRoutes(options), ...testRoutes(options)];
}

function found({ alertOf }: AlertSight, { params, caller }: ServerRequest): SeenAlert {
  const seen = alertOf(params.id!, caller);
  if (seen !== undefined) return seen;
  throw new Refusal(404, `there is no alert ${JSON.stringify(params.id!.slice(0, 100))}`);
}

function statusRoutes({ alerting, ...sight }: AlertRoutesOptions): Route[] {
  const { evaluator } = alerting;
  const ofAlert = (
    part: string,
    summary: string,
    give: (id: string, isWhole: boolean) => Record<string, unknown>,
  ) =>
    route("GET", `/api/v1/alerts/{id}/${part}`, "search", summary, "alerts", async (request) => {
      const { alert, isWhole } = found(sight, request);
      const note = isWhole ? {} : { warnings: [notWhole] };
      return jsonReply({ ...give(alert.metadata.id, isWhole), ...note });
    });
  return [
    ofAlert("state", "The state of an alert, of its rules and instances", (id, isWhole) =>
      stateReply(alerting, id, isWhole),
    ),
    ofAlert("fires", "The fires of an alert, the newest first", (id, isWhole) => ({
      fires: evaluator.fires(id).map((fire) => fireReply(fire, isWhole)),
    })),
    ofAlert("history", "The transitions of an alert's instances, the newest first", (id, isWhole) => ({
      transitions: isWhole ? evaluator.history(id) : [],
    })),
    ofAlert(
      "evaluations",
      "The last evaluations of an alert and why they ended as they did",
      (id, isWhole) => ({
        evaluations: isWhole ? evaluator.evaluations(id) : [],
      }),
    ),
  ];
}

const notWhole =
  "whoever saved this alert reads rows that you may not: what it found in them (labels, values, instances) is left out";

function notificationRoutes({ alerting: { outbox }, alertOf }: AlertRoutesOptions): Route[] {
  const tag = "notifications";
  /** Notifications of an alert that has gone are for those who may see all. */
  const isVisible = (alertId: string, caller: Caller) =>
    caller.role === "admin" || alertOf(alertId, caller) !== undefined;
  const visible = (caller: Caller) => outbox.list().filter(({ event }) => isVisible(event.alertId, caller));
  return [
    route(
      "GET",
      "/api/v1/notifications",
      "search",
      "Notifications, the newest first",
      tag,
      async ({ caller }) =>
        jsonReply({ notifications: visible(caller).slice(0, listedMax).map(notificationReply) }),
    ),
    route(
      "POST",
      "/api/v1/notifications/{id}/resend",
      "notify",
      "Sends a notification again",
      tag,
      async ({ params, caller }) => {
        const id = params.id!;
        const known = visible(caller).find((each) => each.id === id);
        if (known === undefined)
          throw new Refusal(404, `there is no notification ${JSON.stringify(id.slice(0, 100))}`);
        const seen = alertOf(known.event.alertId, caller);
        refuseUnless(seen === undefined ? caller.role === "admin" : seen.mayTell);
        await outbox.resend(id);
        return jsonReply({ id });
      },
    ),
  ];
}

function testRoutes({ alerting, ...sight }: AlertRoutesOptions): Route[] {
  return [
    route(
      "POST",
      "/api/v1/alerts/{id}/test-notification",
      "notify",
      "Sends a test message to all that an alert tells",
      "alerts",
      async (request) => {
        const { alert, mayTell } = found(sight, request);
        refuseUnless(mayTell);
        const actions = alert.timeseries.evaluationRules.flatMap((rule) => rule.actions ?? []);
        const results = await Promise.all(
          actions.map(async (action) => ({
            type: action.type,
            ...outcomeReply(await alerting.test(alert, action)),
          })),
        );
        return jsonReply({ results });
      },
    ),
    route(
      "POST",
      "/api/v1/webhooks/{id}/test",
      "notify",
      "Sends a test message to a webhook",
      "webhooks",
      async ({ params, caller }) => {
        const uuid = params.id!;
        const seen = sight.webhookOf(uuid, caller);
        if (seen === undefined)
          throw new Refusal(404, `there is no webhook ${JSON.stringify(uuid.slice(0, 100))}`);
        refuseUnless(seen.mayTell);
        const action: Action = { type: "webhook", webhookDestination: { uuid } };
        return jsonReply(outcomeReply(await alerting.test(exampleAlert, action)));
      },
    ),
  ];
}

/** Throws Refusal 403. */
function refuseUnless(mayTell: boolean): void {
  if (mayTell) return;
  throw new Refusal(
    403,
    "sending messages takes the role editor or admin, or a rule that lets you update what is managed",
  );
}

function route(
  method: "GET" | "POST",
  path: string,
  permission: Permission,
  summary: string,
  tag: string,
  answer: (request: ServerRequest) => Promise<Reply>,
): Route {
  const errors = path.includes("{") ? [404] : [];
  return {
    method,
    path,
    permission,
    body: null,
    deadlineMs,
    description: { summary, tag, response: z.looseObject({}), errors },
    answer,
  };
}

function stateReply(alerting: Alerting, id: string, isWhole: boolean) {
  const known = alerting.evaluator.stateOf(id);
  const { state, error, details } = known ?? { state: "noData", error: null, details: null };
  const throughMs = details?.throughMs ?? null;
  const health = error !== null ? "error" : throughMs === null ? "unknown" : "ok";
  const silences = alerting.silencesOf(id);
  // An error and silences may name labels.
  if (!isWhole) {
    const problem = error && "the query failed";
    return { state, health, error: problem, evaluatedThrough: throughMs, silences: [], instances: [] };
  }
  const instances = Object.values(details?.instances ?? {}).map(({ labels, rules }) => ({
    labels,
    rules: Object.entries(rules).map(([rule, { state: one, sinceMs, fire }]) => {
      return { rule, state: one, since: sinceMs, fireId: fire?.id ?? null };
    }),
    silencedBy: alerting.silencedBy({ alertId: id, labels }) ?? null,
  }));
  return { state, health, error, evaluatedThrough: throughMs, silences, instances };
}

function fireReply(fire: Fire, isWhole: boolean) {
  const { id, rule, labels, firedAtMs, resolvedAtMs, reason, breached, told, silencedBy } = fire;
  return {
    fireId: id,
    rule,
    labels: isWhole ? labels : {},
    firedAt: firedAtMs,
    resolvedAt: resolvedAtMs,
    reason,
    breachingDatapoint: isWhole ? { time: breached.bucketMs, value: breached.value } : null,
    told,
    silencedBy,
  };
}

/** Without what an action may hold that is secret: a routing key, the URL of an incoming webhook. */
function notificationReply(notification: Notification) {
  const { id, action, event, createdAtMs, status, tries, nextAtMs, endedAtMs, problem } = notification;
  return {
    ...{ id, type: event.type, alertId: event.alertId, alertName: event.alertName, fireId: event.fireId },
    destination: { type: action.type, name: destinationName(action) },
    ...{ createdAt: createdAtMs, status, tries, nextTryAt: status === "waiting" ? nextAtMs : null },
    ...{ endedAt: endedAtMs, problem },
  };
}

function outcomeReply(outcome: Outcome): { delivered: boolean; problem: string | null } {
  return outcome.kind === "delivered"
    ? { delivered: true, problem: null }
    : { delivered: false, problem: outcome.problem };
}

const exampleAlert: Alert = {
  metadata: { id: "example", name: "example", description: "A test of this webhook" },
  timeseries: {
    expression: { svcQLTimeseries: { query: 'count(logs{log_level="error"})', bucketSize: 60 } },
    evaluationRules: [],
  },
};

/** What alerts do and tell, over HTTP: their states, fires and evaluations, and the notifications that came of them. */

import * as z from "zod";
import type { Action } from "./alert-event.ts";
import type { Alerting } from "./alerting.ts";
import type { Alert } from "./alerts/alert.ts";
import type { Fire } from "./alerts/fire.ts";
import { destinationName } from "./notify/destination.ts";
import type { Notification } from "./notify/notification.ts";
import type { Outcome } from "./notify/sender.ts";
import type { Caller, Permission, Reply, Route, ServerRequest } from "./route.ts";
import { jsonReply, Refusal } from "./route.ts";

export interface AlertRoutesOptions {
  alerting: Alerting;
  /** Undefined where there is none of that id, or none that this caller may see. */
  alertOf: (id: string, caller: Caller) => Alert | undefined;
  isWebhook: (id: string, caller: Caller) => boolean;
}

const deadlineMs = 60_000;
const listedMax = 1_000;

export function alertRoutes({ alerting, alertOf, isWebhook }: AlertRoutesOptions): Route[] {
  const found = ({ params, caller }: ServerRequest): Alert => {
    const alert = alertOf(params.id!, caller);
    if (alert === undefined)
      throw new Refusal(404, `there is no alert ${JSON.stringify(params.id!.slice(0, 100))}`);
    return alert;
  };
  const { evaluator, outbox } = alerting;
  const ofAlert = (
    part: string,
    summary: string,
    give: (id: string, alert: Alert) => Record<string, unknown>,
  ) =>
    route("GET", `/api/v1/alerts/{id}/${part}`, "search", summary, "alerts", async (request) => {
      const alert = found(request);
      return jsonReply(give(alert.metadata.id, alert));
    });
  const visible = (caller: Caller) =>
    outbox.list().filter(({ event: { alertId } }) => isVisible(alertOf(alertId, caller), caller));
  return [
    ofAlert("state", "The state of an alert, of its rules and instances", (id) => stateReply(alerting, id)),
    ofAlert("fires", "The fires of an alert, the newest first", (id) => ({
      fires: evaluator.fires(id).map(fireReply),
    })),
    ofAlert("history", "The transitions of an alert's instances, the newest first", (id) => ({
      transitions: evaluator.history(id),
    })),
    ofAlert("evaluations", "The last evaluations of an alert and why they ended as they did", (id) => ({
      evaluations: evaluator.evaluations(id),
    })),
    route(
      "GET",
      "/api/v1/notifications",
      "search",
      "Notifications, the newest first",
      "notifications",
      async ({ caller }) => {
        return jsonReply({ notifications: visible(caller).slice(0, listedMax).map(notificationReply) });
      },
    ),
    route(
      "POST",
      "/api/v1/notifications/{id}/resend",
      "configure",
      "Sends a notification again",
      "notifications",
      async (request) => {
        const id = request.params.id!;
        const known = visible(request.caller).find((each) => each.id === id);
        if (known === undefined)
          throw new Refusal(404, `there is no notification ${JSON.stringify(id.slice(0, 100))}`);
        await outbox.resend(id);
        return jsonReply({ id });
      },
    ),
    route(
      "POST",
      "/api/v1/alerts/{id}/test-notification",
      "configure",
      "Sends a test message to all that an alert tells",
      "alerts",
      async (request) => {
        const alert = found(request);
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
      "configure",
      "Sends a test message to a webhook",
      "webhooks",
      async ({ params, caller }) => {
        const uuid = params.id!;
        if (!isWebhook(uuid, caller))
          throw new Refusal(404, `there is no webhook ${JSON.stringify(uuid.slice(0, 100))}`);
        const action: Action = { type: "webhook", webhookDestination: { uuid } };
        return jsonReply(outcomeReply(await alerting.test(exampleAlert, action)));
      },
    ),
  ];
}

/** Notifications of an alert that has gone are for those who may see all. */
function isVisible(alert: Alert | undefined, caller: Caller): boolean {
  return alert !== undefined || caller.role === "admin";
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

function stateReply(alerting: Alerting, id: string) {
  const known = alerting.evaluator.stateOf(id);
  if (known === undefined)
    return {
      state: "noData",
      health: "unknown",
      error: null,
      evaluatedThrough: null,
      silences: [],
      instances: [],
    };
  const { state, error, details } = known;
  const health = error !== null ? "error" : details.throughMs === null ? "unknown" : "ok";
  const instances = Object.values(details.instances).map(({ labels, rules }) => ({
    labels,
    rules: Object.entries(rules).map(([rule, { state: one, sinceMs, fire }]) => {
      return { rule, state: one, since: sinceMs, fireId: fire?.id ?? null };
    }),
    silencedBy: alerting.silencedBy({ alertId: id, labels }) ?? null,
  }));
  const silences = alerting.silencesOf(id);
  return { state, health, error, evaluatedThrough: details.throughMs, silences, instances };
}

function fireReply(fire: Fire) {
  const { id, rule, labels, firedAtMs, resolvedAtMs, reason, breached, told, silencedBy } = fire;
  return {
    fireId: id,
    rule,
    labels,
    firedAt: firedAtMs,
    resolvedAt: resolvedAtMs,
    reason,
    breachingDatapoint: { time: breached.bucketMs, value: breached.value },
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

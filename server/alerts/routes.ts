/** What alerts do and tell, over HTTP: their states, fires and evaluations, and the notifications that came of them. */

import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Caller } from "../model/caller.ts";
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

const shared = { deadlineMs: 60_000, response: z.looseObject({}) } as const;
const listedMax = 1_000;

export function alertRoutes(options: AlertRoutesOptions): Route[] {
  return [...statusRoutes(options), ...notificationRoutes(options), ...testRoutes(options)];
}

function found({ alertOf }: AlertSight, id: string, caller: Caller): SeenAlert {
  const seen = alertOf(id, caller);
  if (seen !== undefined) return seen;
  throw unknown("alert", id);
}

function unknown(kind: string, id: string): Refusal {
  return new Refusal(404, `there is no ${kind} ${JSON.stringify(id.slice(0, 100))}`);
}

function statusRoutes({ alerting, ...sight }: AlertRoutesOptions): Route[] {
  const { evaluator } = alerting;
  const ofAlert = (
    part: string,
    summary: string,
    give: (id: string, isWhole: boolean) => Record<string, unknown>,
  ) =>
    defineRoute({
      ...shared,
      method: "GET",
      path: `/api/v1/alerts/{id}/${part}`,
      permission: "search",
      summary,
      tag: "alerts",
      errors: [404],
      handle: async ({ params, caller }) => {
        const { alert, isWhole } = found(sight, params.id, caller);
        const note = isWhole ? {} : { warnings: [notWhole] };
        return { ...give(alert.metadata.id, isWhole), ...note };
      },
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
    defineRoute({
      ...shared,
      method: "GET",
      path: "/api/v1/notifications",
      permission: "search",
      summary: "Notifications, the newest first",
      tag,
      handle: async ({ caller }) => ({
        notifications: visible(caller).slice(0, listedMax).map(notificationReply),
      }),
    }),
    defineRoute({
      ...shared,
      method: "POST",
      path: "/api/v1/notifications/{id}/resend",
      permission: "notify",
      summary: "Sends a notification again",
      tag,
      errors: [404],
      handle: async ({ params: { id }, caller }) => {
        const known = visible(caller).find((each) => each.id === id);
        if (known === undefined) throw unknown("notification", id);
        const seen = alertOf(known.event.alertId, caller);
        refuseUnless(seen === undefined ? caller.role === "admin" : seen.mayTell);
        await outbox.resend(id);
        return { id };
      },
    }),
  ];
}

function testRoutes({ alerting, ...sight }: AlertRoutesOptions): Route[] {
  return [
    defineRoute({
      ...shared,
      method: "POST",
      path: "/api/v1/alerts/{id}/test-notification",
      permission: "notify",
      summary: "Sends a test message to all that an alert tells",
      tag: "alerts",
      errors: [404],
      handle: async ({ params, caller }) => {
        const { alert, mayTell } = found(sight, params.id, caller);
        refuseUnless(mayTell);
        const actions = alert.timeseries.evaluationRules.flatMap((rule) => rule.actions ?? []);
        const results = await Promise.all(
          actions.map(async (action) => ({
            type: action.type,
            ...outcomeReply(await alerting.test(alert, action)),
          })),
        );
        return { results };
      },
    }),
    defineRoute({
      ...shared,
      method: "POST",
      path: "/api/v1/webhooks/{id}/test",
      permission: "notify",
      summary: "Sends a test message to a webhook",
      tag: "webhooks",
      errors: [404],
      handle: async ({ params: { id }, caller }) => {
        const seen = sight.webhookOf(id, caller);
        if (seen === undefined) throw unknown("webhook", id);
        refuseUnless(seen.mayTell);
        const action: Action = { type: "webhook", webhookDestination: { uuid: id } };
        return outcomeReply(await alerting.test(exampleAlert, action));
      },
    }),
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

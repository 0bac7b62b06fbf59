/** The routes of notifications: lists them, sends one again, and sends a test message to a webhook. */

import * as z from "zod";
import { resendingProblem, sendingProblem, type Visibility } from "../access/alert-visibility.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import type { Action } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import { Refusal } from "../throttle/refusal.ts";
import { destinationName } from "./destination.ts";
import type { Notification } from "./notification.ts";
import type { Notifier, TestedAlert } from "./notifier.ts";
import type { Outcome } from "./sender.ts";

const shared = { deadlineMs: 60_000, response: z.looseObject({}) } as const;
const notificationsListedMax = 1_000;

export function notificationRoutes(notifier: Notifier, { alertOf, webhookOf }: Visibility): Route[] {
  const { outbox } = notifier;
  /** Where an alert was deleted, only admins see its notifications. */
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
      tag: "notifications",
      handle: async ({ caller }) => ({
        notifications: visible(caller).slice(0, notificationsListedMax).map(notificationReply),
      }),
    }),
    defineRoute({
      ...shared,
      method: "POST",
      path: "/api/v1/notifications/{id}/resend",
      permission: "notify",
      summary: "Sends a notification again",
      tag: "notifications",
      errors: [404],
      handle: async ({ params: { id }, caller }) => {
        const known = visible(caller).find((each) => each.id === id);
        if (known === undefined) throw makeNotFound("notification", id);
        const alert = alertOf(known.event.alertId, caller);
        const canSend = alert === undefined ? caller.role === "admin" : alert.canNotify;
        if (!canSend) throw new Refusal(403, sendingProblem);
        if (alert?.canResend === false) throw new Refusal(403, resendingProblem);
        await outbox.resend(id);
        return { id };
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
        const webhook = webhookOf(id, caller);
        if (webhook === undefined) throw makeNotFound("webhook", id);
        if (!webhook.canNotify) throw new Refusal(403, sendingProblem);
        const action: Action = { type: "webhook", webhookDestination: { uuid: id } };
        return outcomeReply(await notifier.test(exampleAlert, action));
      },
    }),
  ];
}

function makeNotFound(kind: string, id: string): Refusal {
  return new Refusal(404, `there is no ${kind} ${JSON.stringify(id.slice(0, 100))}`);
}

/** A notification as answers show it: without secrets of its action (a routing key, the URL of an incoming webhook). */
function notificationReply(notification: Notification) {
  const { id, action, event, createdAtMs, status, tries, nextAtMs, endedAtMs, problem } = notification;
  return {
    ...{ id, type: event.type, alertId: event.alertId, alertName: event.alertName, fireId: event.fireId },
    destination: { type: action.type, name: destinationName(action) },
    ...{ createdAt: createdAtMs, status, tries, nextTryAt: status === "waiting" ? nextAtMs : null },
    ...{ endedAt: endedAtMs, problem },
  };
}

export function outcomeReply(outcome: Outcome): { delivered: boolean; problem: string | null } {
  return outcome.kind === "delivered"
    ? { delivered: true, problem: null }
    : { delivered: false, problem: outcome.problem };
}

const exampleAlert: TestedAlert = {
  alertId: "example",
  alertName: "example",
  alertDescription: "A test of this webhook",
  rule: "test",
  query: 'count(logs{log_level="error"})',
  bucketSeconds: 60,
};

/** The routes of notifications: lists them, sends one again, and sends a test message to a webhook. */

import * as z from "zod";
import { resendingProblem, sendingProblem, type Visibility } from "../access/alert-visibility.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import type { Action } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import { integerFrom } from "../model/schema.ts";
import { Refusal } from "../throttle/refusal.ts";
import { destinationName } from "./destination.ts";
import type { Notification } from "./notification.ts";
import type { Notifier, TestedAlert } from "./notifier.ts";
import type { Outcome } from "./senders/sender.ts";

const shared = { deadlineMs: 60_000, response: z.looseObject({}) } as const;
const notificationsListedMax = 1_000;

export function notificationRoutes(notifier: Notifier, { alertOf, webhookOf }: Visibility): Route[] {
  const { outbox } = notifier;
  /** Where an alert was deleted, only admins see its notifications. */
  const isVisible = (alertId: string, caller: Caller) =>
    caller.role === "admin" || alertOf(alertId, caller) !== undefined;
  const visible = (caller: Caller) => outbox.list().filter(({ event }) => isVisible(event.alertId, caller));
  const visibleOf = (alertId: string, caller: Caller) =>
    isVisible(alertId, caller) ? outbox.list().filter(({ event }) => event.alertId === alertId) : [];
  return [
    defineRoute({
      ...shared,
      method: "GET",
      path: "/api/v1/notifications",
      permission: "search",
      summary: "Notifications, the newest first",
      tag: "notifications",
      query: {
        limit: integerFrom(1, notificationsListedMax).optional(),
        cursor: z.string().optional(),
        alertId: z.string().optional(),
      },
      parameterName: "parameter",
      handle: async ({ caller, query }) => {
        const { alertId } = query;
        const all = alertId === undefined ? visible(caller) : visibleOf(alertId, caller);
        const { page, ...next } = pageOf(all, query);
        const isWhole = (alertId: string) => alertOf(alertId, caller)?.isWhole ?? true;
        return {
          notifications: page.map((each) => notificationReply(each, isWhole(each.event.alertId))),
          ...next,
        };
      },
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

/** A page of notifications; the next one begins after the notification that the cursor names, or after its time. */
function pageOf(
  all: readonly Notification[],
  { limit = notificationsListedMax, cursor }: { limit?: number | undefined; cursor?: string | undefined },
) {
  const [ms = "", id = ""] = cursor === undefined ? [] : readCursor(cursor);
  const known = all.findIndex((each) => each.id === id);
  const older = all.findIndex(({ createdAtMs }) => createdAtMs < Number(ms));
  const from = cursor === undefined ? 0 : known >= 0 ? known + 1 : older < 0 ? all.length : older;
  const page = all.slice(from, from + limit);
  const last = page.at(-1);
  const isLast = last === undefined || from + limit >= all.length;
  const next = isLast ? {} : { cursor: writeCursor(last) };
  return { page, ...next };
}

function writeCursor({ createdAtMs, id }: Notification): string {
  return Buffer.from(`${createdAtMs} ${id}`).toString("base64url");
}

function readCursor(cursor: string): string[] {
  return Buffer.from(cursor, "base64url").toString().split(" ");
}

function makeNotFound(kind: string, id: string): Refusal {
  return new Refusal(404, `there is no ${kind} ${JSON.stringify(id.slice(0, 100))}`);
}

/**
 * A notification as answers show it: without secrets of its action (a routing key, the URL of an incoming webhook).
 * `isWhole`: the caller reads all rows that the alert reads. Others must not read what a receiver sent back of them.
 */
function notificationReply(notification: Notification, isWhole: boolean) {
  const { id, action, event, createdAtMs, status, tries, nextAtMs, endedAtMs, problem } = notification;
  return {
    ...{ id, type: event.type, alertId: event.alertId, alertName: event.alertName, fireId: event.fireId },
    destination: { type: action.type, name: destinationName(action) },
    ...{ createdAt: createdAtMs, status, tries, nextTryAt: status === "waiting" ? nextAtMs : null },
    ...{ endedAt: endedAtMs, problem: isWhole ? problem : problem && "it was not delivered" },
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

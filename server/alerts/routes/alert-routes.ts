/** The routes of alerts: their state, fires and evaluations, and test notifications. */

import * as z from "zod";
import { sendingProblem, type Visibility } from "../../access/alert-visibility.ts";
import { defineRoute } from "../../api/define-route.ts";
import type { Route } from "../../api/route.ts";
import type { Alert } from "../../model/alert.ts";
import type { Notifier, TestedAlert } from "../../notify/notifier.ts";
import { outcomeReply } from "../../notify/routes.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { Alerting } from "../alerting.ts";
import { queryOf } from "../state/alert-definition.ts";
import type { Fire } from "../state/fire.ts";
import type { IncompleteBucket } from "../state/missing-rows.ts";
import { findAlert, partialNote } from "./alert-lookup.ts";
import { historyRoute } from "./history-route.ts";
import { conditionOf, healthOf, statesRoute } from "./states-route.ts";

export interface AlertRoutesOptions {
  alerting: Alerting;
  notifier: Notifier;
  visibility: Visibility;
}

const shared = { tag: "alerts", deadlineMs: 60_000, response: z.looseObject({}), errors: [404] } as const;

export function alertRoutes(options: AlertRoutesOptions): Route[] {
  const { alerting, notifier, visibility } = options;
  const states = statesRoute({
    evaluator: alerting.evaluator,
    health: alerting.health,
    notifier,
    visibility,
  });
  const history = historyRoute({ evaluator: alerting.evaluator, visibility });
  return [states, history, ...statusRoutes(options), testRoute(options)];
}

function statusRoutes(options: AlertRoutesOptions): Route[] {
  const { evaluator } = options.alerting;
  /** `isWhole`: the caller may read all rows that the alert reads. */
  const defineAlertRoute = (
    part: string,
    summary: string,
    reply: (id: string, isWhole: boolean, alert: Alert) => Record<string, unknown>,
  ) =>
    defineRoute({
      ...shared,
      method: "GET",
      path: `/api/v1/alerts/{id}/${part}`,
      permission: "search",
      summary,
      query: {},
      parameterName: "parameter",
      handle: async ({ params: { id }, caller }) => {
        const { isWhole, alert } = findAlert(options, id, caller);
        const note = isWhole ? {} : { warnings: [partialNote] };
        return { ...reply(id, isWhole, alert), ...note };
      },
    });
  return [
    defineAlertRoute("state", "The state of an alert, of its rules and instances", (id, isWhole, alert) => ({
      ...stateReply(options, id, isWhole),
      undeliverable: options.notifier.undeliverable(alert, "alert"),
    })),
    defineAlertRoute("fires", "The fires of an alert, the newest first", (id, isWhole) => ({
      fires: evaluator.fires(id).map((fire) => fireReply(fire, isWhole)),
    })),
    defineAlertRoute(
      "evaluations",
      "The last evaluations of an alert and why they ended as they did",
      (id, isWhole) => ({
        evaluations: isWhole ? evaluator.evaluations(id) : [],
      }),
    ),
  ];
}

function testRoute(options: AlertRoutesOptions): Route {
  return defineRoute({
    ...shared,
    method: "POST",
    path: "/api/v1/alerts/{id}/test-notification",
    permission: "notify",
    summary: "Sends a test message to all that an alert tells",
    handle: async ({ params: { id }, caller }) => {
      const { alert, canNotify } = findAlert(options, id, caller);
      if (!canNotify) throw new Refusal(403, sendingProblem);
      const rules = alert.timeseries.evaluationRules;
      const results = await Promise.all(
        rules
          .flatMap(({ actions = [] }) => actions)
          .map(async (action) => {
            const outcome = await options.notifier.test(toTestedAlert(alert, id), action);
            return { type: action.type, ...outcomeReply(outcome) };
          }),
      );
      return { results };
    },
  });
}

function toTestedAlert(alert: Alert, alertId: string): TestedAlert {
  const { name, description = "" } = alert.metadata;
  const rule = alert.timeseries.evaluationRules[0]?.name ?? "test";
  return { alertId, alertName: name, alertDescription: description, rule, ...queryOf(alert) };
}

function stateReply({ alerting, notifier }: AlertRoutesOptions, id: string, isWhole: boolean) {
  const known = alerting.evaluator.stateOf(id);
  const { state: judged, error, details } = known ?? { state: "noData", error: null, details: null };
  const unhealthySince = alerting.health.unhealthySinceMs(id) ?? null;
  const state = conditionOf(judged, unhealthySince ?? undefined);
  const throughMs = details?.throughMs ?? null;
  const health = healthOf({ error, throughMs });
  const silences = notifier.silencesOf(id);
  const { lateRows = null, incomplete = [] } = alerting.evaluator.completenessOf(id) ?? {};
  // Whether rows are missing, or came late, says nothing of what is in them.
  const completeness = { lateRows, incompleteBuckets: incomplete.map(incompleteReply) };
  // Callers who may not read all rows must not learn labels. Silences and the text of an error may contain some.
  if (!isWhole) {
    const problem = error && "the query failed";
    return {
      state,
      health,
      error: problem,
      evaluatedThrough: throughMs,
      unhealthySince,
      ...completeness,
      silences: [],
      instances: [],
    };
  }
  const instances = Object.values(details?.instances ?? {}).map(({ labels, rules }) => ({
    labels,
    rules: Object.entries(rules).map(([rule, { state: one, sinceMs, fire }]) => {
      return { rule, state: one, since: sinceMs, fireId: fire?.id ?? null };
    }),
    silencedBy: notifier.silencedBy({ alertId: id, labels }) ?? null,
  }));
  return {
    state,
    health,
    error,
    evaluatedThrough: throughMs,
    unhealthySince,
    ...completeness,
    silences,
    instances,
  };
}

/** A bucket from which rows may be missing. `awaitedUntil`: null where they are not awaited any more. */
function incompleteReply({ bucketMs, effect, untilMs }: IncompleteBucket) {
  return { time: bucketMs, missingRows: effect, awaitedUntil: untilMs };
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

/** What each type of event means to a notification: whom it is for, and what people and programs read of it. */

import type { Action } from "../../model/alert.ts";
import type { AlertEvent, EventType, InvestigationEvent, NotificationEvent } from "../../model/event.ts";
import type { InvestigationReport } from "../../model/investigation.ts";
import { thresholdText } from "./condition-text.ts";

interface EventRules<Event extends NotificationEvent> {
  /** Returns whether an action asks for events of this type. */
  isWanted(action: Action): boolean;
  /** Value of the webhook variable `$alert_state`. */
  state: "firing" | "resolved" | "unhealthy" | "healthy";
  /** First words of a message's title. */
  verb(event: Event): string;
  /** Time of the event, milliseconds since the epoch. */
  atMs(event: Event): number;
  /** Says what happened. Messages put the rule's name and the instance's labels before it. */
  text(event: Event): string;
  /** Lines for people that follow the text of an event. */
  details(event: Event): string[];
  /** First character of a message's title, where messages have pictures. */
  icon: string;
  /** Where people read more. */
  link: { text: string; pathOf(event: Event): string };
  /** Members that only events of this type have in `data` of the envelope. */
  data(event: Event): Readonly<Record<string, unknown>>;
  /** What the event does to PagerDuty's incident; `note`: it is added to the log of an open one. */
  pagerDuty: "trigger" | "resolve" | "note";
  /** Events of the same time are sent in ascending order of this number. */
  order: number;
}

/** The TypeScript type of an event by its `type`. */
type EventOf<Type extends EventType> = Type extends "investigationCompleted"
  ? InvestigationEvent
  : AlertEvent;

const alertLink = {
  text: "Open the alert",
  pathOf: ({ alertId, fireId }: AlertEvent) => `/alerts/${encodeURIComponent(alertId)}?fire=${fireId}`,
};

const endData = ({ resolvedAtMs, reason }: AlertEvent) => ({
  resolvedAt: resolvedAtMs === undefined ? null : time(resolvedAtMs),
  resolveReason: reason ?? null,
});

const healthData = (event: AlertEvent) => ({ problem: event.problem ?? "", ...endData(event) });

const rules: { readonly [Type in EventType]: EventRules<EventOf<Type>> } = {
  alertFired: {
    isWanted: () => true,
    state: "firing",
    verb: ({ repeat }) => (repeat === undefined ? "Firing" : "Still firing"),
    icon: "🔥",
    link: alertLink,
    details: () => [],
    atMs: ({ firedAtMs }) => firedAtMs,
    text: ({ breached, condition, firedAtMs }) => {
      const value = breached.value === null ? "no data" : `value ${breached.value}`;
      const limit = condition === undefined ? "" : ` (${thresholdText(condition)})`;
      return `${value}${limit}, since ${time(firedAtMs)}`;
    },
    data: endData,
    pagerDuty: "trigger",
    order: 0,
  },
  alertResolved: {
    isWanted: isResolveWanted,
    state: "resolved",
    verb: () => "Resolved",
    icon: "✅",
    link: alertLink,
    details: () => [],
    atMs: ({ resolvedAtMs, firedAtMs }) => resolvedAtMs ?? firedAtMs,
    text: ({ reason, firedAtMs, resolvedAtMs }) => {
      const why = reason === undefined || reason === "recovered" ? "" : ` (${resolveReasonTexts[reason]})`;
      return `fired at ${time(firedAtMs)}, ended at ${time(resolvedAtMs ?? firedAtMs)}${why}`;
    },
    data: endData,
    pagerDuty: "resolve",
    order: 1,
  },
  alertUnhealthy: {
    isWanted: () => true,
    state: "unhealthy",
    verb: () => "Not judged",
    icon: "⚠️",
    link: alertLink,
    details: () => [],
    atMs: ({ firedAtMs }) => firedAtMs,
    text: ({ problem, firedAtMs }) => `the alert is not judged since ${time(firedAtMs)}: ${problem ?? ""}`,
    data: healthData,
    pagerDuty: "trigger",
    order: 0,
  },
  alertHealthy: {
    isWanted: isResolveWanted,
    state: "healthy",
    verb: ({ reason }) => (reason === "deleted" ? "Deleted" : "Judged again"),
    icon: "✅",
    link: alertLink,
    details: () => [],
    atMs: ({ resolvedAtMs, firedAtMs }) => resolvedAtMs ?? firedAtMs,
    text: ({ problem, firedAtMs, resolvedAtMs, reason }) => {
      const to = `to ${time(resolvedAtMs ?? firedAtMs)}${reason === "deleted" ? ", when it was deleted" : ""}`;
      return `the alert was not judged from ${time(firedAtMs)} ${to}: ${problem ?? ""}`;
    },
    data: healthData,
    pagerDuty: "resolve",
    order: 1,
  },
  investigationCompleted: {
    isWanted: () => true,
    state: "firing",
    verb: () => "Investigated",
    icon: "🔎",
    link: {
      text: "Open the investigation",
      pathOf: ({ report }) => `/investigations/${report.investigationId}`,
    },
    atMs: ({ report }) => Date.parse(report.completedAt),
    text: ({ report }) => report.summary,
    details: ({ report }) => describeReport(report),
    data: ({ report }) => report,
    pagerDuty: "note",
    order: 2,
  },
};

/** Returns the rules for events of a type. The caller may pass only events of this type to them. */
export function rulesOf(type: EventType): EventRules<NotificationEvent> {
  return rules[type] as EventRules<NotificationEvent>;
}

function isResolveWanted(action: Action): boolean {
  switch (action.type) {
    case "slack":
      return action.slackDestination.notifyOnResolve === true;
    case "email":
      return action.emailDestination.notifyOnResolve === true;
    case "pagerDuty":
      return true;
    case "webhook":
      return (
        action.webhookDestination.resolvedUuid !== undefined ||
        action.webhookDestination.notifyOnResolve === true
      );
  }
}

/** Evidence of the first suspect that a message lists after the summary, which names the strongest. */
const listedEvidenceMax = 3;

function describeReport({ suspects, nextSteps }: InvestigationReport): string[] {
  const evidence = suspects[0]?.evidence.slice(1, 1 + listedEvidenceMax) ?? [];
  const others = suspects.slice(1).map(({ service, kind }) => `${service} (${kind})`);
  return [
    ...evidence.map(({ sentence }) => sentence),
    ...(others.length === 0 ? [] : [`less likely: ${others.join(", ")}`]),
    ...nextSteps.slice(0, 1).map((step) => `next: ${step}`),
  ];
}

const resolveReasonTexts = {
  gone: "it has had no data for a day",
  changed: "the alert was changed",
  deleted: "the alert was deleted",
  corrected: "rows that came late show that it should not have fired",
} as const;

/** Formats a time as RFC 3339 says, in UTC. */
export function time(ms: number): string {
  return new Date(ms).toISOString();
}

/** What each type of event means to a notification: whom it is for, and what people and programs read of it. */

import type { Action } from "../model/alert.ts";
import type { AlertEvent, EventType, InvestigationEvent, NotificationEvent } from "../model/event.ts";

interface EventRules<Event extends NotificationEvent> {
  /** Returns whether an action asks for events of this type. */
  isWanted(action: Action): boolean;
  /** Value of the webhook variable `$alert_state`. */
  state: "firing" | "resolved";
  /** First word of a message's title. */
  verb: string;
  /** Time of the event, milliseconds since the epoch. */
  atMs(event: Event): number;
  /** Says what happened. Messages put the rule's name and the instance's labels before it. */
  text(event: Event): string;
  /** Members that only events of this type have in `data` of the envelope. */
  data(event: Event): Readonly<Record<string, unknown>>;
  /** What the event does to PagerDuty's incident; null: nothing. */
  pagerDuty: "trigger" | "resolve" | null;
  /** Events of the same time are sent in ascending order of this number. */
  order: number;
}

/** The TypeScript type of an event by its `type`. */
type EventOf<Type extends EventType> = Type extends "investigationCompleted"
  ? InvestigationEvent
  : AlertEvent;

const rules: { readonly [Type in EventType]: EventRules<EventOf<Type>> } = {
  alertFired: {
    isWanted: () => true,
    state: "firing",
    verb: "Firing",
    atMs: ({ firedAtMs }) => firedAtMs,
    text: ({ breached, firedAtMs }) => {
      const value = breached.value === null ? "no data" : `value ${breached.value}`;
      return `${value}, since ${time(firedAtMs)}`;
    },
    data: () => ({ resolvedAt: null, resolveReason: null }),
    pagerDuty: "trigger",
    order: 0,
  },
  alertResolved: {
    isWanted: isResolveWanted,
    state: "resolved",
    verb: "Resolved",
    atMs: ({ resolvedAtMs, firedAtMs }) => resolvedAtMs ?? firedAtMs,
    text: ({ reason, firedAtMs, resolvedAtMs }) => {
      const why = reason === undefined || reason === "recovered" ? "" : ` (${resolveReasonTexts[reason]})`;
      return `fired at ${time(firedAtMs)}, ended at ${time(resolvedAtMs ?? firedAtMs)}${why}`;
    },
    data: ({ resolvedAtMs, reason }) => ({
      resolvedAt: resolvedAtMs === undefined ? null : time(resolvedAtMs),
      resolveReason: reason ?? null,
    }),
    pagerDuty: "resolve",
    order: 1,
  },
  investigationCompleted: {
    isWanted: ({ type }) => type !== "pagerDuty",
    state: "firing",
    verb: "Investigated",
    atMs: ({ completedAtMs }) => completedAtMs,
    text: ({ summary }) => summary,
    data: ({ completedAtMs, summary }) => ({ completedAt: time(completedAtMs), summary }),
    pagerDuty: null,
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

const resolveReasonTexts = {
  gone: "it has had no data for a day",
  changed: "the alert was changed",
  deleted: "the alert was deleted",
} as const;

/** Formats a time as RFC 3339 says, in UTC. */
export function time(ms: number): string {
  return new Date(ms).toISOString();
}

import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";
import type { RoutedAction } from "../model/notification-route.ts";
import { stableId } from "../model/stable-id.ts";
import { destinationKey } from "./destination.ts";
import { problemLengthMax } from "./limits.ts";
import { retryDelayMs } from "./retry.ts";
import type { Outcome } from "./senders/sender.ts";

/** One event for one destination, as it is stored. */
export interface Notification {
  id: string;
  action: RoutedAction;
  event: NotificationEvent;
  createdAtMs: number;
  /** Grows from one notification to the next; 0 in those of earlier versions. */
  sequence: number;
  /** `skipped`: it need not be sent any more; `problem` says why. */
  status: "waiting" | "delivered" | "givenUp" | "skipped";
  tries: number;
  /** Time of the next try. */
  nextAtMs: number;
  endedAtMs: number | null;
  problem: string | null;
  /** Id of the message in which it is sent, alone or with others; null until the first try. */
  messageId: string | null;
  /**
   * End of the mute time or silence for which it waits, or has waited; for an inhibition, when to look again at the
   * latest. Null where nothing kept it back.
   */
  mutedUntilMs: number | null;
  /** Id of the silence whose end it waits for, or `inhibition/` and an id; null where it waits for none. */
  silencedBy: string | null;
  /** Notifications of one alert and type with the same key share a message, where messages are grouped. */
  groupKey: string | null;
  receipt: Json;
  /**
   * A try ended without a refusal: the receiver may have taken the message although no answer says so. Or it was
   * delivered, and is sent again.
   */
  mayHaveArrived: boolean;
}

/** `nextAtMs`: the time of the first try. */
export function makeNotification(
  made: Pick<Notification, "id" | "event" | "action" | "sequence" | "groupKey">,
  nowMs: number,
  nextAtMs: number,
): Notification {
  return {
    ...made,
    createdAtMs: nowMs,
    status: "waiting",
    tries: 0,
    nextAtMs,
    endedAtMs: null,
    problem: null,
    messageId: null,
    mutedUntilMs: null,
    silencedBy: null,
    receipt: null,
    mayHaveArrived: false,
  };
}

/** Reads a stored notification. A try that this process knows nothing of counts as one that may have arrived. */
export function readNotification(value: Json, nowMs: number): Notification {
  const stored = value as unknown as Omit<Notification, keyof StoredLater> & StoredLater;
  const { status, tries, nextAtMs } = stored;
  const { groupKey = null, mutedUntilMs = null, silencedBy = null, sequence = 0 } = stored;
  // The process may have ended during a try, before its outcome was stored. A notification that a silence or an
  // inhibition keeps back was never tried: before its first try it is stored without `silencedBy`.
  const isTried =
    status === "waiting" && silencedBy === null && (nextAtMs <= nowMs || stored.messageId !== null);
  const mayHaveArrived = stored.mayHaveArrived ?? tries > (status === "givenUp" ? 1 : 0);
  return {
    ...stored,
    groupKey,
    mutedUntilMs,
    silencedBy,
    sequence,
    mayHaveArrived: mayHaveArrived || isTried,
  };
}

/** What notifications of earlier versions lack. */
type StoredLater = Partial<
  Pick<Notification, "mayHaveArrived" | "groupKey" | "mutedUntilMs" | "silencedBy" | "sequence">
>;

/** Returns whether nobody was notified, and nobody will be. */
export function hasReachedNobody({ status, mayHaveArrived }: Notification): boolean {
  return status === "skipped" || (status === "givenUp" && !mayHaveArrived);
}

/** Returns whether people were notified already, as far as anybody knows. */
export function mayHaveTold({ status, mayHaveArrived }: Notification): boolean {
  return status === "delivered" || (status !== "skipped" && mayHaveArrived);
}

/** Returns the notification as it is after one more try. `random`: from 0 to 1. */
export function afterTry(
  before: Notification,
  messageId: string,
  outcome: Outcome,
  nowMs: number,
  random: number,
): Notification {
  const after = { ...before, tries: before.tries + 1, messageId };
  if (outcome.kind === "delivered") {
    return {
      ...after,
      status: "delivered",
      endedAtMs: nowMs,
      problem: null,
      receipt: outcome.receipt ?? null,
    };
  }
  const problem = outcome.problem.slice(0, problemLengthMax).toWellFormed();
  const delayMs = outcome.kind === "final" ? undefined : retryDelayMs(after.tries, outcome.afterMs, random);
  const isRefused = outcome.kind === "final" || outcome.isRefused === true;
  const tried = { ...after, problem, mayHaveArrived: before.mayHaveArrived || !isRefused };
  if (delayMs === undefined) return { ...tried, status: "givenUp", endedAtMs: nowMs };
  return { ...tried, nextAtMs: nowMs + delayMs };
}

/**
 * Returns a notification that has ended as it is to be sent again. That it was delivered is not forgotten: whatever
 * becomes of the further tries, people were told.
 */
export function toSendAgain(ended: Notification, nextAtMs: number): Notification {
  const mayHaveArrived = ended.mayHaveArrived || ended.status === "delivered";
  return {
    ...ended,
    status: "waiting",
    tries: 0,
    nextAtMs,
    endedAtMs: null,
    problem: null,
    silencedBy: null,
    mayHaveArrived,
  };
}

/** The same for the same event and destination. */
export function notificationId(eventId: string, action: Action): string {
  return stableId(eventId, destinationKey(action));
}

/** The id of the notification of the begin of the fire that an event is about. */
export function firedId({ fireId }: NotificationEvent, action: Action): string {
  return notificationId(stableId("fired", fireId), action);
}

/** The id of the notification that ends a fire's. */
export function endId({ event, action }: Notification): string {
  return notificationId(stableId("resolved", event.fireId), action);
}

/** Whether people hear with an event for the first time of what it is about. */
export function isBegin({ type }: NotificationEvent): boolean {
  return type === "alertFired" || type === "alertUnhealthy";
}

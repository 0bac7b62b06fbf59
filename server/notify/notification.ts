import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";
import { groupWaitMs, problemLengthMax } from "./limits.ts";
import { retryDelayMs } from "./retry.ts";
import type { Outcome } from "./senders/sender.ts";

/** One event for one destination, as it is stored. */
export interface Notification {
  id: string;
  action: Action;
  event: NotificationEvent;
  createdAtMs: number;
  /** `skipped`: it need not be sent any more; `problem` says why. */
  status: "waiting" | "delivered" | "givenUp" | "skipped";
  tries: number;
  /** Time of the next try. */
  nextAtMs: number;
  endedAtMs: number | null;
  problem: string | null;
  /** Id of the message in which it is sent, alone or with others; null until the first try. */
  messageId: string | null;
  receipt: Json;
  /** A try ended without a refusal: the receiver may have taken the message although no answer says so. */
  mayHaveArrived: boolean;
}

/** `isGrouped`: it waits a little for others that share its message. */
export function makeNotification(
  { id, event, action }: Pick<Notification, "id" | "event" | "action">,
  isGrouped: boolean,
  nowMs: number,
): Notification {
  return {
    id,
    action,
    event,
    createdAtMs: nowMs,
    status: "waiting",
    tries: 0,
    nextAtMs: nowMs + (isGrouped ? groupWaitMs : 0),
    endedAtMs: null,
    problem: null,
    messageId: null,
    receipt: null,
    mayHaveArrived: false,
  };
}

/** Reads a stored notification. A try that this process knows nothing of counts as one that may have arrived. */
export function readNotification(value: Json, nowMs: number): Notification {
  const stored = value as unknown as Omit<Notification, "mayHaveArrived"> & { mayHaveArrived?: boolean };
  const { status, tries, nextAtMs } = stored;
  // The process may have ended in the middle of a try.
  const isTried = status === "waiting" && (nextAtMs <= nowMs || stored.messageId !== null);
  const mayHaveArrived = stored.mayHaveArrived ?? tries > (status === "givenUp" ? 1 : 0);
  return { ...stored, mayHaveArrived: mayHaveArrived || isTried };
}

/** Returns whether nobody was notified, and nobody will be. */
export function hasReachedNobody({ status, mayHaveArrived }: Notification): boolean {
  return status === "skipped" || (status === "givenUp" && !mayHaveArrived);
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

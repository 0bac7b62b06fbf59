import type { Json } from "../../engine/index.ts";
import type { Action } from "../model/alert.ts";
import type { NotificationEvent } from "../model/event.ts";
import { isGrouped } from "./destination.ts";
import { groupWaitMs, problemLengthMax } from "./limits.ts";
import { retryDelayMs } from "./retry.ts";
import type { Outcome } from "./sender.ts";

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
}

export function makeNotification(
  id: string,
  event: NotificationEvent,
  action: Action,
  nowMs: number,
): Notification {
  return {
    id,
    action,
    event,
    createdAtMs: nowMs,
    status: "waiting",
    tries: 0,
    nextAtMs: nowMs + (isGrouped(action) ? groupWaitMs : 0),
    endedAtMs: null,
    problem: null,
    messageId: null,
    receipt: null,
  };
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
  if (delayMs === undefined) return { ...after, status: "givenUp", endedAtMs: nowMs, problem };
  return { ...after, nextAtMs: nowMs + delayMs, problem };
}

import type { Json } from "../../engine/index.ts";
import type { Action, AlertEvent } from "../alert-event.ts";

/** One event for one destination, as it is stored. */
export interface Notification {
  id: string;
  action: Action;
  event: AlertEvent;
  createdAtMs: number;
  /** `skipped`: there is nothing to tell any more; `problem` says why. */
  status: "waiting" | "delivered" | "givenUp" | "skipped";
  tries: number;
  /** Of the next try. */
  nextAtMs: number;
  endedAtMs: number | null;
  problem: string | null;
  /** Id of the message that it is, or is part of; null until the first try. */
  messageId: string | null;
  receipt: Json;
}

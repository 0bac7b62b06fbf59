import type { Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";

/** An alert as one caller sees it. */
export interface VisibleAlert {
  alert: Alert;
  /** The caller may send messages of it by hand. */
  canNotify: boolean;
  /** The caller reads all that the alert does. Others must not learn the labels and values that it found. */
  isWhole: boolean;
}

/** What callers may see and do of alerts and webhooks; undefined where there is none of the id, or none that the caller sees. */
export interface Visibility {
  alertOf(id: string, caller: Caller): VisibleAlert | undefined;
  webhookOf(id: string, caller: Caller): { canNotify: boolean } | undefined;
}

export const sendingProblem =
  "sending messages takes the role editor or admin, or a rule that lets you update what is managed";

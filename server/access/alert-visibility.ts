/** Which alerts and webhooks a caller sees, for the parts that show them or send messages. */

import type { Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";

/** An alert as one caller sees it. */
export interface VisibleAlert {
  alert: Alert;
  /** The caller may send its notifications by hand. */
  canNotify: boolean;
  /** The caller reads all rows that the alert reads. Others must not learn the labels and values that it found. */
  isWhole: boolean;
}

/**
 * What callers may see and do of alerts and webhooks. Undefined where the id does not exist, or the caller may not see
 * it.
 */
export interface Visibility {
  alertOf(id: string, caller: Caller): VisibleAlert | undefined;
  webhookOf(id: string, caller: Caller): { canNotify: boolean } | undefined;
}

/** Why a caller may not send messages; a sentence for people. */
export const sendingProblem =
  "sending messages takes the role editor or admin, or a rule that lets you update what is managed";

/** Which alerts and webhooks a caller sees, for the parts that show them or send messages. */

import type { Alert } from "../model/alert.ts";
import type { Caller } from "../model/caller.ts";
import type { ManagedPlace } from "../model/stored-resource.ts";

/** An alert as one caller sees it. */
export interface VisibleAlert {
  alert: Alert;
  /** The caller may send test messages to its destinations. */
  canNotify: boolean;
  /** The caller reads the rows behind its notifications, and so may send them again. */
  canResend: boolean;
  /** The caller reads all rows that the alert reads. Others must not learn the labels and values that it found. */
  isWhole: boolean;
}

/** One of the alerts that a caller sees. */
export interface ListedAlert {
  id: string;
  name: string;
  /** The custom resource that it is made of; only of an alert that Kubernetes manages. */
  managed: ManagedPlace | undefined;
  /** Returns whether the caller reads all rows that the alert reads. */
  isWhole(): boolean;
}

/**
 * What callers may see and do of alerts and webhooks. Undefined where the id does not exist, or the caller may not see
 * it.
 */
export interface Visibility {
  /** All alerts that the caller sees, in the order of their ids. */
  alertsOf(caller: Caller): Iterable<ListedAlert>;
  alertOf(id: string, caller: Caller): VisibleAlert | undefined;
  webhookOf(id: string, caller: Caller): { canNotify: boolean } | undefined;
}

/** Why a caller may not send a notification again; a sentence for people. */
export const resendingProblem =
  "the notification is of an alert over rows that you may not read: ask an admin to send it again";

/** Why a caller may not send messages; a sentence for people. */
export const sendingProblem =
  "sending messages takes the role editor or admin, or a rule that lets you update what is managed";

/** The status of a custom resource: what the hub made of it, as conditions. Pure functions. */

import type { AppliedObject } from "./hub-client.ts";
import { messageLengthMax } from "./limits.ts";

/** A condition as Kubernetes defines it (metav1.Condition). */
export interface Condition {
  type: "Accepted" | "Synced" | "Ready";
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  /** RFC 3339. */
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface ObjectStatus {
  observedGeneration?: number;
  /** The id of the resource at the hub. */
  id?: string;
  lastSyncTime?: string;
  conditions: Condition[];
}

/** What is known of an object after a try to synchronise it. */
export interface SyncOutcome {
  generation: number | undefined;
  /** The hub's answer; undefined where none came. */
  applied: AppliedObject | undefined;
  /** Why no answer came. */
  problem?: string;
}

/** The status after a try. Returns `before` itself where nothing but times would change. */
export function nextStatus(
  before: ObjectStatus | undefined,
  { generation, applied, problem = "" }: SyncOutcome,
  nowMs: number,
): ObjectStatus {
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const isSynced = applied?.reason === "Synced";
  const reason = applied?.reason ?? "HubUnreachable";
  // One line: it stands in tables. What is below shows the place in a query again.
  const [line = ""] = (applied?.message || (isSynced ? "" : problem)).split("\n", 1);
  const message = line.slice(0, messageLengthMax);
  const verdicts: Omit<Condition, "lastTransitionTime">[] = [
    { type: "Accepted", ...acceptance(applied), message: isSynced ? "" : message },
    { type: "Synced", status: isSynced ? "True" : "False", reason, message: isSynced ? "" : message },
    { type: "Ready", status: isSynced ? "True" : "False", reason, message },
  ];
  const conditions = verdicts.map((verdict): Condition => {
    const known = before?.conditions.find(({ type }) => type === verdict.type);
    const lastTransitionTime = known?.status === verdict.status ? known.lastTransitionTime : now;
    return { ...verdict, ...observed, lastTransitionTime };
  });
  const id = isSynced ? applied.id : before?.id;
  const isSame =
    before !== undefined &&
    before.id === id &&
    before.observedGeneration === generation &&
    JSON.stringify(before.conditions.map(comparable)) === JSON.stringify(conditions.map(comparable));
  if (isSame) return before;
  const lastSyncTime = isSynced ? now : before?.lastSyncTime;
  return {
    ...observed,
    ...(id === undefined ? {} : { id }),
    ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
    conditions,
  };
}

/** Whether the hub finds the object right: unknown until it has answered. */
function acceptance(applied: AppliedObject | undefined): Pick<Condition, "status" | "reason"> {
  if (applied === undefined) return { status: "Unknown", reason: "HubUnreachable" };
  if (applied.reason === "Synced") return { status: "True", reason: "Valid" };
  return applied.isTemporary
    ? { status: "Unknown", reason: applied.reason }
    : { status: "False", reason: applied.reason };
}

function comparable({ type, status, reason, message, observedGeneration }: Condition): unknown[] {
  return [type, status, reason, message, observedGeneration];
}

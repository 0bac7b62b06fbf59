/** Fires, and the events of their begin and end. */
import type { Action, EvaluationRule } from "../../model/alert.ts";
import type { AlertEvent, Datapoint, ResolveReason } from "../../model/event.ts";
import { stableId } from "../../model/stable-id.ts";
import { type AlertDefinition, queryOf } from "./alert-definition.ts";
import type { OpenFire } from "./alert-state.ts";
import type { FireOpening } from "./fire-opening.ts";

/** One fire as it is stored. It holds all that a message about it needs, since the alert may be deleted meanwhile. */
export interface Fire extends Omit<AlertEvent, "type" | "fireId" | "late" | "resolvedAtMs" | "reason"> {
  labels: Record<string, string>;
  /** End of the bucket with which the rule began to fire. */
  firedAtMs: number;
  resolvedAtMs: number | null;
  reason: ResolveReason | null;
  /** Whether people were notified. `unseen`: not notified, since the fire began and ended while evaluation lagged. */
  told: "no" | "yes" | "unseen";
  /** Id of the silence because of which nobody was notified. */
  silencedBy: string | null;
  /** The actions that report the begin of the fire; the same ones report its end. */
  actions: Action[];
  /** Absent from fires that an earlier version stored. */
  opening?: FireOpening;
  /** Present where rows demand the fire that came after its bucket had been judged. */
  corrected?: true;
}

/** The end of a fire. */
export interface ClosedFire {
  fire: OpenFire;
  resolvedAtMs: number;
  reason: ResolveReason;
}

/** Makes the fire of a rule. `bucket`: the one with which the rule began to fire. */
export function openFire(
  alert: AlertDefinition,
  rule: EvaluationRule,
  adoptedMs: number,
  instance: { key: string; labels: Record<string, string> },
  bucket: { endMs: number; breached: Datapoint; opening: FireOpening },
): Fire {
  const { id, name, description = "" } = alert.metadata;
  return {
    id: fireIdOf(id, rule.name, adoptedMs, instance.key, bucket.endMs),
    alertId: id,
    alertName: name,
    alertDescription: description,
    rule: rule.name,
    ...queryOf(alert),
    labels: instance.labels,
    firedAtMs: bucket.endMs,
    breached: bucket.breached,
    resolvedAtMs: null,
    reason: null,
    told: "no",
    silencedBy: null,
    actions: [...(rule.actions ?? [])],
    opening: bucket.opening,
  };
}

/** The same for the same bucket, as long as query, bucket size and what the rule decides by do not change. */
export function fireIdOf(
  alertId: string,
  rule: string,
  adoptedMs: number,
  instance: string,
  firedAtMs: number,
): string {
  return stableId("fire", alertId, rule, adoptedMs, instance, firedAtMs);
}

/** `late`: people are notified more than `lateMs` after the time at which they should have been. */
export function makeFiredEvent(fire: Fire, late: boolean): AlertEvent {
  const { alertId, alertName, alertDescription, rule, query, bucketSeconds, labels, firedAtMs, breached } =
    fire;
  return {
    id: stableId("fired", fire.id),
    type: "alertFired",
    alertId,
    alertName,
    alertDescription,
    rule,
    query,
    bucketSeconds,
    fireId: fire.id,
    labels,
    firedAtMs,
    breached,
    late,
  };
}

export function makeResolvedEvent(fire: Fire, closed: Omit<ClosedFire, "fire">, late: boolean): AlertEvent {
  const { resolvedAtMs, reason } = closed;
  return {
    ...makeFiredEvent(fire, late),
    id: stableId("resolved", fire.id),
    type: "alertResolved",
    resolvedAtMs,
    reason,
  };
}

import type { Action, EvaluationRule } from "../../model/alert.ts";
import type { AlertEvent, Datapoint, ResolveReason } from "../../model/event.ts";
import { stableId } from "../../model/stable-id.ts";
import { type AlertDefinition, queryOf } from "./alert-definition.ts";
import type { OpenFire } from "./alert-state.ts";

/** One fire from its begin to its end, as it is stored: all that a message about it needs, also when the alert has gone. */
export interface Fire {
  id: string;
  alertId: string;
  alertName: string;
  alertDescription: string;
  rule: string;
  query: string;
  bucketSeconds: number;
  labels: Record<string, string>;
  /** End of the bucket that decided. */
  firedAtMs: number;
  breached: Datapoint;
  resolvedAtMs: number | null;
  reason: ResolveReason | null;
  /** `unseen`: opened and closed while the evaluator was behind. */
  told: "no" | "yes" | "unseen";
  /** Why it is not told: the silence. */
  silencedBy: string | null;
  /** Who was told, and will be told of the end. */
  actions: Action[];
}

/** A fire that ends. */
export interface ClosedFire {
  fire: OpenFire;
  resolvedAtMs: number;
  reason: ResolveReason;
}

export function openFire(
  alert: AlertDefinition,
  rule: EvaluationRule,
  adoptedMs: number,
  instance: { key: string; labels: Record<string, string> },
  bucket: { endMs: number; breached: Datapoint },
): Fire {
  const { id, name, description = "" } = alert.metadata;
  return {
    id: stableId("fire", id, rule.name, adoptedMs, instance.key, bucket.endMs),
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
  };
}

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

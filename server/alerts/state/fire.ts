/** Fires, and the events of their begin and end. */
import type { EvaluationRule } from "../../model/alert.ts";
import type { AlertEvent, Datapoint, ResolveReason } from "../../model/event.ts";
import type { RoutedAction } from "../../model/notification-route.ts";
import { stableId } from "../../model/stable-id.ts";
import { type AlertDefinition, queryOf } from "./alert-definition.ts";
import type { OpenFire } from "./alert-state.ts";
import type { FireOpening } from "./fire-opening.ts";

/** One fire as it is stored. It holds all that a message about it needs, since the alert may be deleted meanwhile. */
export interface Fire
  extends Omit<
    AlertEvent,
    "type" | "fireId" | "late" | "resolvedAtMs" | "reason" | "firingInstances" | "repeat"
  > {
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
  actions: RoutedAction[];
  /** Seconds between messages about its going on, as the rule had it when the fire began. */
  repeatSeconds?: number;
  /** Messages about its going on that were sent, by the key of the destination; absent without any. */
  repeats?: Record<string, number>;
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
    ...describeRule(alert, rule),
    ...(rule.repeatSeconds === undefined ? {} : { repeatSeconds: rule.repeatSeconds }),
    resolvedAtMs: null,
    reason: null,
    told: "no",
    silencedBy: null,
    actions: [...(rule.actions ?? [])],
    opening: bucket.opening,
  };
}

/** What messages say of the rule, and of the alert for people. */
function describeRule(
  { severity, labels, runbook, messageTemplate }: AlertDefinition,
  rule: EvaluationRule,
): Pick<AlertEvent, "condition" | "severity" | "alertLabels" | "runbook" | "messageTemplate"> {
  const { operators, persistenceSettings } = rule.static;
  const { datapointsToAlarm, datapointsInEvaluationWindow } = persistenceSettings;
  const own = rule.severity ?? severity;
  return {
    condition: { operators: [...operators], datapointsToAlarm, datapointsInEvaluationWindow },
    ...(own === undefined ? {} : { severity: own }),
    ...(labels === undefined ? {} : { alertLabels: labels }),
    ...(runbook === undefined ? {} : { runbook }),
    ...(messageTemplate === undefined ? {} : { messageTemplate }),
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

/** Members of a fire that no event carries. */
const internalMembers = [
  "resolvedAtMs",
  "reason",
  "told",
  "silencedBy",
  "actions",
  "opening",
  "repeats",
  "repeatSeconds",
  "corrected",
] as const satisfies (keyof Fire)[];

/** What events of all types say of a fire. */
export function factsOf({ id, ...fire }: Fire): Omit<AlertEvent, "id" | "type" | "late"> {
  const facts: Partial<Fire> = { ...fire };
  for (const name of internalMembers) delete facts[name];
  return { ...(facts as Omit<typeof fire, (typeof internalMembers)[number]>), fireId: id };
}

/**
 * `late`: people are notified more than `lateMs` after the time at which they should have been. `firingInstances`: of
 * the rule, this one included.
 */
export function makeFiredEvent(fire: Fire, late: boolean, firingInstances: number): AlertEvent {
  return { ...factsOf(fire), id: stableId("fired", fire.id), type: "alertFired", late, firingInstances };
}

/** `firingInstances`: of the rule, after the end of this fire. */
export function makeResolvedEvent(
  fire: Fire,
  { resolvedAtMs, reason }: Omit<ClosedFire, "fire">,
  late: boolean,
  firingInstances: number,
): AlertEvent {
  return {
    ...makeFiredEvent(fire, late, firingInstances),
    id: stableId("resolved", fire.id),
    type: "alertResolved",
    resolvedAtMs,
    reason,
  };
}

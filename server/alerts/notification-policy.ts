/** The notification policy: decides which begins and ends of fires people are notified of. */
import type { Action } from "../model/alert.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
import type { RoutedAction } from "../model/notification-route.ts";
import { correctedFireAgeMsMax, lateMs } from "./limits.ts";
import type { AlertDefinition } from "./state/alert-definition.ts";
import type { AlertState, RuleState } from "./state/alert-state.ts";
import { type ClosedFire, type Fire, makeFiredEvent, makeResolvedEvent } from "./state/fire.ts";
import type { Advance } from "./state/judgement.ts";

export interface NotificationContext {
  nowMs: number;
  /** The wait for late data. */
  delayMs: number;
  /** True where all complete buckets were judged. Only then people are notified of open fires. */
  isHead: boolean;
  /** The stored fire with an id. */
  knownFire: (id: string) => Fire | undefined;
  /** The id of the silence or inhibition that holds a fire back now. */
  silencedBy: (fire: Fire) => string | undefined;
  /** The actions that report a fire: the rule's own, and those of routes. */
  actionsFor: (fire: Fire, own: readonly Action[]) => RoutedAction[];
}

export interface NotificationDecision {
  /** The state, with the notified fires marked in it; the same object where there are none. */
  state: AlertState | undefined;
  /** Fires that change: they began or ended, or people are notified of them. */
  fires: Fire[];
  messages: EventMessage<AlertEvent>[];
  /** Fires that an evaluation notices for the first time, including silenced ones. */
  noticed: Fire[];
}

/**
 * People who were notified of the begin of a fire are notified of its end. If a fire began and ended while evaluation
 * was behind, and its notification would be late, nobody is notified. People are notified of an open fire as soon as
 * all complete buckets were judged and no silence covers the fire.
 */
export function applyNotificationPolicy(
  alert: AlertDefinition | undefined,
  state: AlertState | undefined,
  { opened, closed }: Pick<Advance, "opened" | "closed">,
  context: NotificationContext,
): NotificationDecision {
  const fires = new Map(opened.map((fire) => [fire.id, fire]));
  const decision: NotificationDecision = { state, fires: [], messages: [], noticed: [] };
  const firing = countFiring(state);
  for (const each of closed) {
    const fire = fires.get(each.fire.id) ?? context.knownFire(each.fire.id);
    if (fire !== undefined) fires.set(fire.id, decideOnEnd(fire, each, firing(fire.rule), context, decision));
  }
  if (alert !== undefined && state !== undefined && context.isHead) {
    decision.state = decideOnOpen(alert, state, fires, context, decision);
  }
  decision.fires.push(...fires.values());
  return decision;
}

function decideOnEnd(
  fire: Fire,
  { fire: open, resolvedAtMs, reason }: ClosedFire,
  firingInstances: number,
  context: NotificationContext,
  { messages, noticed }: NotificationDecision,
): Fire {
  const ended = { ...fire, resolvedAtMs, reason };
  const resolved = { resolvedAtMs, reason };
  if (open.told) {
    const { actions } = fire;
    const late = isLate(resolvedAtMs, context);
    messages.push({ event: makeResolvedEvent(fire, resolved, late, firingInstances), actions });
    return ended;
  }
  if (open.noticed || reason === "corrected") return ended;
  if (isUnseen(ended, context)) return { ...ended, told: "unseen" };
  noticed.push(ended);
  const silence = context.silencedBy(fire);
  if (silence !== undefined) return { ...ended, silencedBy: silence };
  const actions = context.actionsFor(fire, fire.actions);
  const late = fire.corrected === true;
  messages.push({ event: makeFiredEvent(fire, late, firingInstances + 1), actions });
  messages.push({ event: makeResolvedEvent(fire, resolved, late, firingInstances), actions });
  return { ...ended, actions, told: "yes" };
}

function decideOnOpen(
  alert: AlertDefinition,
  state: AlertState,
  fires: Map<string, Fire>,
  context: NotificationContext,
  { messages, noticed }: NotificationDecision,
): AlertState {
  const actionsOf = new Map<string, readonly Action[]>(
    alert.timeseries.evaluationRules.map(({ name, actions = [] }) => [name, actions]),
  );
  const firing = countFiring(state);
  let instances = state.instances;
  for (const [key, { rules }] of Object.entries(state.instances)) {
    for (const [name, ruleState] of Object.entries(rules)) {
      const open = ruleState.fire;
      if (open === null || open.told) continue;
      const known = fires.get(open.id) ?? context.knownFire(open.id);
      if (known === undefined) continue;
      const silence = context.silencedBy(known);
      const actions = context.actionsFor(known, actionsOf.get(name) ?? []);
      const isNotified = silence === undefined;
      const told = isNotified ? "yes" : "no";
      const fire: Fire = { ...known, actions, told, silencedBy: silence ?? null };
      if (!open.noticed) noticed.push(fire);
      if (isNotified)
        messages.push({
          event: makeFiredEvent(
            fire,
            fire.corrected === true || isLate(fire.firedAtMs, context),
            firing(name),
          ),
          actions,
        });
      if (isNotified || !open.noticed || known.silencedBy !== fire.silencedBy) fires.set(fire.id, fire);
      if (open.noticed && !isNotified) continue;
      if (instances === state.instances) instances = { ...instances };
      const changed: RuleState = { ...ruleState, fire: { ...open, noticed: true, told: isNotified } };
      instances[key] = { ...instances[key]!, rules: { ...instances[key]!.rules, [name]: changed } };
    }
  }
  return instances === state.instances ? state : { ...state, instances };
}

/** Returns a function that counts the instances of a rule that have an open fire. It counts when it is first asked. */
function countFiring(state: AlertState | undefined): (rule: string) => number {
  let counts: Map<string, number> | undefined;
  return (rule) => {
    counts ??= countOpenFires(state);
    return counts.get(rule) ?? 0;
  };
}

function countOpenFires(state: AlertState | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { rules } of Object.values(state?.instances ?? {}))
    for (const [rule, { fire }] of Object.entries(rules))
      if (fire !== null) counts.set(rule, 1 + (counts.get(rule) ?? 0));
  return counts;
}

/** Whether nobody is notified of a fire that has ended before it was noticed. */
function isUnseen({ firedAtMs, resolvedAtMs, corrected }: Fire, context: NotificationContext): boolean {
  if (corrected !== true) return isLate(firedAtMs, context);
  return context.nowMs - resolvedAtMs! > correctedFireAgeMsMax;
}

function isLate(atMs: number, { nowMs, delayMs }: NotificationContext): boolean {
  return nowMs - (atMs + delayMs) > lateMs;
}

/** The notification policy: decides which begins and ends of fires people are notified of. */
import type { Action } from "../model/alert.ts";
import type { AlertEvent, EventMessage } from "../model/event.ts";
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
  /** The id of the silence that covers a fire now. */
  silencedBy: (fire: Fire) => string | undefined;
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
  for (const each of closed) {
    const fire = fires.get(each.fire.id) ?? context.knownFire(each.fire.id);
    if (fire !== undefined) fires.set(fire.id, decideOnEnd(fire, each, context, decision));
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
  context: NotificationContext,
  { messages, noticed }: NotificationDecision,
): Fire {
  const ended = { ...fire, resolvedAtMs, reason };
  const resolved = { resolvedAtMs, reason };
  const { actions } = fire;
  if (open.told) {
    messages.push({ event: makeResolvedEvent(fire, resolved, isLate(resolvedAtMs, context)), actions });
    return ended;
  }
  if (open.noticed || reason === "corrected") return ended;
  if (isUnseen(ended, context)) return { ...ended, told: "unseen" };
  noticed.push(ended);
  const silence = context.silencedBy(fire);
  if (silence !== undefined) return { ...ended, silencedBy: silence };
  const late = fire.corrected === true;
  messages.push({ event: makeFiredEvent(fire, late), actions });
  messages.push({ event: makeResolvedEvent(fire, resolved, late), actions });
  return { ...ended, told: "yes" };
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
  let instances = state.instances;
  for (const [key, { rules }] of Object.entries(state.instances)) {
    for (const [name, ruleState] of Object.entries(rules)) {
      const open = ruleState.fire;
      if (open === null || open.told) continue;
      const known = fires.get(open.id) ?? context.knownFire(open.id);
      if (known === undefined) continue;
      const silence = context.silencedBy(known);
      const actions = [...(actionsOf.get(name) ?? [])];
      const isNotified = silence === undefined;
      const told = isNotified ? "yes" : "no";
      const fire: Fire = { ...known, actions, told, silencedBy: silence ?? null };
      if (!open.noticed) noticed.push(fire);
      if (isNotified)
        messages.push({
          event: makeFiredEvent(fire, fire.corrected === true || isLate(fire.firedAtMs, context)),
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

/** Whether nobody is notified of a fire that has ended before it was noticed. */
function isUnseen({ firedAtMs, resolvedAtMs, corrected }: Fire, context: NotificationContext): boolean {
  if (corrected !== true) return isLate(firedAtMs, context);
  return context.nowMs - resolvedAtMs! > correctedFireAgeMsMax;
}

function isLate(atMs: number, { nowMs, delayMs }: NotificationContext): boolean {
  return nowMs - (atMs + delayMs) > lateMs;
}

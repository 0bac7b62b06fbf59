/** How an alert's state changes when people edit or delete the alert, or the clock goes back. Pure functions. */
import type { ResolveReason } from "../../model/event.ts";
import { type AlertDefinition, ruleDefinition, seriesDefinition } from "./alert-definition.ts";
import { type AlertState, adoptRule, type Instance, makeFreshState, valueOfRule } from "./alert-state.ts";
import type { ClosedFire } from "./fire.ts";

export interface AlertEdit {
  state: AlertState;
  closed: ClosedFire[];
}

/**
 * Returns the state for the alert as it is now. A changed query or bucket size resets the whole state. Changed
 * operators or persistence settings reset the state of their rule. Other changes keep the state.
 */
export function adoptAlert(alert: AlertDefinition, before: AlertState | undefined, nowMs: number): AlertEdit {
  if (before === undefined) return { state: makeFreshState(alert, nowMs), closed: [] };
  if (before.definition !== seriesDefinition(alert)) {
    return { state: makeFreshState(alert, nowMs), closed: closeAllFires(before, nowMs, "changed") };
  }
  const adopted = alert.timeseries.evaluationRules.map((rule) => {
    const known = valueOfRule(before.rules, rule.name);
    return [rule.name, known?.definition === ruleDefinition(rule) ? known : adoptRule(rule, nowMs)] as const;
  });
  const rules: AlertState["rules"] = Object.fromEntries(adopted);
  const isKept = (name: string) => {
    const now = valueOfRule(rules, name);
    return now !== undefined && now === valueOfRule(before.rules, name);
  };
  if (Object.keys(before.rules).every(isKept) && Object.keys(rules).every(isKept)) {
    return { state: before, closed: [] };
  }
  const closed: ClosedFire[] = [];
  const instances: AlertState["instances"] = {};
  for (const [key, instance] of Object.entries(before.instances)) {
    const states = Object.entries(instance.rules);
    for (const [name, { fire }] of states) {
      if (!isKept(name) && fire !== null) closed.push({ fire, resolvedAtMs: nowMs, reason: "changed" });
    }
    instances[key] = { ...instance, rules: Object.fromEntries(states.filter(([name]) => isKept(name))) };
  }
  return { state: { ...before, rules, instances }, closed };
}

/** Closes all open fires. */
export function closeAllFires(state: AlertState, nowMs: number, reason: ResolveReason): ClosedFire[] {
  return Object.values(state.instances).flatMap(({ rules }) =>
    Object.values(rules).flatMap(({ fire }) =>
      fire === null ? [] : [{ fire, resolvedAtMs: nowMs, reason }],
    ),
  );
}

/** Returns the state for an evaluation that begins at an earlier time, since the clock went back. Fires stay open. */
export function rewindState(state: AlertState, nowMs: number): AlertState {
  const rules = Object.entries(state.rules).map(([name, { definition }]) => {
    return [name, { definition, adoptedMs: nowMs }] as const;
  });
  const instances = Object.entries(state.instances).map(([key, instance]) => {
    return [key, { ...instance, rules: withoutEarlier(instance.rules) }] as const;
  });
  const [kept, rewound] = [Object.fromEntries(rules), Object.fromEntries(instances)];
  return { ...state, rules: kept, instances: rewound, window: null, throughMs: null };
}

/** Their times lie in the future now. */
function withoutEarlier(rules: Instance["rules"]): Instance["rules"] {
  return Object.fromEntries(
    Object.entries(rules).map(([name, { state, sinceMs, fire }]) => [name, { state, sinceMs, fire }]),
  );
}

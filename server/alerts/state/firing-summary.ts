/** What lists say of the state of an alert, computed once for each state. */

import { type AlertState, type RuleCondition, worstState } from "./alert-state.ts";

export interface FiringSummary {
  state: RuleCondition;
  /**
   * Since when the alert is in its state. `firing` and `noData`: begin of the longest such state of an instance that
   * still lasts. `ok`: the time at which the last instance became so. Null where no instance has a state.
   */
  sinceMs: number | null;
  /** Names of the rules that fire for some instance, sorted. */
  firingRules: string[];
  /** Labels of each instance for which some rule fires. */
  firing: Readonly<Record<string, string>>[];
  /**
   * Whether every instance has a rule without data. False where one series of several has ended, as that of a pod that
   * is gone.
   */
  lacksData: boolean;
}

export function summarizeFiring(state: AlertState): FiringSummary {
  const worst = worstState(state);
  const firingRules = new Set<string>();
  const firing: FiringSummary["firing"] = [];
  let sinceMs: number | null = null;
  let lacksData = worst === "noData";
  for (const { labels, rules } of Object.values(state.instances)) {
    let fires = false;
    for (const [name, rule] of Object.entries(rules)) {
      if (rule.state === "firing") {
        firingRules.add(name);
        fires = true;
      }
      if (rule.state !== worst) continue;
      const isFirst = sinceMs === null || (worst === "ok" ? rule.sinceMs > sinceMs : rule.sinceMs < sinceMs);
      if (isFirst) sinceMs = rule.sinceMs;
    }
    if (fires) firing.push(labels);
    lacksData &&= Object.values(rules).some(({ state: one }) => one === "noData");
  }
  return { state: worst, sinceMs, firingRules: [...firingRules].sort(), firing, lacksData };
}

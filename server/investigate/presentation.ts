/** Investigations as one caller sees them: with the alerts that the caller sees, and no others. */

import type { Caller } from "../model/caller.ts";
import type { StoredInvestigation } from "../model/investigation.ts";
import type { IncidentWindow } from "./incident-window.ts";
import type { OwnedInvestigation } from "./records.ts";

/** When a fire of an alert began. */
interface AlertBegin {
  alertId: string;
  alertName: string;
  firedAtMs: number;
}

/** What callers see of alerts. */
export interface SeenAlerts {
  /** Whether a caller sees an alert. */
  seesAlert(alertId: string, caller: Caller): boolean;
  /** The begins of fires in a window, of alerts of which a caller sees all; the oldest first. */
  firesIn(window: IncidentWindow, caller: Caller): AlertBegin[];
}

const alertsInTimelineMax = 5;

/** What the caller sees of an investigation: with the alerts that began to fire in its window, in the timeline. */
export function present(options: SeenAlerts, owned: OwnedInvestigation, caller: Caller): StoredInvestigation {
  const investigation = hideAlerts(options, owned, caller);
  const { answer, startTime, endTime } = investigation;
  if (answer === null) return investigation;
  const begins = options.firesIn({ startMs: startTime, endMs: endTime + 1 }, caller);
  const first = new Map(begins.toReversed().map((each) => [each.alertId, each]));
  const entries = [...first.values()]
    .sort((a, b) => a.firedAtMs - b.firedAtMs)
    .slice(0, alertsInTimelineMax)
    .map(({ alertName, firedAtMs: at }) => ({ at, sentence: `the alert “${alertName}” fired` }));
  const timeline = [...answer.timeline, ...entries].sort((a, b) => a.at - b.at);
  return { ...investigation, answer: { ...answer, timeline } };
}

/** Leaves out the fires of alerts that the caller does not see. */
export function hideAlerts(
  { seesAlert }: Pick<SeenAlerts, "seesAlert">,
  { investigation }: OwnedInvestigation,
  caller: Caller,
): StoredInvestigation {
  const fires = investigation.fires.filter(({ alertId }) => seesAlert(alertId, caller));
  return { ...investigation, fires };
}

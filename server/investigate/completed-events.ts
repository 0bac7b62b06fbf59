/** The events about a completed investigation. */

import { type Fire, factsOf } from "../alerts/state/fire.ts";
import type { EventMessage, InvestigationEvent } from "../model/event.ts";
import type { InvestigationReport, StoredInvestigation } from "../model/investigation.ts";
import { stableId } from "../model/stable-id.ts";
import { destinationKey } from "../notify/destination.ts";

const suspectsMax = 3;
const evidenceMax = 5;
const listedMax = 5;
const firesMax = 20;

/**
 * One event for each destination that was notified of one of the fires, about the first such fire; none without a
 * cause, and none for destinations of `earlier` fires, which have got one.
 */
export function makeCompletedEvents(
  investigation: StoredInvestigation,
  fires: readonly Fire[],
  earlier: readonly Fire[],
): EventMessage<InvestigationEvent>[] {
  if (investigation.answer?.verdict !== "cause") return [];
  const report = reportOf(investigation);
  const isTold = (fire: Fire) => fire.told === "yes";
  const notified = new Set(earlier.filter(isTold).flatMap(({ actions }) => actions.map(destinationKey)));
  return fires.filter(isTold).flatMap((fire) => {
    const actions = fire.actions.filter((action) => {
      const key = destinationKey(action);
      const isFirst = !notified.has(key);
      notified.add(key);
      return isFirst;
    });
    if (actions.length === 0) return [];
    const id = stableId("investigated", fire.id);
    return [
      { event: { ...factsOf(fire), id, type: "investigationCompleted", late: false, report }, actions },
    ];
  });
}

/** The short form that messages carry. */
function reportOf({
  id,
  startTime,
  endTime,
  completedAt,
  fires,
  answer,
}: StoredInvestigation): InvestigationReport {
  const { summary, suspects, timeline, affected, nextSteps } = answer!;
  return {
    ...{ investigationId: id, completedAt: time(completedAt!) },
    ...{ windowStart: time(startTime), windowEnd: time(endTime), summary },
    confidence: suspects[0]!.confidence,
    suspects: suspects
      .slice(0, suspectsMax)
      .map((suspect) => ({ ...suspect, evidence: suspect.evidence.slice(0, evidenceMax) })),
    timeline: timeline.slice(0, listedMax).map(({ at, sentence }) => ({ at: time(at), sentence })),
    affected: affected.slice(0, listedMax).map(({ sentence }) => sentence),
    nextSteps: nextSteps.slice(0, listedMax).map(({ sentence }) => sentence),
    fires: fires.slice(0, firesMax).map(({ alertId, alertName, fireId }) => ({ alertId, alertName, fireId })),
  };
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

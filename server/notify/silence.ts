import type { AlertEvent } from "../model/event.ts";
import type { Silence } from "../model/silence.ts";

/** Returns whether a silence covers an instance of an alert at `nowMs`. */
export function isSilenced(
  silence: Silence,
  { alertId, labels }: Pick<AlertEvent, "alertId" | "labels">,
  nowMs: number,
): boolean {
  const { startsAt = 0, endsAt, alertIds, match } = silence;
  if (nowMs < startsAt || nowMs >= endsAt) return false;
  if (alertIds !== undefined && !alertIds.includes(alertId)) return false;
  return (match?.matchExpressions ?? []).every(({ key, operator, values }) => {
    return values.includes(labels[key] ?? "") === (operator === "In");
  });
}

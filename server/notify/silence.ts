import type { AlertEvent } from "../model/event.ts";

/** Times in which some alerts tell nobody, as they are configured. */
export interface Silence {
  comment?: string | undefined;
  /** Unix milliseconds; from ever where absent. */
  startsAt?: number | undefined;
  endsAt: number;
  /** Any alert where absent. */
  alertIds?: readonly string[] | undefined;
  /** All must hold of the instance's labels. A label that is not there is empty. */
  match?: { matchExpressions: readonly SilenceExpression[] } | undefined;
}

export interface SilenceExpression {
  key: string;
  operator: "In" | "NotIn";
  values: readonly string[];
}

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

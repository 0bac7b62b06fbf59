/** What a rule saw when it began to fire, read again: of fires that were stored without it. */

import type { Evaluator } from "../evaluator.ts";
import { instanceKey } from "../state/alert-state.ts";
import type { Fire } from "../state/fire.ts";
import { type FireOpening, makeFireOpening } from "../state/fire-opening.ts";

/**
 * Reads the window again that ends where the fire began. `opening` is undefined where the alert is not as it was, or
 * its query fails; `warnings` says why.
 */
export async function readOpening(
  evaluator: Pick<Evaluator, "alertOfFire" | "readSeries">,
  fire: Fire,
  signal: AbortSignal,
): Promise<{ opening?: FireOpening; warnings: string[] }> {
  const alert = evaluator.alertOfFire(fire);
  const rule = alert?.timeseries.evaluationRules.find(({ name }) => name === fire.rule);
  if (alert === undefined || rule === undefined) {
    return { warnings: ["the rule was changed since, and what it saw then is not stored"] };
  }
  const bucketMs = fire.bucketSeconds * 1000;
  const seen = rule.static.persistenceSettings.datapointsInEvaluationWindow + 2;
  const fromMs = Math.max(0, fire.firedAtMs - seen * bucketMs);
  const buckets = Array.from(
    { length: (fire.firedAtMs - fromMs) / bucketMs },
    (_, i) => fromMs + i * bucketMs,
  );
  try {
    const series = await evaluator.readSeries(alert, { fromMs, toMs: fire.firedAtMs }, signal);
    const key = instanceKey(fire.labels);
    const points = new Map(series.find(({ labels }) => instanceKey(labels) === key)?.points);
    const values = buckets.map((ms) => points.get(ms) ?? null);
    const opening = makeFireOpening(rule.static, buckets, values, values.length);
    const late = "the rows that are stored now do not let the rule fire: some came late, or are deleted";
    return { opening, warnings: opening.verdict === "firing" ? [] : [late] };
  } catch (error) {
    if (signal.aborted) throw error;
    return { warnings: [`what the rule saw cannot be read again: ${(error as Error).message}`] };
  }
}

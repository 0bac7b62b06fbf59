/** What the process that is killed and the test that judges it both know: alerts, and points that follow from time alone. */
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import { alertOf, ruleOf } from "./world.ts";

export const minute = 60_000;
export const sceneStartMs = Date.UTC(2026, 0, 10);

export const sceneAlerts: readonly AlertDefinition[] = Array.from({ length: 8 }, (_, i) => {
  const missing = (["notBreaching", "missing", "ignore"] as const)[i % 3]!;
  const actions = ["one", "two"].map((uuid) => {
    return { type: "webhook" as const, webhookDestination: { uuid, notifyOnResolve: true } };
  });
  const rule = ruleOf({ m: 1 + (i % 2), n: 1 + (i % 3 === 0 ? 1 : i % 2), missing, actions });
  return alertOf(`alert ${i}`, `query ${i % 4}`, [rule]);
});

export const sceneNames = ["a", "b", "c"];

/** Trouble comes and goes, and sometimes there is nothing. */
export function sceneValue(query: string, name: string, bucketMs: number): number | null {
  const stretch = Math.floor((bucketMs - sceneStartMs) / minute / 4);
  let hash = 2166136261;
  for (const character of `${query} ${name} ${stretch}`)
    hash = Math.imul(hash ^ character.charCodeAt(0), 16777619);
  const draw = (hash >>> 7) % 10;
  if (draw === 0) return null;
  return draw < 4 ? 9 : 1;
}

export interface KilledArguments {
  dir: string;
  /** Of the receiver. */
  url: string;
  nowMs: number;
  untilMs: number;
}

import { retryAfterMsMax, retryDelaysMs, retryJitter } from "./limits.ts";

/**
 * Returns the wait before the next try, after `tries` tries that failed; undefined: give up. `afterMs`: the pause that
 * the receiver asked for. `random`: from 0 to 1.
 */
export function retryDelayMs(tries: number, afterMs: number | undefined, random: number): number | undefined {
  const delayMs = retryDelaysMs[tries - 1];
  if (delayMs === undefined) return undefined;
  const spread = Math.round(delayMs * (1 + retryJitter * random));
  return Math.max(spread, Math.min(afterMs ?? 0, retryAfterMsMax));
}

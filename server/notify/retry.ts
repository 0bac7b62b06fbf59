import { retryAfterMsMax, retryDelaysMs, retryJitter } from "./limits.ts";

/** When to try again after so many tries that failed; undefined: give up. `random` is from 0 to 1. */
export function retryDelayMs(tries: number, afterMs: number | undefined, random: number): number | undefined {
  const delayMs = retryDelaysMs[tries - 1];
  if (delayMs === undefined) return undefined;
  const spread = Math.round(delayMs * (1 + retryJitter * random));
  return Math.max(spread, Math.min(afterMs ?? 0, retryAfterMsMax));
}

/** Services that get fewer calls from outside than usual: what is not there leaves no spans behind. */

import type { Invocations } from "./invocations.ts";
import { medianOf } from "./statistics.ts";
import type { Period, Telemetry } from "./telemetry.ts";

/** A service that gets fewer calls from outside. */
export interface Drop {
  service: string;
  /** Calls a minute. */
  calls: number;
  usual: number;
}

/** Fewer calls than this share of the usual ones are a drop. */
const shareMax = 0.5;
const usualMin = 10;

/** `minutes`: the length of the incident. */
export function findDrops(
  { timeline }: Telemetry,
  { count, calls, keyOf, keys, chunks }: Invocations,
  { incident, baseline }: Period,
  minutes: number,
): Drop[] {
  const byService = new Map<string, Float64Array>();
  for (let i = 0; i < count; i++) {
    if (calls[i] !== -1 || chunks[i] === -1) continue;
    const { service } = keys[keyOf[i]!]!;
    const own = byService.get(service) ?? new Float64Array(timeline.total);
    byService.set(service, own);
    own[chunks[i]!]!++;
  }
  return [...byService].flatMap(([service, byChunk]): Drop[] => {
    const usual = medianOf(baseline.map((chunk) => byChunk[chunk]!));
    const rate = incident.reduce((sum, chunk) => sum + byChunk[chunk]!, 0) / minutes;
    return usual >= usualMin && rate < shareMax * usual ? [{ service, calls: rate, usual }] : [];
  });
}

/** Investigations: which service is the cause of what happens in a window, and what speaks for it. */

import type { QueryLimits } from "../../engine/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import { findBehaviour } from "./behaviour.ts";
import { findInvocations } from "./invocations.ts";
import { findLatency } from "./latency.ts";
import { findSaturation } from "./saturation.ts";
import { rankSuspects, type Suspect } from "./suspects.ts";
import { type Incident, readTelemetry } from "./telemetry.ts";

/** What an investigation found. */
export interface Investigation {
  /** The strongest evidence first; none where nothing differs from the time before. */
  suspects: Suspect[];
  /** Rows that were read of the window and of the time before. */
  spans: number;
  logs: number;
}

/** The time before a window that shows what is usual. */
export const baselineMsDefault = 3_600_000;

/** Compares a window with the time before it. Throws what the store throws. */
export async function investigate(
  store: SearchableStore,
  incident: Incident,
  limits?: QueryLimits,
): Promise<Investigation> {
  const [telemetry, saturation] = await Promise.all([
    readTelemetry(store, incident, limits),
    findSaturation(store, incident, limits),
  ]);
  const invocations = findInvocations(telemetry.spans, telemetry.timeline);
  const behaviour = findBehaviour(telemetry, invocations);
  const latency = findLatency(telemetry, invocations);
  return {
    suspects: rankSuspects({ behaviour, latency, saturation }),
    spans: telemetry.spans.rows,
    logs: telemetry.logs.rows,
  };
}

/** Investigations: which service is the cause of what happens in a window, and what speaks for it. */

import type { QueryLimits } from "../../engine/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import { runAnalysis } from "./analysis-thread.ts";
import { findSaturation } from "./saturation.ts";
import type { Suspect } from "./suspects.ts";
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

/** Compares a window with the time before it. Throws what the store throws, and Failure as `runAnalysis`. */
export async function investigate(
  store: SearchableStore,
  incident: Incident,
  limits: QueryLimits = {},
): Promise<Investigation> {
  const startedAtMs = performance.now();
  const [telemetry, saturation] = await Promise.all([
    readTelemetry(store, incident, limits),
    findSaturation(store, incident, limits),
  ]);
  const [spans, logs] = [telemetry.spans.rows, telemetry.logs.rows];
  const { deadlineMs } = limits;
  const left = deadlineMs === undefined ? {} : { deadlineMs: deadlineMs - (performance.now() - startedAtMs) };
  const suspects = await runAnalysis({ telemetry, saturation }, { ...limits, ...left });
  return { suspects, spans, logs };
}

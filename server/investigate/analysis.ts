/** The analysis of what was read, as it runs on a thread of its own. */

import { findBehaviour } from "./behaviour.ts";
import { findInvocations } from "./invocations.ts";
import { findLatency } from "./latency.ts";
import type { Saturation } from "./saturation.ts";
import { rankSuspects, type Suspect } from "./suspects.ts";
import { joinTelemetry, type TelemetryColumns } from "./telemetry.ts";

/** What one analysis gets. */
export interface AnalysisTask {
  telemetry: TelemetryColumns;
  saturation: Saturation[];
}

/** The services with the strongest evidence first. */
export async function analyse({ telemetry: columns, saturation }: AnalysisTask): Promise<Suspect[]> {
  const telemetry = await joinTelemetry(columns);
  const invocations = findInvocations(telemetry.spans, telemetry.timeline);
  const behaviour = findBehaviour(telemetry, invocations);
  return rankSuspects({ behaviour, latency: findLatency(telemetry, invocations), saturation });
}

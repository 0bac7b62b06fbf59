/** The analysis of what was read, as it runs on a thread of its own. */

import { type Affected, findAffected } from "./affected.ts";
import { countFeatures, findBehaviour } from "./behaviour.ts";
import { changesBeforeMs } from "./cluster-states.ts";
import { type Calibration, findConfidence, pseudoPeriodsOf } from "./confidence.ts";
import { findDrops } from "./drops.ts";
import { focusOn, usualGroupsOf } from "./focus.ts";
import { findInvocations, type Invocations } from "./invocations.ts";
import { type ClusterChange, findClusterChanges, type ResourceState } from "./kubernetes-changes.ts";
import { collectLatency, findLatency, findSlow } from "./latency.ts";
import { countLines, findLines } from "./lines.ts";
import type { MetricChanges } from "./metric-changes.ts";
import { makeSpansFromLogs } from "./spans-from-logs.ts";
import { rampOf } from "./statistics.ts";
import { type FoundEvidence, rankSuspects, type Suspect } from "./suspects.ts";
import { joinTelemetry, type Period, type TelemetryColumns } from "./telemetry.ts";

/** What one analysis gets. */
export interface AnalysisTask {
  telemetry: TelemetryColumns;
  metrics: MetricChanges;
  /** What objects of the cluster were, the oldest first. */
  resources: ResourceState[];
  /** From which time changes of objects count, Unix milliseconds. */
  changesFromMs: number;
}

/** A suspect, and how likely it is the cause. */
export interface RatedSuspect extends Suspect {
  /** From 0 to 1. */
  confidence: number;
}

export interface Analysis {
  /** The strongest evidence first. */
  suspects: RatedSuspect[];
  affected: Affected[];
  /** All changes of the cluster, the oldest first. */
  changes: ClusterChange[];
  calibration: Calibration;
}

export async function analyse({
  telemetry: columns,
  metrics,
  resources,
  changesFromMs,
}: AnalysisTask): Promise<Analysis> {
  const isGuessed = columns.spans.rows === 0;
  const spans = isGuessed ? makeSpansFromLogs(columns.logs) : columns.spans;
  const telemetry = await joinTelemetry({ ...columns, spans });
  const { chunks, total } = telemetry.timeline;
  const found = findInvocations(telemetry.spans, telemetry.timeline);
  const { focus, incident } = columns;
  const invocations = focus === undefined ? found : focusOn(found, telemetry, focus);
  const counts = countFeatures(telemetry, invocations);
  const latencies = collectLatency(telemetry, invocations);
  const calls = callsByChunk(invocations.chunks, total);
  const lineCounts = countLines(telemetry);
  const { startMs, endMs } = incident;
  const minutes = Math.max(1, Math.ceil((endMs - startMs) / 60_000));
  const changes = findClusterChanges(resources, changesFromMs).map((change) => ageChange(change, startMs));
  const none = { metrics: [], changes: [] };
  const graph = { calls: callsOf(invocations), onNode: metrics.onNode };
  const isFocused = focus !== undefined;
  const usual = Array.from({ length: total }, (_, chunk) => chunk).filter((chunk) => chunk !== chunks);
  const real: Period = { incident: [chunks], baseline: usual, isFocused };
  const rank = (period: Period, beside: Pick<FoundEvidence, "metrics" | "changes">) => {
    const latency = findLatency(latencies, period);
    const slow = period === real ? findSlow(telemetry, invocations, latency) : new Set<number>();
    return rankSuspects({
      hasCalls: period.incident.some((chunk) => calls[chunk]! > 0),
      behaviour: findBehaviour(counts, telemetry, invocations, period, slow),
      // Traces that were chosen are as many as were chosen, and have no lines without spans.
      lines: isFocused ? [] : findLines(lineCounts, period, minutes),
      drops: isFocused ? [] : findDrops(telemetry, invocations, period, minutes),
      ...{ latency, ...beside, ...graph },
    });
  };
  const periods = isFocused ? usualGroupsOf(telemetry.timeline, calls) : pseudoPeriodsOf(incident, calls);
  const suspects = rank(real, { metrics: metrics.changes, changes });
  const pseudo = periods.map((period) => rank(period, none));
  const calibration = { calls: calls[chunks]!, logs: telemetry.logs.rows, isGuessed, pseudo };
  return {
    suspects: suspects.map((suspect, place) => {
      return { ...suspect, confidence: findConfidence(suspects, place, calibration) };
    }),
    affected: findAffected(telemetry, invocations),
    changes,
    calibration,
  };
}

/** A change counts in full for this long, and the less from then on. */
const freshMs = 600_000;
/** What a change counts that is as old as they are looked at. */
const oldestShare = 0.4;

/** A change that was followed by a time without an incident is the less likely its cause, the longer that time was. */
function ageChange(change: ClusterChange, startMs: number): ClusterChange {
  const age = rampOf(startMs - change.atMs, freshMs, changesBeforeMs);
  return { ...change, weight: change.weight * (1 - (1 - oldestShare) * age) };
}

function callsByChunk(chunkOf: Int32Array, chunks: number): Float64Array {
  const calls = new Float64Array(chunks);
  for (const chunk of chunkOf) if (chunk !== -1) calls[chunk]!++;
  return calls;
}

/** The services that each service calls. */
function callsOf({ keys }: Invocations): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { caller, service } of keys)
    if (caller !== "") found.set(caller, (found.get(caller) ?? new Set()).add(service));
  return found;
}

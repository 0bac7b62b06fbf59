/** Investigations: which service is the cause of what happens in a window, and what speaks for it. */

import { Failure, type QueryLimits } from "../../engine/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import type { InvestigationAnswer } from "../model/investigation.ts";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { runAnalysis } from "./analysis/analysis-thread.ts";
import { changesBeforeMs, readClusterStates } from "./analysis/cluster-states.ts";
import { hasHash } from "./analysis/hashes.ts";
import { findMetricChanges } from "./analysis/metric-changes.ts";
import { readTelemetry, type TraceChoice } from "./analysis/telemetry.ts";
import { composeAnswer } from "./answer/answer.ts";
import { candidatesOf, type IncidentWindow } from "./incident-window.ts";

/** What is investigated: all of a window, or traces of it that a search chooses. */
export interface InvestigatedWindow extends IncidentWindow {
  choice?: TraceChoice;
}

export type Investigate = (
  store: SearchableStore,
  window: InvestigatedWindow,
  limits?: QueryLimits,
) => Promise<InvestigationAnswer>;

/** The time before a window that shows what is usual. */
const baselineMs = 3_600_000;

/**
 * Compares a window with the hour before it. Throws a QueryError for a mistake in the choice of traces, what the store
 * throws, Failure as `runAnalysis`, and Refusal 400 for a choice without any trace.
 */
export const investigate: Investigate = async (store, { choice, ...window }, limits = {}) => {
  const startedAtMs = performance.now();
  const left = (): QueryLimits => {
    const { deadlineMs } = limits;
    if (deadlineMs === undefined) return limits;
    const leftMs = deadlineMs - (performance.now() - startedAtMs);
    if (leftMs <= 0) throw new Failure("deadline", "the investigation took longer than its deadline");
    return { ...limits, deadlineMs: leftMs };
  };
  const incident = { ...window, baselineMs: Math.max(0, window.startMs - baselineMs) };
  const [telemetry, metrics, resources] = await Promise.all([
    readTelemetry(store, incident, choice, left()),
    findMetricChanges(store, incident, left()),
    readClusterStates(store, incident, left()),
  ]);
  const { focus } = telemetry;
  if (focus !== undefined && !focus.low.some((_, row) => hasHash(focus, row)))
    throw makeFieldRefusal("query", "must find rows that belong to traces: in this window it finds none");
  const [spans, logs] = [telemetry.spans.rows, telemetry.logs.rows];
  const analysis = await runAnalysis(
    { telemetry, metrics, resources, changesFromMs: window.startMs - changesBeforeMs },
    left(),
  );
  const read = { spans, logs, series: metrics.series, resources: resources.length };
  const answer = await composeAnswer(store, { incident, analysis, read }, left());
  return { ...answer, ms: Math.round(performance.now() - startedAtMs) };
};

/** The answer about a window of fires, and the part of the window that it is about. */
interface FireAnswer {
  window: IncidentWindow;
  answer: InvestigationAnswer;
}

export type InvestigateFires = (
  store: SearchableStore,
  window: IncidentWindow,
  limits?: QueryLimits,
) => Promise<FireAnswer>;

/** Investigates a window of fires in each of its candidates, and returns the answer with the most confidence. */
export const investigateFires: InvestigateFires = async (store, window, limits) => {
  const found: FireAnswer[] = [];
  for (const candidate of candidatesOf(window))
    found.push({ window: candidate, answer: await investigate(store, candidate, limits) });
  const confidenceOf = ({ answer }: FireAnswer) => answer.suspects[0]?.confidence ?? 0;
  return found.reduce((best, each) => (confidenceOf(each) > confidenceOf(best) ? each : best));
};

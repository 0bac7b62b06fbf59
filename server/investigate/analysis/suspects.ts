/** Suspects: all evidence about a service together. */

import type { CauseKind } from "../../model/investigation.ts";
import type { ServiceBehaviour } from "./behaviour.ts";
import type { Drop } from "./drops.ts";
import type { ClusterChange } from "./kubernetes-changes.ts";
import type { ServiceLatency } from "./latency.ts";
import type { ServiceLines } from "./lines.ts";
import type { MetricChange, MetricClass } from "./metric-changes.ts";
import { rampOf } from "./statistics.ts";

export interface Suspect {
  service: string;
  /** From 0 to 1: how strong the evidence is. */
  score: number;
  kind: CauseKind;
  /** Whether its own requests show it: other evidence alone harms nobody, as far as one sees. */
  isShown: boolean;
  behaviour: ServiceBehaviour | undefined;
  latency: ServiceLatency | undefined;
  lines: ServiceLines | undefined;
  drop: Drop | undefined;
  /** The metrics that differ most first. */
  metrics: MetricChange[];
  changes: ClusterChange[];
}

/** From which score evidence counts, from which it counts in full, and how much it can convince. */
const behaviourRamp = { low: 1.5, high: 12, weight: 0.9 };
/** Of lines that belong to no span; they say less where spans are there, too. */
const linesRamp = { low: 4, high: 14, weight: 0.7, weightBesideCalls: 0.35 };
const latencyRamp = { low: 3.5, high: 11, weight: 0.75 };
const metricRamps: Readonly<Record<MetricClass, { low: number; high: number; weight: number }>> = {
  cpu: { low: 4, high: 14, weight: 0.85 },
  memory: { low: 6, high: 20, weight: 0.5 },
  other: { low: 10, high: 40, weight: 0.1 },
};
/** CPU, memory and changes explain what else is found from this weight on. */
const explainsMin = 0.3;
const metricsMax = 5;
/** What metrics and changes of a service count where neither its calls nor those of its callers show anything. */
const harmlessRelevance = 0.2;

export interface FoundEvidence {
  behaviour: readonly ServiceBehaviour[];
  latency: readonly ServiceLatency[];
  lines: readonly ServiceLines[];
  drops: readonly Drop[];
  metrics: readonly MetricChange[];
  changes: readonly ClusterChange[];
  /** Whether there are calls in the incident: then harm that they do not show is none. */
  hasCalls: boolean;
  /** Services that a service calls. */
  calls: ReadonlyMap<string, ReadonlySet<string>>;
  /** Services that have pods on a node. */
  onNode: Readonly<Record<string, readonly string[]>>;
}

const dropSymptom = 0.2;
/** From this symptom on, metrics and changes of a service count in full. */
const symptomEnough = 0.4;
/** Callers of a service that suffer speak for its metrics and changes, too. */
const callersWeight = 0.7;

interface Parts {
  behaviour: number;
  latency: number;
  lines: number;
  metrics: Record<MetricClass, number>;
  change: number;
}

/** The services with the strongest evidence first. */
export function rankSuspects(found: FoundEvidence): Suspect[] {
  const symptoms = new Map<string, number>();
  const noteSymptom = (service: string, part: number) =>
    symptoms.set(service, Math.max(part, symptoms.get(service) ?? 0));
  for (const { service, score } of found.behaviour)
    noteSymptom(service, rampOf(score, behaviourRamp.low, behaviourRamp.high));
  for (const { service, score } of found.latency)
    noteSymptom(service, rampOf(score, latencyRamp.low, latencyRamp.high));
  // A service that nobody calls any more may have been lost: that by itself is no evidence against it.
  for (const { service } of found.drops) noteSymptom(service, dropSymptom);
  for (const { service, score, changes } of found.lines)
    if (changes[0]!.isError) noteSymptom(service, rampOf(score, linesRamp.low, linesRamp.high));
  const services = new Set([
    ...[...found.behaviour, ...found.latency, ...found.lines].map(({ service }) => service),
    ...found.metrics.flatMap((each) => servicesOf(each, found)),
    ...found.changes.flatMap((each) => each.services),
  ]);
  services.delete("");
  return [...services]
    .map((service) => rate(service, found, symptoms))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

function servicesOf({ service, node }: MetricChange, { onNode }: FoundEvidence): readonly string[] {
  return service === "" ? (onNode[node] ?? []) : [service];
}

function rate(service: string, found: FoundEvidence, symptoms: ReadonlyMap<string, number>): Suspect {
  const behaviour = found.behaviour.find((each) => each.service === service);
  const latency = found.latency.find((each) => each.service === service);
  const lines = found.lines.find((each) => each.service === service);
  const drop = found.drops.find((each) => each.service === service);
  const metrics = found.metrics.filter((each) => servicesOf(each, found).includes(service));
  const changes = found.changes.filter((each) => each.services.includes(service));
  const relevance = relevanceOf(service, found, symptoms);
  const ofClass = (name: MetricClass) => {
    const { low, high } = metricRamps[name];
    const own = metrics.filter((each) => each.class === name).map(({ surprise }) => Math.abs(surprise));
    return relevance * rampOf(Math.max(0, ...own), low, high);
  };
  const parts: Parts = {
    behaviour: rampOf(behaviour?.score ?? 0, behaviourRamp.low, behaviourRamp.high),
    latency: rampOf(latency?.score ?? 0, latencyRamp.low, latencyRamp.high),
    lines: rampOf(lines?.score ?? 0, linesRamp.low, linesRamp.high),
    metrics: { cpu: ofClass("cpu"), memory: ofClass("memory"), other: ofClass("other") },
    change: relevance * Math.max(0, ...changes.map(({ weight }) => weight)),
  };
  const doubt =
    (1 - behaviourRamp.weight * parts.behaviour) *
    (1 - latencyRamp.weight * parts.latency) *
    (1 - (found.hasCalls ? linesRamp.weightBesideCalls : linesRamp.weight) * parts.lines) *
    (1 - metricRamps.cpu.weight * parts.metrics.cpu) *
    (1 - metricRamps.memory.weight * parts.metrics.memory) *
    (1 - metricRamps.other.weight * parts.metrics.other) *
    (1 - parts.change);
  return {
    ...{
      service,
      score: 1 - doubt,
      kind: kindOf(parts, { behaviour, latency, changes }, callersOf(service, found)),
    },
    isShown:
      parts.behaviour > 0 ||
      parts.latency > 0 ||
      (relevance > harmlessRelevance && parts.change >= explainsMin),
    ...{ behaviour, latency, lines, drop, metrics: metrics.slice(0, metricsMax) },
    changes: changes.toSorted((a, b) => b.weight - a.weight),
  };
}

/** How far metrics and changes of a service matter: as far as calls of the service show something, too. */
function relevanceOf(
  service: string,
  { calls, hasCalls }: FoundEvidence,
  symptoms: ReadonlyMap<string, number>,
): number {
  if (!hasCalls) return 1;
  const callers = [...calls].filter(([, called]) => called.has(service)).map(([caller]) => caller);
  const ofCallers = Math.max(0, ...callers.map((caller) => symptoms.get(caller) ?? 0));
  const shown = Math.max(symptoms.get(service) ?? 0, callersWeight * ofCallers);
  return harmlessRelevance + (1 - harmlessRelevance) * Math.min(1, shown / symptomEnough);
}

function callersOf(service: string, { calls }: FoundEvidence): number {
  return [...calls.values()].filter((called) => called.has(service)).length;
}

function kindOf(
  { behaviour: byBehaviour, latency: byLatency, lines, metrics, change }: Parts,
  { behaviour, latency, changes }: Pick<Suspect, "behaviour" | "latency" | "changes">,
  callers: number,
): CauseKind {
  const heaviest = changes.reduce<ClusterChange | undefined>(
    (most, each) => (most === undefined || each.weight > most.weight ? each : most),
    undefined,
  );
  if (heaviest !== undefined && change >= explainsMin) return heaviest.kind;
  if (metrics.cpu >= explainsMin) return "cpu";
  if (metrics.memory >= explainsMin) return "memory";
  if (byBehaviour === 0 && byLatency === 0 && lines > 0) return "code";
  if (byBehaviour === 0 && byLatency === 0) return metrics.memory > metrics.cpu ? "memory" : "cpu";
  if (byBehaviour < byLatency) return latency?.isNetwork === true ? "network" : "latency";
  const [strongest] = behaviour?.changes ?? [];
  if (strongest?.feature.kind === "no answer") {
    const unanswered = behaviour!.changes.filter(({ feature }) => feature.kind === "no answer");
    return new Set(unanswered.map(({ caller }) => caller)).size < callers ? "network" : "unavailable";
  }
  const named = behaviour?.changes.some(
    ({ feature }) => feature.kind === "error span" || /exception/i.test(feature.what),
  );
  return named === true ? "exception" : "code";
}

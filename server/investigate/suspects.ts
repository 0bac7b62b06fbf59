/** Suspects: all evidence about a service together. */

import type { ServiceBehaviour } from "./behaviour.ts";
import type { ServiceLatency } from "./latency.ts";
import type { Saturation } from "./saturation.ts";
import { rampOf } from "./statistics.ts";

/** What kind of cause the evidence speaks for. */
type CauseKind = "code" | "exception" | "latency" | "network" | "cpu";

export interface Suspect {
  service: string;
  /** From 0 to 1: how strong the evidence is. */
  score: number;
  kind: CauseKind;
  behaviour: ServiceBehaviour | undefined;
  latency: ServiceLatency | undefined;
  saturation: Saturation | undefined;
}

/** From which score evidence counts, from which it counts in full, and how much it can convince. */
const behaviourRamp = { low: 1.5, high: 12, weight: 0.9 };
const latencyRamp = { low: 3.5, high: 11, weight: 0.75 };
const cpuRamp = { low: 4, high: 14, weight: 0.85 };
/** CPU explains what else is found. */
const cpuKindMin = 0.3;

interface Evidence {
  behaviour: readonly ServiceBehaviour[];
  latency: readonly ServiceLatency[];
  saturation: readonly Saturation[];
}

/** The services with the strongest evidence first. */
export function rankSuspects({ behaviour, latency, saturation }: Evidence): Suspect[] {
  const services = new Set([...behaviour, ...latency, ...saturation].map(({ service }) => service));
  return [...services]
    .map((service): Suspect => {
      const own = {
        behaviour: behaviour.find((each) => each.service === service),
        latency: latency.find((each) => each.service === service),
        saturation: saturation.find((each) => each.service === service && each.surprise > cpuRamp.low),
      };
      const parts = {
        behaviour: rampOf(own.behaviour?.score ?? 0, behaviourRamp.low, behaviourRamp.high),
        latency: rampOf(own.latency?.score ?? 0, latencyRamp.low, latencyRamp.high),
        cpu: rampOf(own.saturation?.surprise ?? 0, cpuRamp.low, cpuRamp.high),
      };
      const doubt =
        (1 - behaviourRamp.weight * parts.behaviour) *
        (1 - latencyRamp.weight * parts.latency) *
        (1 - cpuRamp.weight * parts.cpu);
      return { service, score: 1 - doubt, kind: kindOf(parts, own), ...own };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

function kindOf(
  parts: { behaviour: number; latency: number; cpu: number },
  { behaviour, latency }: Pick<Suspect, "behaviour" | "latency">,
): CauseKind {
  if (parts.cpu >= cpuKindMin) return "cpu";
  if (parts.behaviour < parts.latency) return latency?.isNetwork === true ? "network" : "latency";
  const named = behaviour?.changes.some(
    ({ feature }) => feature.kind === "error span" || /exception/i.test(feature.what),
  );
  return named === true ? "exception" : "code";
}

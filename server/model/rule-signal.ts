/** The signals that telemetry rules and ingestion rules name. */

import type { Signal } from "../../engine/index.ts";

export const ruleSignals = ["logs", "metrics", "traces", "profiles", "kubernetesResources"] as const;
export type RuleSignal = (typeof ruleSignals)[number];

/** The name in rules of each stored signal. */
export const ruleSignalOf: Readonly<Record<Signal, RuleSignal>> = {
  logs: "logs",
  traces: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetesResources",
};

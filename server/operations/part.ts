/** The operations part of the server: probes, its own metrics, and backups. */

import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StoragePart } from "../storage/part.ts";
import { backupRoute } from "./backup-route.ts";
import { healthRoutes } from "./health.ts";
import { registerMemoryMetrics } from "./memory-metrics.ts";
import { registerStoreMetrics } from "./store-metrics.ts";

export interface OperationsSettings {
  dataDir: string;
  log: (level: "error", message: string) => void;
}

export function operationsPart(
  { dataDir, log }: OperationsSettings,
  { store, state, memory }: StoragePart,
  { audit }: Pick<ControlPart, "audit">,
  metrics: Metrics,
): Part {
  registerStoreMetrics(metrics, store, state);
  registerMemoryMetrics(metrics, memory);
  return {
    routes: [
      ...healthRoutes(() => store.stats().refusing ?? null, metrics),
      backupRoute({ store, state, audit, dataDir, log: (message) => log("error", message) }),
    ],
  };
}

/** The paths of JSON lines, `/api/v1/ingest/{name}`. */

import type { Signal } from "../../engine/index.ts";

/** The signal that is stored from each path, by the path's last segment. */
export const signalOfPath = {
  logs: "logs",
  spans: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetes_resources",
} as const satisfies Record<string, Signal>;

/** Metrics of the memory that the process may take. */

import type { MemoryBudget } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";

export function registerMemoryMetrics(metrics: Metrics, { bytes, parts }: MemoryBudget): void {
  metrics.gauge("svc_memory_limit_bytes", "Memory that the process may take (--memory).", () => bytes);
  metrics.gauge("svc_memory_part_limit_bytes", "What each part of the process may take of it.", () =>
    Object.entries(parts).map(([part, partBytes]) => [{ part }, partBytes]),
  );
}

import type { BenchOptions } from "tinybench";
import type { Workload } from "./workload.ts";

/** How long tinybench goes on with one task. A small workload is a trial of the benchmark itself, not a measurement. */
export function budgetOf({ options }: Workload): BenchOptions {
  const isTrial = options.rows < 100_000;
  return {
    time: isTrial ? 50 : 3000,
    iterations: isTrial ? 3 : 20,
    warmupIterations: isTrial ? 1 : 5,
    warmupTime: 0,
    retainSamples: true,
    throws: true,
  };
}

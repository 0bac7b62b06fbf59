/** Summary of repeated measurements, mostly milliseconds. */
export interface Spread {
  median: number;
  /** Median of the absolute deviations from the median. */
  deviation: number;
  min: number;
  p99: number;
  runs: number;
}

/** All zeros where there are no samples. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  const deviations = sorted.map((sample) => Math.abs(sample - median)).sort((a, b) => a - b);
  return {
    median,
    deviation: quantile(deviations, 0.5),
    min: quantile(sorted, 0),
    p99: quantile(sorted, 0.99),
    runs: sorted.length,
  };
}

/** Takes sorted values; 0 where there are none. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

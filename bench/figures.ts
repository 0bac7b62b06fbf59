/** Of repeated measurements, mostly milliseconds. */
export interface Spread {
  median: number;
  /** Median of the distances from the median. */
  deviation: number;
  min: number;
  p99: number;
  runs: number;
}

/** From single measurements; zeros where there are none. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  const distances = sorted.map((sample) => Math.abs(sample - median)).sort((a, b) => a - b);
  return {
    median,
    deviation: quantile(distances, 0.5),
    min: quantile(sorted, 0),
    p99: quantile(sorted, 0.99),
    runs: sorted.length,
  };
}

/** Of sorted values; 0 where there are none. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

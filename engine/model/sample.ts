/** Samples of metrics, as they are appended. */

/** `delta`: a counter whose samples are increases. `unknown`: `isCounterName` decides whether it is a counter. */
export type MetricType = "gauge" | "counter" | "delta" | "unknown";

/** One sample. Its series is identified by name and labels. */
export interface Sample {
  /** Nanoseconds since the epoch. */
  timeNs: bigint;
  name: string;
  type: MetricType;
  /** "" where none was given. */
  unit: string;
  /** A label with an empty value counts as absent. */
  labels: Readonly<Record<string, string>>;
  value: number;
  /**
   * Of a counter: when it began at 0, in nanoseconds since the epoch; absent where that is not known. Where it is the
   * time of the sample, the sample is the first of a counter that began at some time before.
   */
  startNs?: bigint;
}

/**
 * The start of a counter is stored as a sample of 0 this many nanoseconds before it, so that a sample at the very time of
 * the start stands beside it: the zero then does not count.
 */
export const startLeadNs = 1;

/** Returns whether the name of a metric of unknown type has an ending that OpenMetrics gives to counters only. */
export function isCounterName(name: string): boolean {
  return name.endsWith("_total") || name.endsWith("_bucket");
}

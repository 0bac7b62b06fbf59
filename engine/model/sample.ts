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
}

/** Returns whether the name of a metric of unknown type has an ending that OpenMetrics gives to counters only. */
export function isCounterName(name: string): boolean {
  return name.endsWith("_total") || name.endsWith("_bucket");
}

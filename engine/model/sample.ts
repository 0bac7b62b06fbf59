/** Samples of metrics as they are appended. */

/** `delta`: a counter whose every sample is an increase. `unknown`: the name tells (see `isCounterName`). */
export type MetricType = "gauge" | "counter" | "delta" | "unknown";

/** One sample; its series is its name and its labels. */
export interface Sample {
  /** Nanoseconds since the epoch. */
  timeNs: bigint;
  name: string;
  type: MetricType;
  /** "" where none was given. */
  unit: string;
  /** A label with an empty value is as good as none. */
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Whether a metric of unknown type is a counter by its name: the endings that OpenMetrics gives to counters alone. */
export function isCounterName(name: string): boolean {
  return name.endsWith("_total") || name.endsWith("_bucket");
}

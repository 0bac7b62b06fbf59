/** Names of OpenTelemetry's severity numbers. */

/** The severities. Each has four numbers, from 1 on (specification, logs data model, "SeverityNumber"). */
export const severityNames = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** Returns an index of `severityNames`, or -1 where the number stands for none. */
export function severityIndex(number: number): number {
  return number >= 1 && number <= 24 ? (number - 1) >> 2 : -1;
}

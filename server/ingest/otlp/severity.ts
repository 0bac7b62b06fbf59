/** Names of OpenTelemetry's severity numbers, four to each (specification, logs data model, "SeverityNumber"). */
export const severityNames = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** The place in `severityNames`, or -1 where the number says nothing. */
export function severityPlace(number: number): number {
  return number >= 1 && number <= 24 ? (number - 1) >> 2 : -1;
}

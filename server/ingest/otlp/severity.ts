/** The ranges of OpenTelemetry's severity numbers. Each has four numbers, from 1 on. */

/** Returns an index of `severityRanges`, or -1 where the number stands for none. */
export function severityIndex(number: number): number {
  return number >= 1 && number <= 24 ? (number - 1) >> 2 : -1;
}

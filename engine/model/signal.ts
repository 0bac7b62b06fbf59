/** Signals: the kinds of telemetry. Each has partitions of its own. */

/** All signals. A signal's index is its number in the journal, so the order is part of the format. */
export const signals = ["logs", "traces", "metrics", "profiles", "kubernetes_resources"] as const;

/** A kind of telemetry. */
export type Signal = (typeof signals)[number];

/** Signals that are stored as rows of time, level, message and attributes. */
export type RowSignal = Exclude<Signal, "metrics">;

/**
 * The signal with this number in the journal; undefined where this build knows none, as in a journal of a later
 * version.
 */
export function fromSignalNumber(number: number): Signal | undefined {
  return signals[number];
}

/** The signal's number in the journal. */
export function toSignalNumber(signal: Signal): number {
  return signals.indexOf(signal);
}

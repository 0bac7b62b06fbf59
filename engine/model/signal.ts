/** Signals: the kinds of telemetry, each in partitions of its own. */

/** A signal's place in the list is its number in the journal: the order is part of the format. */
export const signals = ["logs", "traces", "metrics", "profiles", "kubernetes_resources"] as const;

export type Signal = (typeof signals)[number];

/** Signals that are stored as rows of time, level, message and attributes. */
export type RowSignal = Exclude<Signal, "metrics">;

/** The signal that bears a number; undefined where none does, as in what a later version wrote. */
export function signalOf(number: number): Signal | undefined {
  return signals[number];
}

export function numberOf(signal: Signal): number {
  return signals.indexOf(signal);
}

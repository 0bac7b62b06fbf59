import { type RowSignal, signals } from "../../engine/index.ts";

/** Signals that are stored as rows. */
export const rowSignals = signals.filter((signal): signal is RowSignal => signal !== "metrics");

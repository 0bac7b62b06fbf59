import type { RowSignal } from "../../engine/index.ts";

/** Signals that are stored as rows. */
export const rowSignals = [
  "logs",
  "traces",
  "profiles",
  "kubernetes_resources",
] as const satisfies RowSignal[];

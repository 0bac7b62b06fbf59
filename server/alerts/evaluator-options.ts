import type { Signal } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { QueryShape } from "./query/query-shape.ts";
import type { ReadSeries } from "./state/reading.ts";
import type { StepCommitOptions } from "./step-commit.ts";

export interface AskedSeries {
  query: string;
  startMs: number;
  /** Inclusive. */
  endMs: number;
  bucketSeconds: number;
  /** Of the alerts that ask; "" where they do not say. */
  readsAs: string;
}

/** What comes in, as far as it says which judged buckets may differ now. */
interface Arrivals {
  /** Grows with what arrives. */
  position: () => number;
  /** Unix milliseconds: no row of the signals that arrived behind a position is older; undefined where none arrived. */
  oldestMs: (signals: readonly Signal[], position: number) => number | undefined;
}

export interface EvaluatorOptions extends StepCommitOptions {
  query: (asked: AskedSeries, signal: AbortSignal) => Promise<readonly ReadSeries[]>;
  shapeOf: (query: string) => QueryShape;
  arrivals: Arrivals;
  metrics: Metrics;
  log: (level: "warn" | "error", message: string) => void;
}

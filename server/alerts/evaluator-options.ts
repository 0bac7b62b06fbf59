/** What the evaluator needs from outside: queries, their plans, the arrival of rows, metrics and the log. */
import type { Signal } from "../../engine/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StepCommitOptions } from "./evaluation-commit.ts";
import type { QueryShape } from "./query/query-shape.ts";
import type { AliveMark } from "./state/downtime.ts";
import type { ReadSeries } from "./state/read-series.ts";

/** The query of a group, over a range of whole buckets. */
export interface SeriesRequest {
  query: string;
  startMs: number;
  /** End of the range, inclusive. */
  endMs: number;
  bucketSeconds: number;
  /** The access rights of the alerts, as text; "" where they have none of their own. */
  readsAs: string;
}

/** What is known of rows that arrived: it shows which judged buckets may have changed. */
interface Arrivals {
  /** A position that grows with every arrival. */
  position: () => number;
  /**
   * Unix milliseconds. No row of the signals that arrived after the position is older. Undefined where none arrived.
   */
  oldestMs: (signals: readonly Signal[], position: number) => number | undefined;
}

export interface EvaluatorOptions extends StepCommitOptions {
  query: (request: SeriesRequest, signal: AbortSignal) => Promise<readonly ReadSeries[]>;
  /** Starts of the buckets in which a scan of the query finds rows, whatever the query makes of them. */
  bucketsWithRows: (request: SeriesRequest, signal: AbortSignal) => Promise<readonly number[]>;
  shapeOf: (query: string) => QueryShape;
  /** The wait for late data of signals that have another one than `delayMs`. */
  signalDelaysMs: Partial<Record<Signal, number>>;
  /** Judged buckets are judged again where rows come up to this much later than the wait for late data; 0: never. */
  lateRowsMs: number;
  /** How long after a downtime rows are awaited that senders repeat. */
  retryWaitMs: number;
  /** How long transitions are kept. */
  historyAgeMs: number;
  /** A faster sign of life than that in the state. */
  aliveMark: AliveMark | undefined;
  arrivals: Arrivals;
  metrics: Metrics;
  log: (level: "warn" | "error", message: string) => void;
}

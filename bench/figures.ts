import type { QueryKind } from "./workload.ts";

/** How fast rows went in. */
export interface LoadFigure {
  name: string;
  rows: number;
  batchRows: number;
  rowsPerSecond: number;
  /** JSON lines a second, for loads that read them. */
  bytesPerSecond: number | null;
  /** From handing a batch over to its acknowledgement. */
  batchMs: Spread;
  /** Of the process that stores, at its largest; null where the system does not tell. */
  memoryBytesPeak: number | null;
}

/** How long a kind of query takes, each time with another needle. */
export interface QueryFigure {
  kind: QueryKind;
  name: string;
  ms: Spread;
  /** Rows in the answers, median. */
  rowsFound: number;
}

/** Of repeated measurements, milliseconds. */
export interface Spread {
  median: number;
  /** Median of the distances from the median. */
  deviation: number;
  min: number;
  p99: number;
  runs: number;
}

/** What loading left behind. */
export interface StoreFigure {
  rows: number;
  chunks: number;
  /** From the first row to the last acknowledgement, and on to the end of sealing. */
  loadSeconds: number;
  sealSeconds: number;
  /** Allocated blocks of the data folder. */
  diskBytes: number;
  /** JSON lines that were read. */
  inputBytes: number;
  memoryBytesAfterLoad: number;
  memoryBytesAfterQueries: number;
}

/** From milliseconds of single runs. */
export function spreadOf(samplesMs: readonly number[]): Spread {
  const sorted = samplesMs.toSorted((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  const distances = sorted.map((ms) => Math.abs(ms - median)).sort((a, b) => a - b);
  return {
    median,
    deviation: quantile(distances, 0.5),
    min: quantile(sorted, 0),
    p99: quantile(sorted, 0.99),
    runs: sorted.length,
  };
}

/** Of sorted values; 0 where there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

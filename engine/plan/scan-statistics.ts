/** Counts what a scan read and what it skipped. */

/** What one condition of a query did, over all chunks and threads. */
export interface ConditionStatistics {
  /** Chunks that hold no row that passes, by their statistics, membership filters or templates. */
  chunksExcluded: number;
  /** Rows of the excluded chunks. */
  rowsExcluded: number;
  /** Chunks whose columns were read for the condition. Statistics decide it for all rows of the others. */
  chunks: number;
  /** Rows that were tested, and rows that passed. */
  rowsIn: number;
  rowsOut: number;
  /** Time on the threads that scan, all together. */
  milliseconds: number;
}

/** What a scan read and what it skipped. */
export interface ScanStatistics {
  rows: number;
  /** Bytes of columns that were read and decoded; 0 where all of them were cached. */
  bytes: number;
  chunks: number;
  /** Chunks answered from their header or from metadata, without reading a column. */
  chunksSkipped: number;
  /** Rows of the skipped chunks. */
  rowsSkipped: number;
  /** Bytes of the skipped chunks as stored, filters included, or of parts in memory. */
  bytesSkipped: number;
  /** Those of the skipped chunks whose rows were counted by headers, templates or summaries of days. */
  chunksCounted: number;
  /** One for each condition before the first extraction, where the query asked for it. */
  conditions?: ConditionStatistics[];
}

/** Statistics of a scan that has read nothing yet. */
export function emptyScanStatistics(): ScanStatistics {
  return {
    rows: 0,
    bytes: 0,
    chunks: 0,
    chunksSkipped: 0,
    rowsSkipped: 0,
    bytesSkipped: 0,
    chunksCounted: 0,
  };
}

/** Statistics of a condition that has tested nothing yet. */
export function emptyConditionStatistics(): ConditionStatistics {
  return { chunksExcluded: 0, rowsExcluded: 0, chunks: 0, rowsIn: 0, rowsOut: 0, milliseconds: 0 };
}

/** Adds a chunk of which no column was read. `bytes`: as stored or, of a part, in memory. */
export function countSkippedChunk(
  scanned: ScanStatistics,
  { rows, bytes }: { rows: number; bytes: number },
): void {
  scanned.chunksSkipped++;
  scanned.rowsSkipped += rows;
  scanned.bytesSkipped += bytes;
}

/** Adds `part` to `sum`, but for its conditions. */
export function addScanStatistics(sum: ScanStatistics, part: ScanStatistics): void {
  sum.rows += part.rows;
  sum.bytes += part.bytes;
  sum.chunks += part.chunks;
  sum.chunksSkipped += part.chunksSkipped;
  sum.rowsSkipped += part.rowsSkipped;
  sum.bytesSkipped += part.bytesSkipped;
  sum.chunksCounted += part.chunksCounted;
}

/** Adds what the conditions of one query did in a part of its chunks. */
export function addConditionStatistics(sum: ScanStatistics, parts: readonly ConditionStatistics[]): void {
  sum.conditions ??= parts.map(emptyConditionStatistics);
  for (const [i, part] of parts.entries()) {
    const total = sum.conditions[i]!;
    for (const name of Object.keys(part) as (keyof ConditionStatistics)[]) total[name] += part[name];
  }
}

/** Counts what a scan read and what it skipped. */

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
  /** Bytes of the skipped chunks' columns, as stored. */
  bytesSkipped: number;
}

/** The sizes of a column in a chunk header. */
interface StoredColumn {
  storedBytes?: number;
  payloadBytes: number;
}

/** Statistics of a scan that has read nothing yet. */
export function emptyScanStatistics(): ScanStatistics {
  return { rows: 0, bytes: 0, chunks: 0, chunksSkipped: 0, rowsSkipped: 0, bytesSkipped: 0 };
}

/** Adds a chunk that its header answered. */
export function countSkippedChunk(
  scanned: ScanStatistics,
  { rows, columns }: { rows: number; columns: readonly StoredColumn[] },
): void {
  scanned.chunksSkipped++;
  scanned.rowsSkipped += rows;
  for (const { storedBytes, payloadBytes } of columns) scanned.bytesSkipped += storedBytes ?? payloadBytes;
}

/** Adds a chunk that was not opened. */
export function countUnreadChunk(
  scanned: ScanStatistics,
  { rows, bytes }: { rows: number; bytes: number },
): void {
  scanned.chunksSkipped++;
  scanned.rowsSkipped += rows;
  scanned.bytesSkipped += bytes;
}

/** Adds `part` to `sum`. */
export function addScanStatistics(sum: ScanStatistics, part: ScanStatistics): void {
  sum.rows += part.rows;
  sum.bytes += part.bytes;
  sum.chunks += part.chunks;
  sum.chunksSkipped += part.chunksSkipped;
  sum.rowsSkipped += part.rowsSkipped;
  sum.bytesSkipped += part.bytesSkipped;
}

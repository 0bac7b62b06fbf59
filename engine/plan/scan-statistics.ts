/** What a scan looked at, and what it could leave. */
export interface Scanned {
  rows: number;
  /** Of columns that had to be read and decoded; 0 where all of them were at hand. */
  bytes: number;
  chunks: number;
  /** Chunks of which no column was looked at, for their header told enough; with their rows, and the bytes of their columns as stored. */
  chunksSkipped: number;
  rowsSkipped: number;
  bytesSkipped: number;
}

/** Sizes of a column as its header gives them. */
interface StoredColumn {
  storedBytes?: number;
  payloadBytes: number;
}

export function nothingScanned(): Scanned {
  return { rows: 0, bytes: 0, chunks: 0, chunksSkipped: 0, rowsSkipped: 0, bytesSkipped: 0 };
}

/** Counts a chunk that its header settled. */
export function countSkippedChunk(
  scanned: Scanned,
  { rows, columns }: { rows: number; columns: readonly StoredColumn[] },
): void {
  scanned.chunksSkipped++;
  scanned.rowsSkipped += rows;
  for (const { storedBytes, payloadBytes } of columns) scanned.bytesSkipped += storedBytes ?? payloadBytes;
}

/** Counts a chunk that was not even opened. */
export function countUnreadChunk(scanned: Scanned, { rows, bytes }: { rows: number; bytes: number }): void {
  scanned.chunksSkipped++;
  scanned.rowsSkipped += rows;
  scanned.bytesSkipped += bytes;
}

export function addScanned(sum: Scanned, part: Scanned): void {
  sum.rows += part.rows;
  sum.bytes += part.bytes;
  sum.chunks += part.chunks;
  sum.chunksSkipped += part.chunksSkipped;
  sum.rowsSkipped += part.rowsSkipped;
  sum.bytesSkipped += part.bytesSkipped;
}

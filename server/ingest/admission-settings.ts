/** What operators configure about ingested rows: which are admitted, and how much a sender may send. */

export interface AdmissionSettings {
  /** Rows further behind the clock than this are refused. Undefined: only rows before 1970 are. */
  acceptPastMs?: number | undefined;
  /** Rows further ahead of the clock than this are refused. Undefined: rows more than a day ahead are. */
  acceptFutureMs?: number | undefined;
  /** Rows further off the clock than this, either way, are counted. */
  clockSkewMs?: number | undefined;
  /** The largest row, in bytes. Undefined: only the engine's caps apply. */
  rowBytesMax?: number | undefined;
  /** Too long log messages are truncated; otherwise the row is refused. */
  cutsLargeRows?: boolean | undefined;
}

/** How much one sender may send; null is unlimited. */
export interface SenderLimits {
  rowsPerSecond: number | null;
  bytesPerSecond: number | null;
}

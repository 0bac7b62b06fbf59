/** What is configured of rows on their way in. */

export interface AdmissionSettings {
  /** Rows further behind the clock are refused; without it those before 1970 alone. */
  acceptPastMs?: number | undefined;
  /** Rows further ahead of the clock are refused; without it those more than a day ahead. */
  acceptFutureMs?: number | undefined;
  /** Rows further off the clock are counted. */
  clockSkewMs?: number | undefined;
  /** Bytes of a row; without it the engine's caps count alone. */
  rowBytesMax?: number | undefined;
  /** Messages of logs that are too long are cut. */
  cutsLargeRows?: boolean | undefined;
}

/** What one sender may send; null is no bound. */
export interface SenderLimits {
  rowsPerSecond: number | null;
  bytesPerSecond: number | null;
}

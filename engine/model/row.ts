/** Rows as they are appended and returned. */

/** A log row, or a row of another signal that is stored as rows (all but metrics). */
export interface LogRow {
  /** Nanoseconds since the epoch. */
  timeNs: bigint;
  /** Log level as it was sent; "" where there was none. */
  level: string;
  message: string;
  attributes: Readonly<Record<string, string>>;
}

/** A row's position in the total order of search results: newest first, ties by arrival number. */
export interface RowPosition {
  timeNs: bigint;
  /** Arrival number: the row's number in the order in which the store acknowledged rows, from 1. */
  arrival: number;
}

/** A row as a search returns it. */
export interface FoundRow extends LogRow, RowPosition {}

/** A row or sample that was not stored. */
export interface RefusedRow {
  /** Index in the array that was passed in. */
  index: number;
  reason: string;
}

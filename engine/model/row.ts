/** One row of a log, or of another signal that is stored as rows, as it is appended. */
export interface LogRow {
  /** Nanoseconds since the epoch. */
  timeNs: bigint;
  /** As it was sent; "" where none was. */
  level: string;
  message: string;
  attributes: Readonly<Record<string, string>>;
}

/** A place in the total order of a search: newest first, ties by arrival. */
export interface RowPosition {
  timeNs: bigint;
  /** Number of the row in the order in which the store acknowledged rows, from 1. */
  arrival: number;
}

/** One row as a search returns it. */
export interface FoundRow extends LogRow, RowPosition {}

/** Why a row of a batch was not taken. */
export interface RefusedRow {
  /** Place in the batch as it was handed in, from 0. */
  index: number;
  reason: string;
}

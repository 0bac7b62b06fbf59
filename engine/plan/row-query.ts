import type { FoundRow, RowPosition } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import type { Step } from "./filter.ts";
import type { Scanned } from "./scan-statistics.ts";

/** Rows of one selection in the order of their arrival. */
export interface ArrivedSelection {
  steps: Step[];
  /** Nanoseconds since the epoch, inclusive: of the rows' own times. */
  fromNs: bigint;
  /** The first so many; 0 counts them. */
  rowsMax: number;
}

export interface RowQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
  /** Rows to return at most, 1 or more. */
  limit: number;
  /** Only rows behind this place, which a page before ended with. */
  after?: RowPosition;
}

export interface SearchResult {
  /** Newest first, ties in the order of arrival. */
  rows: FoundRow[];
  /** Whether there are rows behind the last one. */
  more: boolean;
  scanned: Scanned;
}

export interface ScanQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
}

export interface ArrivedQuery {
  signal: RowSignal;
  /** Arrival numbers, exclusive. */
  after: number;
  /** Inclusive, at most the store's `arrivalMax`. */
  through: number;
  selections: readonly ArrivedSelection[];
}

export interface FieldsQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
}

/** Rows that match, and those of them that bear a field. */
export interface FieldCounts {
  rows: number;
  /** With a level that is not empty. */
  levels: number;
  /** By attribute key; what stages extract is among them. */
  attributes: Map<string, number>;
  /** False where there are more keys than are counted. */
  isWhole: boolean;
  scanned: Scanned;
}

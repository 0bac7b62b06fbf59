/** Queries that return rows or count their fields, and their results, as plain data. */
import type { FoundRow, RowPosition } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import type { RangeSelection, Step } from "./filter.ts";
import type { ScanStatistics } from "./scan-statistics.ts";

/** One selection of an arrival query: the first rows to arrive that pass `steps`. */
export interface ArrivalSelection {
  steps: Step[];
  /** Lower bound of the rows' own times: nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Rows to return at most; with 0 they are only counted. */
  rowsMax: number;
}

/** The newest rows of a time range that pass `steps`. */
export interface RowQuery extends ScanQuery {
  /** Rows to return at most; 1 or more. */
  limit: number;
  /** Only rows after this position, the last one of the previous page. */
  after?: RowPosition;
}

/** One page of rows. */
export interface SearchResult {
  /** Newest first; rows of equal time in the order of arrival. */
  rows: FoundRow[];
  /** Whether more rows follow the last one. */
  more: boolean;
  scanned: ScanStatistics;
}

/** All rows of a time range that pass `steps`. */
export interface ScanQuery extends RangeSelection {
  signal: RowSignal;
}

/** Rows by the order of their arrival. */
export interface ArrivalQuery {
  signal: RowSignal;
  /** Arrival number, exclusive. */
  after: number;
  /** Arrival number, inclusive; at most the store's `arrivalMax`. */
  through: number;
  selections: readonly ArrivalSelection[];
}

/** Asks which fields the rows of a time range that pass `steps` have. */
export type FieldsQuery = ScanQuery;

/** The number of matching rows, and of those that have a field. */
export interface FieldCounts {
  rows: number;
  /** Rows whose level is not empty. */
  levels: number;
  /** Rows by attribute key; extracted attributes are included. */
  attributes: Map<string, number>;
  /** False where some keys are not counted, because there are too many. */
  isWhole: boolean;
  scanned: ScanStatistics;
}

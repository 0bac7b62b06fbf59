/** Queries that return rows or count their fields, and their results, as plain data. */
import type { FoundRow, RowPosition } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import type { Field, RangeSelection, Step } from "./filter.ts";
import type { ScanStatistics } from "./scan-statistics.ts";

/** One selection of an arrival query: the first rows to arrive that pass `steps`. */
export interface ArrivalSelection {
  steps: Step[];
  /** Lower bound of the rows' own times: nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Rows to return at most; with 0 they are only counted. */
  rowsMax: number;
}

/**
 * The order of rows. `newest`: the newest first, rows of equal time in the order of arrival. `oldest`: the same order
 * from its end.
 */
export type RowOrder = "newest" | "oldest";

/** The first rows, in an order, of those of a time range that pass `steps`. */
export interface RowQuery extends ScanQuery {
  /** `newest` where it is absent. */
  order?: RowOrder;
  /** Rows to return at most; 1 or more. */
  limit: number;
  /** Only rows after this position, the last one of the previous page. */
  after?: RowPosition;
}

/** One page of rows. */
export interface SearchResult {
  /** In the order of the query. */
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

/** How a field of rows is read into a column. */
export interface ColumnRead {
  field: Exclude<Field, { kind: "time" }>;
  /** `text`: codes of distinct texts. `hash`: 64-bit hashes, for ids. `number`: numbers in decimal notation. */
  as: "text" | "hash" | "number";
}

/** One column of the rows of an answer. */
export type ColumnData =
  /** A row's text is `values[codes[row]]`; code 0 is "", which stands for rows that lack the field. */
  | { as: "text"; codes: Uint32Array; values: string[] }
  /** Both halves are 0 where the row lacks the field or has it empty. */
  | { as: "hash"; low: Uint32Array; high: Uint32Array }
  /** NaN where the row has no number. */
  | { as: "number"; values: Float64Array };

/** Asks for some fields of all rows of a time range that pass `steps`, to calculate with. */
export interface RowColumnsQuery extends ScanQuery {
  columns: readonly ColumnRead[];
  /** Whether the arrival numbers of the rows are asked for. */
  withArrivals?: boolean;
  /** Of each list of steps is asked whether a row that has passed `steps` would pass these, too. */
  conditions?: readonly Step[][];
  /** More rows fail with Failure "limit". */
  rowsMax: number;
}

/** Rows as columns, in no defined order. */
export interface RowColumns {
  rows: number;
  /** Nanoseconds since `fromNs` of the query. */
  timeNs: Float64Array;
  /** One for each column of the query. */
  columns: ColumnData[];
  /** Empty unless they were asked for. */
  arrivals: Float64Array;
  /** One for each condition of the query: 1 for the rows that pass it. */
  conditions: Uint8Array[];
  scanned: ScanStatistics;
}

/** Asks how many of the rows of a time range that pass `steps` have each value of each field. */
export interface ValuesQuery extends ScanQuery {
  /** An attribute with more values than this is not counted. */
  valuesMax: number;
}

/** The number of rows of each value of one field. */
export interface FieldValueCounts {
  /** The level (in lower case), the template of the message (its id), or an attribute. */
  field: Field;
  /** Undefined where the field has too many values. */
  values: Map<string, number> | undefined;
}

/** The number of matching rows, and of those that have each value of each field. */
export interface ValueCounts {
  rows: number;
  /** Extracted attributes are among them. */
  fields: FieldValueCounts[];
  /** False where some attributes are not counted, because there are too many. */
  isWhole: boolean;
  scanned: ScanStatistics;
}

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

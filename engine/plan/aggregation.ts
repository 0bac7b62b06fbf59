/** What an aggregation computes, as plain data, and how parts of it become one. */

import type { RowSignal } from "../model/signal.ts";
import type { TextVector } from "../vector/text.ts";
import type { Field, Step } from "./filter.ts";
import type { Scanned } from "./scan-statistics.ts";

/**
 * What is calculated with: the number that a field's text is, in decimal notation; with `path`, the number that stands there in the
 * JSON that the text is (members by name, elements by number). Rows without one are passed over.
 */
export interface Value {
  field: Field;
  path?: (string | number)[];
}

/**
 * `count`: rows. `first`, `last`: the least and the greatest time, whole milliseconds since the epoch. `stddev` is that of the whole
 * population. `quantile`: between the two numbers beside rank q × (n − 1), 0 ≤ q ≤ 1, in proportion. `distinct`: different texts that
 * are not empty, of levels in lower case.
 */
export type Aggregation =
  | { op: "count" }
  | { op: "first" }
  | { op: "last" }
  | { op: "sum" | "avg" | "min" | "max" | "stddev"; of: Value }
  | { op: "quantile"; of: Value; q: number }
  | { op: "distinct"; of: Field };

export interface AggregateQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
  /** A group for each different list of these fields' texts; without fields all rows are one group. */
  groupBy: Field[];
  /** Width of a bucket, at least a millisecond; buckets are aligned to the epoch. Without it the whole range is one. */
  bucketNs?: bigint;
  /** One or more. */
  aggregates: Aggregation[];
  /** The caller ranks the groups and keeps a few of them, so there may be more than of an answer. */
  isRanked?: boolean;
}

/** A point is a group in a bucket that has rows of it. Points come in no defined order. */
export interface Aggregated {
  groups: number;
  /**
   * Of group after group the text of each field of `groupBy`, which `textAt` reads: "" where rows lack the field or have it empty.
   * Levels are in lower case.
   */
  labels: TextVector;
  points: Points;
  scanned: Scanned;
}

export interface Points {
  /** Number of a point's group, from 0. */
  groups: Uint32Array;
  /** Number of a point's bucket: the bucket that holds `fromNs` is 0. */
  buckets: Float64Array;
  /** For each aggregate the value of every point; NaN where a point has no number. */
  values: Float64Array[];
}

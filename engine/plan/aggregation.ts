/** Aggregation queries over rows and counts by template, and their results, as plain data. */

import type { TextVector } from "../vector/text.ts";
import type { Field } from "./filter.ts";
import type { ScanQuery } from "./row-query.ts";
import type { ScanStatistics } from "./scan-statistics.ts";

/**
 * The number that an aggregate reads from a row: the text of the field in decimal notation. With `path`, the text is
 * JSON and the number is at that path (members by name, elements by index). Rows without such a number are skipped.
 */
export interface Value {
  field: Field;
  path?: (string | number)[];
}

/**
 * One aggregate of a point.
 *
 * - `count`: number of rows.
 * - `first`, `last`: the least and the greatest time, in whole milliseconds since the epoch.
 * - `stddev`: the standard deviation of the population.
 * - `numbers`: number of rows that have a number; NaN where none has.
 * - `squares`: the sum of the squared distances of the numbers from their mean. With `sum` and `numbers` of several points
 *   it gives their common standard deviation.
 * - `quantile`: 0 ≤ q ≤ 1; interpolated linearly between the two numbers next to rank q × (n − 1).
 * - `distinct`: number of different texts of the field, without the empty one; levels count in lower case.
 */
export type Aggregation =
  | { op: "count" }
  | { op: "first" }
  | { op: "last" }
  | { op: "sum" | "avg" | "min" | "max" | "stddev" | "numbers" | "squares"; of: Value }
  | { op: "quantile"; of: Value; q: number }
  | { op: "distinct"; of: Field };

/** Aggregates of the rows that pass `steps`, by group and time bucket. */
export interface AggregateQuery extends ScanQuery {
  /** Each different combination of these fields' texts is a group; without fields all rows are one group. */
  groupBy: Field[];
  /**
   * Width of a bucket, at least a millisecond; buckets are aligned to the epoch. Absent: the whole range is one bucket.
   */
  bucketNs?: bigint;
  /** One or more. */
  aggregates: Aggregation[];
  /** The caller ranks the groups and keeps a few, so a higher limit on the number of groups holds. */
  isRanked?: boolean;
}

/** What an aggregation found. A point is a group in a bucket that has rows of the group; points have no defined order. */
export interface AggregatedPoints {
  /** Number of groups. */
  groups: number;
  /**
   * The text of each field of `groupBy`, group after group, for `textAt`: group g has the texts from g × fields on. A
   * text is "" where rows lack the field or have it empty. Levels are in lower case.
   */
  labels: TextVector;
  points: Points;
}

/** The result of an aggregation. */
export interface AggregateResult extends AggregatedPoints {
  scanned: ScanStatistics;
}

/** Points in columns; index i of every vector is point i. */
export interface Points {
  /** Group of each point, from 0. */
  groups: Uint32Array;
  /** Bucket of each point; the bucket that contains `fromNs` is 0. */
  buckets: Float64Array;
  /** For each aggregate the values of all points; NaN where a point has no number. */
  values: Float64Array[];
}

/** Asks for the most frequent templates among the messages of logs that pass `steps`. */
export interface TemplateQuery extends ScanQuery {
  /** Templates to return at most; 1 or more. */
  limit: number;
}

/** The rows whose messages have the same template. */
export interface CountedTemplate {
  /** The id by which queries name the template. */
  id: string;
  rows: number;
  /** Times of the first and the last row, whole milliseconds since the epoch. */
  firstMs: number;
  lastMs: number;
  /** Rows by level, in lower case; "" for rows without one. Levels without rows are left out. */
  levels: ReadonlyMap<string, number>;
}

/** The most frequent templates, and how many rows and templates there are. */
export interface CountedTemplates {
  /** The most frequent first; equally frequent ones by id. */
  templates: CountedTemplate[];
  /** Rows that pass. */
  rows: number;
  /** Number of templates, whether returned or not. */
  distinct: number;
  scanned: ScanStatistics;
}

/** Queries over the samples and series of metrics, and their results, as plain data. */
import type { MetricType } from "../model/sample.ts";
import type { AggregateResult } from "./aggregation.ts";
import type { Field, RangeSelection } from "./filter.ts";

/**
 * One aggregate of a metric's samples, by group of series and time bucket. `steps` are filters over labels, whose field
 * kind is `attribute`.
 */
export interface SampleQuery extends RangeSelection {
  /** The metric's name. */
  name: string;
  /**
   * Width of a bucket, at least a millisecond; buckets are aligned to the epoch. Absent: the whole range is one bucket.
   */
  bucketNs?: bigint;
  /** Labels that groups are formed by; with `without`, all labels except those. */
  groupBy: Field[] | { without: string[] };
  /**
   * `increase`: every series is read as a counter. `value`: every series is read as a gauge, so that its samples count as
   * they were sent. `declared`: as its type says, which is that of its latest samples in the range.
   */
  of: "declared" | "increase" | "value";
  aggregate: SampleAggregate;
}

/**
 * An aggregate over the values that the series of a group have in a bucket. The value of a counter is its increase. The
 * value of a gauge is the average of its samples for `sum`, `avg` and `stddev`; for `min`, `max` and `quantile` each
 * sample is a value.
 * - `count`: series that have a sample; of `increase`, an increase.
 * - `distinct`: number of different texts of a label, without "", among those series.
 */
export type SampleAggregate =
  | { op: "count" | "sum" | "avg" | "min" | "max" | "stddev" }
  | { op: "quantile"; q: number }
  | { op: "distinct"; label: string }
  | SampleStatistics;

/**
 * Statistics of the samples that each series has in a bucket, as they were sent: one value of a point for each. Every
 * series is a group of its own.
 */
export interface SampleStatistics {
  op: "statistics";
  of: SampleStatistic[];
}

/**
 * Statistics that can be joined with those of the samples before and after. Times are milliseconds since `fromNs` of
 * the query. Squares are sums of squared distances from the mean (M2), of values or of times; `products` is the sum of
 * the products of both distances. `changes`: samples whose value differs from that of the sample before, in the bucket.
 */
export type SampleStatistic =
  | ("count" | "sum" | "min" | "max" | "mean" | "squares" | "changes")
  | ("first" | "firstTime" | "last" | "lastTime")
  | ("meanTime" | "timeSquares" | "products");

/** Which kinds of series were read. A series of unknown type counts as the kind that it was read as. */
export interface SeriesKinds {
  gauge: boolean;
  counter: boolean;
}

/**
 * The result of a sample query. `labels` has the text of each field of `groupBy`, group after group. For `without` it
 * has one text per group: the JSON list of its [key, value] pairs, ordered by key.
 */
export interface SampleAggregateResult extends AggregateResult {
  kinds: SeriesKinds;
}

/** Whether every series is a group of its own with at most one value in a bucket, so that nothing is merged. */
export function hasGroupPerSeries({ groupBy, aggregate: { op } }: SampleQuery): boolean {
  return !Array.isArray(groupBy) && groupBy.without.length === 0 && op !== "quantile" && op !== "distinct";
}

/** A metric as its series declare it. */
export interface MetricName {
  name: string;
  type: MetricType;
  unit: string;
  /** Number of its series. */
  series: number;
}

/** Asks for the label keys of series, or for the values of one label. `steps` are filters over labels. */
export interface SeriesLabelsQuery extends RangeSelection {
  /** The metric's name; undefined: every metric. */
  name?: string;
  /** The label whose values are asked for; undefined: the label keys. */
  key?: string;
  /** Results to return at most, 1 or more; those with the most series come first. */
  limit: number;
}

/** A label key, or a value of a label, and the number of series that have it. */
export interface SeriesCount {
  text: string;
  series: number;
}

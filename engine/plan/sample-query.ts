/** What is asked of samples and what comes back, as plain data. */
import type { MetricType } from "../model/sample.ts";
import type { Aggregated } from "./aggregation.ts";
import type { Field, Step } from "./filter.ts";

export interface SampleQuery {
  /** Of the metric. */
  name: string;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  /** Width of a bucket, at least a millisecond; buckets are aligned to the epoch. Without it the whole range is one. */
  bucketNs?: bigint;
  /** Filters over labels, which are attributes here. */
  steps: Step[];
  /** Labels that a group keeps; with `without`, all but those. */
  groupBy: Field[] | { without: string[] };
  /** `increase`: every series is read as a counter; `declared`: as its type says, which is what its latest samples in the range declare. */
  of: "declared" | "increase";
  aggregate: SampleAggregate;
}

/**
 * Over the values that the series of a group have in a bucket. A gauge's value for `sum`, `avg` and `stddev` is the average of its
 * samples, for `min`, `max` and `quantile` every sample is one; a counter's is its increase. `count`: series that have a value;
 * `distinct`: different texts of a label, but for "", among series that have a sample.
 */
export type SampleAggregate =
  | { op: "count" | "sum" | "avg" | "min" | "max" | "stddev" }
  | { op: "quantile"; q: number }
  | { op: "distinct"; label: string };

/** Which kinds of series were read. Those of unknown type are what they were read as. */
export interface SeriesKinds {
  gauge: boolean;
  counter: boolean;
}

/** Labels: of group after group the text of each field of `groupBy`; for `without` one text, the JSON of the pairs kept in order. */
export interface SamplesAggregated extends Aggregated {
  kinds: SeriesKinds;
}

/** How far back the sample before another may lie for the latter to have an increase. */
export const increaseAgeNsMax = 3_600_000_000_000;

/** Whether every series is a group of its own with one value in a bucket, so that nothing is joined. */
export function isOfEachSeries({ groupBy, aggregate: { op } }: SampleQuery): boolean {
  return !Array.isArray(groupBy) && groupBy.without.length === 0 && op !== "quantile" && op !== "distinct";
}

/** One metric as its series declare it. */
export interface MetricName {
  name: string;
  type: MetricType;
  unit: string;
  series: number;
}

export interface SeriesLabelsQuery {
  /** Undefined: of every metric. */
  name?: string;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  /** Filters over labels. */
  steps: Step[];
  /** The label whose texts are asked for; without it the keys are. */
  key?: string;
  /** The most, 1 or more: those of the most series come first. */
  limit: number;
}

/** A key, or a text of a label, and the series that bear it. */
export interface SeriesCount {
  text: string;
  series: number;
}

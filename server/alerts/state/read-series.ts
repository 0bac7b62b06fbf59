/** What evaluation reads: the values of a query's series for whole buckets. */

export interface ReadSeries {
  labels: Record<string, string>;
  /** Each: start of the bucket in Unix milliseconds, value. */
  points: readonly (readonly [ms: number, value: number])[];
}

/** The result of a query for whole buckets. */
export interface QueryReading {
  /** Start of the first bucket. */
  fromMs: number;
  /** End of the last bucket. */
  toMs: number;
  series: readonly ReadSeries[];
  /** True where the query gives exactly one series, without labels: then there is one instance, even without data. */
  unlabelled: boolean;
  /** Returns whether a bucket cannot be judged because the server was down. Such a bucket does not enter the window. */
  isLost: (bucketMs: number) => boolean;
}

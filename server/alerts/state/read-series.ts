/** What evaluation reads: the values of a query's series for whole buckets. */

import type { IncompleteBucket } from "./missing-rows.ts";

export interface ReadSeries {
  labels: Record<string, string>;
  /** Each: start of the bucket in Unix milliseconds, value. */
  points: readonly (readonly [ms: number, value: number])[];
}

/** The result of a query for whole buckets. */
export interface QueryReading {
  /** Start of the first new bucket, or of older ones that the window lacks. */
  fromMs: number;
  /** End of the last bucket. */
  toMs: number;
  /** Start of the first bucket that was read; less than `fromMs` where buckets of the window were read again. */
  readFromMs: number;
  /** Start of the first bucket of the window that may read otherwise than before; infinite where there is none. */
  comparedFromMs: number;
  series: readonly ReadSeries[];
  /** True where the query gives exactly one series, without labels: then there is one instance, even without data. */
  unlabelled: boolean;
  /** What is known of a bucket that may lack rows; undefined for a complete one. */
  incomplete: (bucketMs: number) => IncompleteBucket | undefined;
  /** Buckets of the window that end by this time keep the values by which they were judged, unless rows are awaited. */
  revisedAfterMs: number;
}

export interface ReadSeries {
  labels: Record<string, string>;
  /** Start of the bucket in milliseconds, value. */
  points: readonly (readonly [ms: number, value: number])[];
}

/** What a query answered for whole buckets. */
export interface QueryReading {
  /** Start of the first bucket. */
  fromMs: number;
  /** End of the last. */
  toMs: number;
  series: readonly ReadSeries[];
  /** Whether the query gives one series without labels and no other: then there is one instance, with or without data. */
  unlabelled: boolean;
  /** Buckets that cannot be judged, for the server was down: they leave no trace. */
  isLost: (bucketMs: number) => boolean;
}

import { bucketStartMsOf, type TimeBuckets } from "../time/buckets.ts";
import { labelsOf, type SeriesSet } from "./series-set.ts";

/** One series of an answer. */
export interface Series {
  /** Labels that the series lacks are left out; the empty text is no label. */
  labels: Record<string, string>;
  /**
   * Start of a bucket in milliseconds since the epoch, and the value in the bucket. Ascending; buckets without a value
   * are left out.
   */
  points: [ms: number, value: number][];
}

/** The series of an answer as columns. Objects for labels and points are made only when the caller asks for them. */
export class SeriesColumns {
  readonly #set: SeriesSet;
  readonly #buckets: TimeBuckets;

  /** Every series of `set.order` must have points, and their values must be finite. */
  constructor(set: SeriesSet, buckets: TimeBuckets) {
    this.#set = set;
    this.#buckets = buckets;
  }

  get length(): number {
    return this.#set.order.length;
  }

  /** The labels of the series at an index, which is at least 0 and below `length`. */
  labels(index: number): Record<string, string> {
    return Object.fromEntries(labelsOf(this.#set, this.#set.order[index]!));
  }

  /** Visits the points of the series at an index, in order of time. */
  eachPoint(index: number, visit: (ms: number, value: number) => void): void {
    const { order, starts, buckets, values } = this.#set;
    const series = order[index]!;
    for (let point = starts[series]!; point < starts[series + 1]!; point++) {
      visit(bucketStartMsOf(this.#buckets, buckets[point]!), values[point]!);
    }
  }

  toObjects(): Series[] {
    return Array.from({ length: this.length }, (_, index): Series => {
      const points: Series["points"] = [];
      this.eachPoint(index, (ms, value) => points.push([ms, value]));
      return { labels: this.labels(index), points };
    });
  }
}

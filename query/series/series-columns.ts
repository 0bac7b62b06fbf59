import { bucketStartMsOf, type TimeBuckets } from "../time/buckets.ts";
import { labelsOf, type SeriesSet } from "./series-set.ts";

export interface Series {
  /** A label that the rows of a series lack, or have empty, is not there. */
  labels: Record<string, string>;
  /** Start of the bucket in milliseconds since the epoch, and its value; ascending. A bucket without rows is missing. */
  points: [ms: number, value: number][];
}

/** The series of an answer as columns: labels and points become objects where they are asked for. */
export class SeriesColumns {
  readonly #set: SeriesSet;
  readonly #buckets: TimeBuckets;

  /** Every series of the set has points, and their values are finite. */
  constructor(set: SeriesSet, buckets: TimeBuckets) {
    this.#set = set;
    this.#buckets = buckets;
  }

  get length(): number {
    return this.#set.order.length;
  }

  /** Labels of the series at a place. */
  labels(place: number): Record<string, string> {
    return Object.fromEntries(labelsOf(this.#set, this.#set.order[place]!));
  }

  /** Visits the points of the series at a place, in order of time. */
  eachPoint(place: number, visit: (ms: number, value: number) => void): void {
    const { order, starts, buckets, values } = this.#set;
    const series = order[place]!;
    for (let point = starts[series]!; point < starts[series + 1]!; point++) {
      visit(bucketStartMsOf(this.#buckets, buckets[point]!), values[point]!);
    }
  }

  toObjects(): Series[] {
    return Array.from({ length: this.length }, (_, place): Series => {
      const points: Series["points"] = [];
      this.eachPoint(place, (ms, value) => points.push([ms, value]));
      return { labels: this.labels(place), points };
    });
  }
}

/** Points where every series is a group of its own: each value is a point, so no lookup is needed. */
import { checkPoints } from "../aggregate/point-table.ts";
import type { SampleAggregate } from "../plan/sample-query.ts";
import { growArray } from "../vector/text.ts";

/** The points in the form in which threads exchange them. The points of a group are in order of time. */
export interface SingleSeriesPart {
  groups: Uint32Array;
  buckets: Float64Array;
  values: Float64Array;
}

/** Collects the points of series that are groups of their own. */
export class SingleSeriesPoints {
  readonly #op: SampleAggregate["op"];
  #count = 0;
  #groups = new Uint32Array(1024);
  #buckets = new Float64Array(1024);
  #values = new Float64Array(1024);

  constructor({ op }: SampleAggregate) {
    this.#op = op;
  }

  get byteLength(): number {
    return this.#groups.length * 20;
  }

  /** Adds the one value that a group has in a bucket. Throws Failure "limit" where there are too many points. */
  add(group: number, bucket: number, value: number): void {
    const at = this.#count++;
    if (at === this.#groups.length) this.#grow();
    this.#groups[at] = group;
    this.#buckets[at] = bucket;
    this.#values[at] = this.#aggregateOne(value);
  }

  finish(): SingleSeriesPart {
    const count = this.#count;
    return {
      groups: this.#groups.slice(0, count),
      buckets: this.#buckets.slice(0, count),
      values: this.#values.slice(0, count),
    };
  }

  /** The aggregate of a single value. */
  #aggregateOne(value: number): number {
    if (this.#op === "count") return 1;
    // 0, but NaN for an infinity, whose distance from its mean is undefined.
    return this.#op === "stddev" ? value - value : value;
  }

  #grow(): void {
    checkPoints(this.#groups.length + 1);
    const length = this.#groups.length * 2;
    this.#groups = growArray(this.#groups, length);
    this.#buckets = growArray(this.#buckets, length);
    this.#values = growArray(this.#values, length);
  }
}

/** Points where every series is a group of its own: each value is a point, so no lookup is needed. */
import { checkPoints } from "../aggregate/point-table.ts";
import type { SampleAggregate } from "../plan/sample-query.ts";
import { growArray } from "../vector/arrays.ts";

/** The points in the form in which threads exchange them. The points of a group are in order of time. */
export interface SingleSeriesPart {
  groups: Uint32Array;
  buckets: Float64Array;
  /** One vector for each value of a point: one, or as many as there are statistics. */
  values: Float64Array[];
}

/** Collects the points of series that are groups of their own. */
export class SingleSeriesPoints {
  readonly #op: SampleAggregate["op"];
  #count = 0;
  #groups = new Uint32Array(1024);
  #buckets = new Float64Array(1024);
  #values: Float64Array<ArrayBuffer>[];

  constructor(aggregate: SampleAggregate) {
    this.#op = aggregate.op;
    const width = aggregate.op === "statistics" ? aggregate.of.length : 1;
    this.#values = Array.from({ length: width }, () => new Float64Array(1024));
  }

  get byteLength(): number {
    return this.#groups.length * (12 + 8 * this.#values.length);
  }

  /** Adds the one value that a group has in a bucket. Throws Failure "limit" where there are too many points. */
  add(group: number, bucket: number, value: number): void {
    // The vectors may be replaced as they grow, so the place comes first.
    const at = this.#addPoint(group, bucket);
    this.#values[0]![at] = this.#aggregateOne(value);
  }

  /** Adds the statistics that a group has in a bucket. Throws Failure "limit" where there are too many points. */
  addStatistics(group: number, bucket: number, values: Float64Array): void {
    const at = this.#addPoint(group, bucket);
    for (const [i, value] of values.entries()) this.#values[i]![at] = value;
  }

  /** Adds a point and returns its index. */
  #addPoint(group: number, bucket: number): number {
    const at = this.#count++;
    if (at === this.#groups.length) this.#grow();
    this.#groups[at] = group;
    this.#buckets[at] = bucket;
    return at;
  }

  finish(): SingleSeriesPart {
    const count = this.#count;
    return {
      groups: this.#groups.slice(0, count),
      buckets: this.#buckets.slice(0, count),
      values: this.#values.map((column) => column.slice(0, count)),
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
    this.#values = this.#values.map((column) => growArray(column, length));
  }
}

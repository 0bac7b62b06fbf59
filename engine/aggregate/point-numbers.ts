/** A growing vector with a number for each point. */

import { keptPointsMax } from "../limits.ts";
import { cutArray } from "../vector/arrays.ts";

const initialLength = 64;
const keptMax = 4;
/** Vectors of this thread that are free again, all zeros. See `keptPointsMax`. */
const kept: Float64Array<ArrayBuffer>[] = [];

/** A vector whose new entries have a given value. */
export class PointNumbers {
  readonly #fillValue: number;
  /** The length that a new vector would have grown to by doubling: a kept one may be longer. */
  #length = initialLength;
  values: Float64Array<ArrayBuffer>;

  constructor(fillValue: number) {
    this.#fillValue = fillValue;
    this.values =
      (fillValue === 0 ? kept.pop() : undefined) ?? new Float64Array(initialLength).fill(fillValue);
  }

  get byteLength(): number {
    return this.#length * 8;
  }

  /** Makes the vector at least this long. */
  reserve(pointCount: number): void {
    if (pointCount > this.#length) this.#length = Math.max(pointCount, this.#length * 2);
    const { length } = this.values;
    if (pointCount <= length) return;
    const larger = new Float64Array(Math.max(pointCount, length * 2));
    larger.set(this.values);
    this.values = larger.fill(this.#fillValue, length);
  }

  /** The numbers of the points. The vector must not be used afterwards. */
  finish(pointCount: number): Float64Array {
    this.reserve(pointCount);
    if (this.#fillValue !== 0 || this.values.length > keptPointsMax || kept.length === keptMax)
      return cutArray(this.values, pointCount);
    const finished = this.values.slice(0, pointCount);
    kept.push(this.values.fill(0, 0, pointCount));
    return finished;
  }
}

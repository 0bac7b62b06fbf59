/** A growing vector with a number for each point. */

const initialLength = 64;
/** Longer vectors are not kept for the next ones. */
const keptLengthMax = 65_536;
const keptMax = 4;
/**
 * Vectors of zeros of this thread that are used no more: garbage of this size makes V8 collect after every few queries.
 */
const kept: Float64Array<ArrayBuffer>[] = [];

/** A vector whose new entries have a given value. */
export class PointNumbers {
  readonly #fillValue: number;
  /** As long as a vector that has grown by doubling is, which a kept one need not. */
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
    const finished = this.values.slice(0, pointCount);
    if (this.#fillValue === 0 && this.values.length <= keptLengthMax && kept.length < keptMax)
      kept.push(this.values.fill(0, 0, pointCount));
    return finished;
  }
}

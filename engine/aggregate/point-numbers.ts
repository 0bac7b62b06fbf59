/** A growing vector with a number for each point. */

const initialLength = 64;

/** A vector whose new entries have a given value. */
export class PointNumbers {
  readonly #fillValue: number;
  values: Float64Array<ArrayBuffer>;

  constructor(fillValue: number) {
    this.#fillValue = fillValue;
    this.values = new Float64Array(initialLength).fill(fillValue);
  }

  get byteLength(): number {
    return this.values.byteLength;
  }

  /** Makes the vector at least this long. */
  reserve(pointCount: number): void {
    const { length } = this.values;
    if (pointCount <= length) return;
    const larger = new Float64Array(Math.max(pointCount, length * 2));
    larger.set(this.values);
    this.values = larger.fill(this.#fillValue, length);
  }

  finish(pointCount: number): Float64Array {
    this.reserve(pointCount);
    return this.values.slice(0, pointCount);
  }
}

const lengthFirst = 64;

/** A number for each point, which grows with the points. */
export class PointNumbers {
  readonly #initial: number;
  values: Float64Array<ArrayBuffer>;

  constructor(initial: number) {
    this.#initial = initial;
    this.values = new Float64Array(lengthFirst).fill(initial);
  }

  get byteLength(): number {
    return this.values.byteLength;
  }

  /** Makes room for so many points. */
  reserve(points: number): void {
    const { length } = this.values;
    if (points <= length) return;
    const larger = new Float64Array(Math.max(points, length * 2));
    larger.set(this.values);
    this.values = larger.fill(this.#initial, length);
  }

  finish(points: number): Float64Array {
    this.reserve(points);
    return this.values.slice(0, points);
  }
}

/** The aggregation states of points over series: filled on the scan threads, then merged. */
import { PointTable } from "../aggregate/point-table.ts";
import { Quantiles, type QuantilesPart } from "../aggregate/quantiles.ts";
import type { SampleAggregate } from "../plan/sample-query.ts";
import { growArray } from "../vector/arrays.ts";

/** The states as they cross threads; index i of every vector but the last two is point i. */
export interface SeriesPointsPart {
  groups: Uint32Array;
  buckets: Float64Array;
  /** Number of values (not counted for `quantile`); for `distinct` number of different texts. */
  counts: Float64Array;
  /** Sum, minimum, maximum, or (for `stddev`) mean. */
  accumulators: Float64Array;
  /** M2: sum of the squared distances from the mean. */
  squares: Float64Array;
  quantiles: QuantilesPart | undefined;
  /** For `distinct`, pairs of a point and the number of a text that it has. */
  textPoints: Uint32Array;
  texts: Float64Array;
}

/** Values that are buffered before they are passed to `Quantiles` together. */
const bufferedValuesMax = 65_536;

/** The states of all points for one aggregate. */
export class SeriesPoints {
  readonly #aggregate: SampleAggregate;
  readonly #points = new PointTable();
  #counts = new Float64Array(64);
  #accumulators = new Float64Array(64);
  #squares = new Float64Array(64);
  readonly #quantiles: Quantiles | undefined;
  /** Buffered values and their points. */
  readonly #bufferedPoints: Uint32Array;
  readonly #bufferedValues: Float64Array;
  #bufferedCount = 0;
  /** Distinct pairs of a point and a text. */
  readonly #pointTexts = new PointTable();

  constructor(aggregate: SampleAggregate) {
    this.#aggregate = aggregate;
    const isQuantile = aggregate.op === "quantile";
    if (aggregate.op === "quantile") this.#quantiles = new Quantiles([aggregate.q]);
    this.#bufferedPoints = new Uint32Array(isQuantile ? bufferedValuesMax : 0);
    this.#bufferedValues = new Float64Array(isQuantile ? bufferedValuesMax : 0);
  }

  get byteLength(): number {
    const perPoint = this.#points.byteLength + this.#counts.length * 24;
    return perPoint + (this.#quantiles?.byteLength ?? 0) + this.#pointTexts.byteLength;
  }

  /** Finds or adds a point and returns its number. Throws Failure "limit" where there are too many. */
  findOrAdd(group: number, bucket: number): number {
    const point = this.#points.findOrAdd(group, bucket);
    if (point < this.#counts.length) return point;
    this.#counts = growArray(this.#counts, this.#counts.length * 2);
    this.#accumulators = growArray(this.#accumulators, this.#accumulators.length * 2);
    this.#squares = growArray(this.#squares, this.#squares.length * 2);
    return point;
  }

  /** Adds the value of a series; for `distinct`, the number of its text. */
  add(point: number, value: number): void {
    const { op } = this.#aggregate;
    if (op === "quantile") this.#addValue(point, value);
    else if (op === "distinct") this.#addText(point, value);
    else this.#mergePoint(point, 1, value, 0);
  }

  /** Merges another thread's states. `groupOf` and `textOf` map its numbers of groups and texts to those here. */
  merge(other: SeriesPointsPart, groupOf: Uint32Array, textOf: Uint32Array): void {
    const pointOf = new Uint32Array(other.groups.length);
    for (let i = 0; i < pointOf.length; i++) {
      pointOf[i] = this.findOrAdd(groupOf[other.groups[i]!]!, other.buckets[i]!);
    }
    if (other.quantiles !== undefined) this.#quantiles!.merge(other.quantiles, pointOf);
    else if (this.#aggregate.op === "distinct") {
      for (let i = 0; i < other.texts.length; i++) {
        this.#addText(pointOf[other.textPoints[i]!]!, textOf[other.texts[i]!]!);
      }
    } else {
      for (let i = 0; i < pointOf.length; i++) {
        this.#mergePoint(pointOf[i]!, other.counts[i]!, other.accumulators[i]!, other.squares[i]!);
      }
    }
  }

  finish(): SeriesPointsPart {
    const { count } = this.#points;
    const { groups: textPoints, buckets: texts } = this.#pointTexts.finish();
    return {
      ...this.#points.finish(),
      counts: this.#counts.slice(0, count),
      accumulators: this.#accumulators.slice(0, count),
      squares: this.#squares.slice(0, count),
      quantiles: this.#quantilesPart(),
      textPoints,
      texts,
    };
  }

  #mergePoint(point: number, count: number, accumulator: number, square: number): void {
    if (count === 0) return;
    const before = this.#counts[point]!;
    this.#counts[point] = before + count;
    if (before === 0) {
      this.#accumulators[point] = accumulator;
      // Adds 0, but NaN for an infinity, whose distance from its mean is undefined.
      this.#squares[point] = square + (accumulator - accumulator);
      return;
    }
    const current = this.#accumulators[point]!;
    switch (this.#aggregate.op) {
      case "sum":
      case "avg":
        this.#accumulators[point] = current + accumulator;
        break;
      case "min":
        this.#accumulators[point] = Math.min(current, accumulator);
        break;
      case "max":
        this.#accumulators[point] = Math.max(current, accumulator);
        break;
      case "stddev": {
        // The formula of Chan, Golub and LeVeque (1979) for merging means and M2.
        const distance = accumulator - current;
        const weight = count / (before + count);
        this.#accumulators[point] = current + distance * weight;
        // An infinity has no distance from any mean: `accumulator - accumulator` is NaN for it.
        this.#squares[point] =
          this.#squares[point]! +
          square +
          (accumulator - accumulator) +
          distance * distance * before * weight;
        break;
      }
    }
  }

  #addValue(point: number, value: number): void {
    if (this.#bufferedCount === bufferedValuesMax) this.#flushValues();
    this.#bufferedPoints[this.#bufferedCount] = point;
    this.#bufferedValues[this.#bufferedCount++] = value;
  }

  /** Passes the buffered values to `Quantiles`, ordered by point. */
  #flushValues(): void {
    const valuePoints = this.#bufferedPoints.subarray(0, this.#bufferedCount);
    const numberOf = new Int32Array(this.#points.count).fill(-1);
    const points: number[] = [];
    for (const point of valuePoints) if (numberOf[point]! < 0) numberOf[point] = points.push(point) - 1;
    const offsets = new Uint32Array(points.length + 1);
    for (const point of valuePoints) offsets[numberOf[point]! + 1]!++;
    for (let i = 0; i < points.length; i++) offsets[i + 1]! += offsets[i]!;
    const next = offsets.slice();
    const values = new Float64Array(valuePoints.length);
    for (let i = 0; i < valuePoints.length; i++)
      values[next[numberOf[valuePoints[i]!]!]!++] = this.#bufferedValues[i]!;
    const segment = { points: Uint32Array.from(points), offsets, values };
    const part: QuantilesPart = { kind: "exact", computed: [], segments: [segment] };
    this.#quantiles!.merge(part, identityMapping(this.#points.count));
    this.#bufferedCount = 0;
  }

  #addText(point: number, text: number): void {
    const known = this.#pointTexts.count;
    if (this.#pointTexts.findOrAdd(point, text) === known) this.#counts[point]!++;
  }

  #quantilesPart(): QuantilesPart | undefined {
    if (this.#bufferedCount > 0) this.#flushValues();
    return this.#quantiles?.finish();
  }
}

function computeQuantile(part: QuantilesPart, q: number, pointCount: number): Float64Array {
  const quantiles = new Quantiles([q]);
  quantiles.merge(part, identityMapping(pointCount));
  return quantiles.values(pointCount)[0]!;
}

function identityMapping(pointCount: number): Uint32Array {
  return Uint32Array.from({ length: pointCount }, (_, point) => point);
}

/** The aggregate's value of every point. */
export function computePointValues(aggregate: SampleAggregate, part: SeriesPointsPart): Float64Array {
  const { counts, accumulators, squares, quantiles } = part;
  switch (aggregate.op) {
    case "count":
    case "distinct":
      return counts;
    case "quantile":
      return computeQuantile(quantiles!, aggregate.q, counts.length);
    case "avg":
      return accumulators.map((sum, i) => sum / counts[i]!);
    case "stddev":
      return counts.map((count, i) => Math.sqrt(squares[i]! / count));
    default:
      return accumulators;
  }
}

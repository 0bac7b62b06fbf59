/** Points of an aggregation over series: what was gathered for each group and bucket, which parts of it on other threads can join. */
import { PointTable } from "../aggregate/point-table.ts";
import { Quantiles, type QuantilesPart } from "../aggregate/quantiles.ts";
import type { SampleAggregate } from "../plan/sample-query.ts";

/** As it crosses threads. */
export interface SeriesPointsPart {
  groups: Uint32Array;
  buckets: Float64Array;
  /** Values that each point was made of. */
  counts: Float64Array;
  /** Sum, least, greatest, or mean. */
  firsts: Float64Array;
  /** Sum of the squared distances from the mean. */
  seconds: Float64Array;
  quantiles: QuantilesPart | undefined;
  /** Pairs of a point and the number of a text. */
  textPoints: Uint32Array;
  texts: Float64Array;
}

/** Values that are handed on together. */
const segmentValues = 65_536;

export class SeriesPoints {
  readonly #aggregate: SampleAggregate;
  readonly #places = new PointTable();
  #counts = new Float64Array(64);
  #firsts = new Float64Array(64);
  #seconds = new Float64Array(64);
  readonly #quantiles: Quantiles | undefined;
  /** Values that were not handed on yet, and their points. */
  readonly #owners: Uint32Array;
  readonly #values: Float64Array;
  #pending = 0;
  /** Points and texts that belong together. */
  readonly #texts = new PointTable();

  constructor(aggregate: SampleAggregate) {
    this.#aggregate = aggregate;
    const isQuantile = aggregate.op === "quantile";
    if (aggregate.op === "quantile") this.#quantiles = new Quantiles([aggregate.q]);
    this.#owners = new Uint32Array(isQuantile ? segmentValues : 0);
    this.#values = new Float64Array(isQuantile ? segmentValues : 0);
  }

  get byteLength(): number {
    const perPoint = this.#places.byteLength + this.#counts.length * 24;
    return perPoint + (this.#quantiles?.byteLength ?? 0) + this.#texts.byteLength;
  }

  /** Place of the point, which is made if it is new. Throws Failure "limit". */
  place(group: number, bucket: number): number {
    const place = this.#places.place(group, bucket);
    if (place < this.#counts.length) return place;
    this.#counts = longer(this.#counts);
    this.#firsts = longer(this.#firsts);
    this.#seconds = longer(this.#seconds);
    return place;
  }

  /** Adds the value of a series; for distinct texts, the number of one. */
  add(place: number, value: number): void {
    const { op } = this.#aggregate;
    if (op === "quantile") this.#addValue(place, value);
    else if (op === "distinct") this.#addText(place, value);
    else this.#join(place, 1, value, 0);
  }

  /** Adds what another thread gathered. `groupOf` and `textOf` turn its numbers into those of this table. */
  addAll(other: SeriesPointsPart, groupOf: Uint32Array, textOf: Uint32Array): void {
    const places = new Uint32Array(other.groups.length);
    for (let i = 0; i < places.length; i++) {
      places[i] = this.place(groupOf[other.groups[i]!]!, other.buckets[i]!);
    }
    if (other.quantiles !== undefined) this.#quantiles!.merge(other.quantiles, places);
    else if (this.#aggregate.op === "distinct") {
      for (let i = 0; i < other.texts.length; i++) {
        this.#addText(places[other.textPoints[i]!]!, textOf[other.texts[i]!]!);
      }
    } else {
      for (let i = 0; i < places.length; i++) {
        this.#join(places[i]!, other.counts[i]!, other.firsts[i]!, other.seconds[i]!);
      }
    }
  }

  gathered(): SeriesPointsPart {
    const { count } = this.#places;
    const { groups: textPoints, buckets: texts } = this.#texts.finish();
    return {
      ...this.#places.finish(),
      counts: this.#counts.slice(0, count),
      firsts: this.#firsts.slice(0, count),
      seconds: this.#seconds.slice(0, count),
      quantiles: this.#quantilesPart(),
      textPoints,
      texts,
    };
  }

  #join(place: number, count: number, first: number, second: number): void {
    if (count === 0) return;
    const before = this.#counts[place]!;
    this.#counts[place] = before + count;
    if (before === 0) {
      this.#firsts[place] = first;
      // Infinities have no distance from their mean.
      this.#seconds[place] = second + (first - first);
      return;
    }
    const own = this.#firsts[place]!;
    switch (this.#aggregate.op) {
      case "sum":
      case "avg":
        this.#firsts[place] = own + first;
        break;
      case "min":
        this.#firsts[place] = Math.min(own, first);
        break;
      case "max":
        this.#firsts[place] = Math.max(own, first);
        break;
      case "stddev": {
        // Chan's formula for the squares of two parts.
        const distance = first - own;
        const share = count / (before + count);
        this.#firsts[place] = own + distance * share;
        this.#seconds[place] = this.#seconds[place]! + second + distance * distance * before * share;
        break;
      }
    }
  }

  #addValue(place: number, value: number): void {
    if (this.#pending === segmentValues) this.#handOn();
    this.#owners[this.#pending] = place;
    this.#values[this.#pending++] = value;
  }

  /** The values point by point. */
  #handOn(): void {
    const owners = this.#owners.subarray(0, this.#pending);
    const numberOf = new Int32Array(this.#places.count).fill(-1);
    const points: number[] = [];
    for (const owner of owners) if (numberOf[owner]! < 0) numberOf[owner] = points.push(owner) - 1;
    const offsets = new Uint32Array(points.length + 1);
    for (const owner of owners) offsets[numberOf[owner]! + 1]!++;
    for (let i = 0; i < points.length; i++) offsets[i + 1]! += offsets[i]!;
    const next = offsets.slice();
    const values = new Float64Array(owners.length);
    for (let i = 0; i < owners.length; i++) values[next[numberOf[owners[i]!]!]!++] = this.#values[i]!;
    const segment = { points: Uint32Array.from(points), offsets, values };
    this.#quantiles!.merge(
      { kind: "exact", computed: [], segments: [segment] },
      everyPlace(this.#places.count),
    );
    this.#pending = 0;
  }

  #addText(place: number, text: number): void {
    const known = this.#texts.count;
    if (this.#texts.place(place, text) === known) this.#counts[place]!++;
  }

  #quantilesPart(): QuantilesPart | undefined {
    if (this.#pending > 0) this.#handOn();
    return this.#quantiles?.finish();
  }
}

function quantileValues(part: QuantilesPart, q: number, points: number): Float64Array {
  const quantiles = new Quantiles([q]);
  quantiles.merge(part, everyPlace(points));
  return quantiles.values(points)[0]!;
}

function everyPlace(points: number): Uint32Array {
  return Uint32Array.from({ length: points }, (_, place) => place);
}

/** The values of the points. */
export function pointValues(aggregate: SampleAggregate, gathered: SeriesPointsPart): Float64Array {
  const { counts, firsts, seconds, quantiles } = gathered;
  switch (aggregate.op) {
    case "count":
    case "distinct":
      return counts;
    case "quantile":
      return quantileValues(quantiles!, aggregate.q, counts.length);
    case "avg":
      return firsts.map((sum, i) => sum / counts[i]!);
    case "stddev":
      return counts.map((count, i) => Math.sqrt(seconds[i]! / count));
    default:
      return firsts;
  }
}

function longer(array: Float64Array): Float64Array<ArrayBuffer> {
  const twice = new Float64Array(array.length * 2);
  twice.set(array);
  return twice;
}

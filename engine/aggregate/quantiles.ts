/** Quantiles of the numbers of points: all numbers are kept while they are few enough, else a sketch of them. */
import type { Kernels as AnyKernels } from "../kernels/contract.ts";
import { plainKernels } from "../kernels/plain.ts";
import { quantileValuesMax } from "../limits.ts";
import { Sketch, type SketchPart, sketchQuantiles } from "../vector/quantile-sketch.ts";
import type { NumberRows } from "./moments.ts";

type Kernels = AnyKernels<ArrayBufferLike>;

/** Numbers as they came: those of the point at places[i] are values[offsets[i], offsets[i + 1]), in no order. */
interface Segment {
  places: Uint32Array;
  offsets: Uint32Array;
  values: Float64Array;
}

/** Points whose numbers lay in one place, which were let go of: for each q the quantile of every one. */
interface FoundQuantiles {
  places: Uint32Array;
  values: Float64Array[];
}

export type QuantilesPart = { found: FoundQuantiles[] } & (
  | { kind: "kept"; segments: Segment[] }
  | ({ kind: "sketch" } & SketchPart)
);

export class Quantiles {
  readonly #qs: readonly number[];
  readonly #valuesMax: number;
  readonly #found: FoundQuantiles[] = [];
  #foundCount = 0;
  #segments: Segment[] = [];
  #count = 0;
  /** Once the numbers are too many. */
  #sketch: Sketch | undefined;

  /** `valuesMax`: numbers that are kept, of all points together. */
  constructor(qs: readonly number[], valuesMax = quantileValuesMax) {
    this.#qs = qs;
    this.#valuesMax = valuesMax;
  }

  get byteLength(): number {
    const places = this.#segments.reduce((sum, { places }) => sum + places.byteLength * 2, 0);
    const found = this.#foundCount * (4 + 8 * this.#qs.length);
    return this.#count * 8 + places + found + (this.#sketch?.byteLength ?? 0);
  }

  /** `isWhole`: whether these are all numbers that the point at a place will ever have. */
  add(rows: NumberRows, isWhole: (place: number) => boolean): void {
    const { heap, used, places, counts } = rows;
    const offsets = new Uint32Array(used.length + 1);
    for (let i = 0; i < used.length; i++) offsets[i + 1] = offsets[i]! + counts[used[i]!]!;
    const values = orderedNumbers(rows, offsets);
    const cells = cellsOfPlaces(places);
    const isWholePoint = Uint8Array.from(places, (place) => (cells[place] === 1 && isWhole(place) ? 1 : 0));
    const whole = isWholePoint.reduce((sum, each) => sum + each, 0);
    if (whole > 0) this.#find({ places, offsets, values }, isWholePoint, whole, heap.kernels);
    if (whole < places.length) this.#push(withoutWhole({ places, offsets, values }, isWholePoint));
  }

  /** `places`: of each of the part's points the place here. */
  join(part: QuantilesPart, places: Uint32Array): void {
    for (const found of part.found) {
      this.#found.push({ ...found, places: found.places.map((place) => places[place]!) });
      this.#foundCount += found.places.length;
    }
    if (part.kind === "sketch") this.#sketched().join(part, places);
    else {
      for (const segment of part.segments) {
        this.#push({ ...segment, places: segment.places.map((place) => places[place]!) });
      }
    }
  }

  finish(): QuantilesPart {
    const found = this.#found;
    if (this.#sketch !== undefined) return { kind: "sketch", found, ...this.#sketch.finish() };
    return { kind: "kept", found, segments: this.#segments };
  }

  /** For each q the quantile of point after point, NaN where it has no number. Numbers that are kept change their order. */
  values(points: number): Float64Array[] {
    const sketch = this.#sketch?.finish();
    const all =
      sketch === undefined ? this.#selected(points) : this.#qs.map((q) => sketchQuantiles(sketch, q, points));
    for (const { places, values } of this.#found) {
      for (const [i, each] of all.entries()) {
        for (let k = 0; k < places.length; k++) each[places[k]!] = values[i]![k]!;
      }
    }
    return all;
  }

  #selected(points: number): Float64Array[] {
    const found = this.#qs.map(() => new Float64Array(points).fill(Number.NaN));
    eachPoint(this.#segments, points, (point, values, from, to) => {
      for (const [i, q] of this.#qs.entries()) {
        found[i]![point] = plainKernels.quantileOf(values, from, to, q * (to - from - 1));
      }
    });
    return found;
  }

  /** The quantiles of whole points, at once: their numbers are in the processor's cache. */
  #find({ places, offsets, values }: Segment, isWhole: Uint8Array, count: number, kernels: Kernels): void {
    const found = { places: new Uint32Array(count), values: this.#qs.map(() => new Float64Array(count)) };
    let at = 0;
    for (let i = 0; i < places.length; i++) {
      if (isWhole[i] === 0) continue;
      const [from, to] = [offsets[i]!, offsets[i + 1]!];
      found.places[at] = places[i]!;
      for (let k = 0; k < this.#qs.length; k++) {
        const rank = this.#qs[k]! * (to - from - 1);
        found.values[k]![at] = from === to ? Number.NaN : kernels.quantileOf(values, from, to, rank);
      }
      at++;
    }
    this.#found.push(found);
    this.#foundCount += count;
  }

  #push(segment: Segment): void {
    if (this.#sketch === undefined && this.#count + segment.values.length <= this.#valuesMax) {
      this.#segments.push(segment);
      this.#count += segment.values.length;
    } else sketchSegment(segment, this.#sketched());
  }

  /** The sketch, made of all numbers so far where there was none. */
  #sketched(): Sketch {
    if (this.#sketch !== undefined) return this.#sketch;
    this.#sketch = new Sketch();
    for (const segment of this.#segments) sketchSegment(segment, this.#sketch);
    this.#segments = [];
    this.#count = 0;
    return this.#sketch;
  }
}

/** At each place how many cells are its: 0, 1, or 2 for more, as those of "INFO" and "info". */
function cellsOfPlaces(places: Uint32Array): Uint8Array {
  const cells = new Uint8Array(places.reduce((most, place) => Math.max(most, place + 1), 0));
  for (const place of places) cells[place] = cells[place] === 0 ? 1 : 2;
  return cells;
}

/** Visits each point that has numbers; those that lie in more than one place are brought together. */
function eachPoint(
  segments: readonly Segment[],
  points: number,
  visit: (point: number, values: Float64Array, from: number, to: number) => void,
): void {
  const counts = new Uint32Array(points);
  const parts = new Uint32Array(points);
  for (const { places, offsets } of segments) {
    for (let i = 0; i < places.length; i++) {
      const count = offsets[i + 1]! - offsets[i]!;
      if (count === 0) continue;
      counts[places[i]!] = counts[places[i]!]! + count;
      parts[places[i]!] = parts[places[i]!]! + 1;
    }
  }
  // Points with several parts stand one behind the other here; `next` is where the next part of each goes.
  const next = new Uint32Array(points);
  let several = 0;
  for (let point = 0; point < points; point++) {
    if (parts[point]! < 2) continue;
    next[point] = several;
    several += counts[point]!;
  }
  const together = new Float64Array(several);
  for (const { places, offsets, values } of segments) {
    for (let i = 0; i < places.length; i++) {
      const point = places[i]!;
      const [from, to] = [offsets[i]!, offsets[i + 1]!];
      if (from === to) continue;
      if (parts[point] === 1) visit(point, values, from, to);
      else {
        let at = next[point]!;
        for (let k = from; k < to; k++) together[at++] = values[k]!;
        next[point] = at;
      }
    }
  }
  for (let point = 0; point < points; point++) {
    if (parts[point]! < 2) continue;
    visit(point, together, next[point]! - counts[point]!, next[point]!);
  }
}

/** Numbers cell by cell, on the heap. */
function orderedNumbers(
  { heap, cellOf, values, selection, used, counts }: NumberRows,
  offsets: Uint32Array,
): Float64Array {
  const { kernels, scratch } = heap;
  const ordered = scratch.float64(offsets[used.length]!);
  if (selection === null && used.length === 1) ordered.set(values);
  else {
    // Where the next number of a cell goes.
    const next = scratch.uint32(counts.length);
    for (let i = 0; i < used.length; i++) next[used[i]!] = offsets[i]!;
    kernels.orderByGroup(cellOf(), values, selection, next, ordered);
  }
  return ordered;
}

/** The numbers of the other points, in memory of their own. */
function withoutWhole({ places, offsets, values }: Segment, isWhole: Uint8Array): Segment {
  const kept = [...isWhole.keys()].filter((i) => isWhole[i] === 0);
  const own = new Uint32Array(kept.length + 1);
  for (const [at, i] of kept.entries()) own[at + 1] = own[at]! + offsets[i + 1]! - offsets[i]!;
  const numbers = new Float64Array(own[kept.length]!);
  for (const [at, i] of kept.entries()) numbers.set(values.subarray(offsets[i], offsets[i + 1]), own[at]!);
  return { places: Uint32Array.from(kept, (i) => places[i]!), offsets: own, values: numbers };
}

function sketchSegment({ places, offsets, values }: Segment, sketch: Sketch): void {
  for (let i = 0; i < places.length; i++) {
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) sketch.add(places[i]!, values[k]!);
  }
}

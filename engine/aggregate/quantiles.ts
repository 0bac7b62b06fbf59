/** Quantiles of the numbers of points: exact while few enough numbers are kept, then from a sketch. */
import type { Kernels as AnyKernels } from "../kernels/contract.ts";
import { plainKernels } from "../kernels/plain.ts";
import { quantileValuesMax } from "../limits.ts";
import { estimateQuantiles, QuantileSketch, type QuantileSketchState } from "../vector/quantile-sketch.ts";
import type { NumberRows } from "./moments.ts";

type Kernels = AnyKernels<ArrayBufferLike>;

/** Numbers of some points: those of points[i] are values[offsets[i], offsets[i + 1]), unsorted. */
interface Segment {
  points: Uint32Array;
  offsets: Uint32Array;
  values: Float64Array;
}

/** Quantiles of complete points, whose numbers are no longer kept: for each q the quantile of every point. */
interface ComputedQuantiles {
  points: Uint32Array;
  values: Float64Array[];
}

/** Mergeable state: the numbers themselves, or a sketch of them. */
export type QuantilesPart = { computed: ComputedQuantiles[] } & (
  | { kind: "exact"; segments: Segment[] }
  | ({ kind: "sketch" } & QuantileSketchState)
);

/** The quantiles of every point over one value. */
export class Quantiles {
  readonly #qs: readonly number[];
  readonly #valuesMax: number;
  readonly #computed: ComputedQuantiles[] = [];
  #computedCount = 0;
  #segments: Segment[] = [];
  /** Numbers in the segments. */
  #count = 0;
  /** Replaces the segments once the numbers are too many. */
  #sketch: QuantileSketch | undefined;

  /** `valuesMax`: numbers of all points together above which a sketch replaces them. */
  constructor(qs: readonly number[], valuesMax = quantileValuesMax) {
    this.#qs = qs;
    this.#valuesMax = valuesMax;
  }

  get byteLength(): number {
    const segments = this.#segments.reduce((sum, { points }) => sum + points.byteLength * 2, 0);
    const computed = this.#computedCount * (4 + 8 * this.#qs.length);
    return this.#count * 8 + segments + computed + (this.#sketch?.byteLength ?? 0);
  }

  /** Adds rows of a chunk. `isComplete` says whether a point will get no more numbers. */
  add(rows: NumberRows, isComplete: (point: number) => boolean): void {
    const { heap, usedCells, points, counts } = rows;
    const offsets = new Uint32Array(usedCells.length + 1);
    for (let i = 0; i < usedCells.length; i++) offsets[i + 1] = offsets[i]! + counts[usedCells[i]!]!;
    const values = orderByCell(rows, offsets);
    const cellCounts = countCellsOfPoints(points);
    const isCompletePoint = Uint8Array.from(points, (point) =>
      cellCounts[point] === 1 && isComplete(point) ? 1 : 0,
    );
    const completeCount = isCompletePoint.reduce((sum, each) => sum + each, 0);
    if (completeCount > 0)
      this.#computeComplete({ points, offsets, values }, isCompletePoint, completeCount, heap.kernels);
    if (completeCount < points.length)
      this.#keepSegment(withoutComplete({ points, offsets, values }, isCompletePoint));
  }

  /** Merges another state; `pointOf` maps its points to points here. */
  merge(part: QuantilesPart, pointOf: Uint32Array): void {
    for (const computed of part.computed) {
      this.#computed.push({ ...computed, points: computed.points.map((point) => pointOf[point]!) });
      this.#computedCount += computed.points.length;
    }
    if (part.kind === "sketch") this.#sketchOfAll().merge(part, pointOf);
    else {
      for (const segment of part.segments) {
        this.#keepSegment({ ...segment, points: segment.points.map((point) => pointOf[point]!) });
      }
    }
  }

  finish(): QuantilesPart {
    const computed = this.#computed;
    if (this.#sketch !== undefined) return { kind: "sketch", computed, ...this.#sketch.finish() };
    return { kind: "exact", computed, segments: this.#segments };
  }

  /** For each q the quantile of every point, NaN where it has no number. Reorders the kept numbers. */
  values(pointCount: number): Float64Array[] {
    const sketch = this.#sketch?.finish();
    const all =
      sketch === undefined
        ? this.#computeAll(pointCount)
        : this.#qs.map((q) => estimateQuantiles(sketch, q, pointCount));
    for (const { points, values } of this.#computed) {
      for (const [i, each] of all.entries()) {
        for (let k = 0; k < points.length; k++) each[points[k]!] = values[i]![k]!;
      }
    }
    return all;
  }

  #computeAll(pointCount: number): Float64Array[] {
    const quantiles = this.#qs.map(() => new Float64Array(pointCount).fill(Number.NaN));
    eachPoint(this.#segments, pointCount, (point, values, from, to) => {
      for (const [i, q] of this.#qs.entries()) {
        quantiles[i]![point] = plainKernels.quantileOf(values, from, to, q * (to - from - 1));
      }
    });
    return quantiles;
  }

  /** Computes the quantiles of complete points now, while their numbers are in the processor's cache. */
  #computeComplete(segment: Segment, isComplete: Uint8Array, count: number, kernels: Kernels): void {
    const { points, offsets, values } = segment;
    const computed = { points: new Uint32Array(count), values: this.#qs.map(() => new Float64Array(count)) };
    let at = 0;
    for (let i = 0; i < points.length; i++) {
      if (isComplete[i] === 0) continue;
      const [from, to] = [offsets[i]!, offsets[i + 1]!];
      computed.points[at] = points[i]!;
      for (let k = 0; k < this.#qs.length; k++) {
        const rank = this.#qs[k]! * (to - from - 1);
        computed.values[k]![at] = from === to ? Number.NaN : kernels.quantileOf(values, from, to, rank);
      }
      at++;
    }
    this.#computed.push(computed);
    this.#computedCount += count;
  }

  #keepSegment(segment: Segment): void {
    if (this.#sketch === undefined && this.#count + segment.values.length <= this.#valuesMax) {
      this.#segments.push(segment);
      this.#count += segment.values.length;
    } else sketchSegment(segment, this.#sketchOfAll());
  }

  /** The sketch; where there is none yet, it is built from all numbers so far. */
  #sketchOfAll(): QuantileSketch {
    if (this.#sketch !== undefined) return this.#sketch;
    this.#sketch = new QuantileSketch();
    for (const segment of this.#segments) sketchSegment(segment, this.#sketch);
    this.#segments = [];
    this.#count = 0;
    return this.#sketch;
  }
}

/** How many cells each point has: 0, 1, or 2 for several, as the levels "INFO" and "info" give. */
function countCellsOfPoints(points: Uint32Array): Uint8Array {
  const counts = new Uint8Array(points.reduce((most, point) => Math.max(most, point + 1), 0));
  for (const point of points) counts[point] = counts[point] === 0 ? 1 : 2;
  return counts;
}

/** Visits each point that has numbers; numbers of one point from several segments are first copied together. */
function eachPoint(
  segments: readonly Segment[],
  pointCount: number,
  visit: (point: number, values: Float64Array, from: number, to: number) => void,
): void {
  const counts = new Uint32Array(pointCount);
  const parts = new Uint32Array(pointCount);
  for (const { points, offsets } of segments) {
    for (let i = 0; i < points.length; i++) {
      const count = offsets[i + 1]! - offsets[i]!;
      if (count === 0) continue;
      counts[points[i]!] = counts[points[i]!]! + count;
      parts[points[i]!] = parts[points[i]!]! + 1;
    }
  }
  // `gathered` holds the points with several parts, one after the other; `next` is where a point's next part goes.
  const next = new Uint32Array(pointCount);
  let scatteredCount = 0;
  for (let point = 0; point < pointCount; point++) {
    if (parts[point]! < 2) continue;
    next[point] = scatteredCount;
    scatteredCount += counts[point]!;
  }
  const gathered = new Float64Array(scatteredCount);
  for (const { points, offsets, values } of segments) {
    for (let i = 0; i < points.length; i++) {
      const point = points[i]!;
      const [from, to] = [offsets[i]!, offsets[i + 1]!];
      if (from === to) continue;
      if (parts[point] === 1) visit(point, values, from, to);
      else {
        let at = next[point]!;
        for (let k = from; k < to; k++) gathered[at++] = values[k]!;
        next[point] = at;
      }
    }
  }
  for (let point = 0; point < pointCount; point++) {
    if (parts[point]! < 2) continue;
    visit(point, gathered, next[point]! - counts[point]!, next[point]!);
  }
}

/** The selected numbers ordered by cell, on the heap. */
function orderByCell(rows: NumberRows, offsets: Uint32Array): Float64Array {
  const { heap, cellOf, values, selection, usedCells, counts } = rows;
  const { kernels, scratch } = heap;
  const ordered = scratch.float64(offsets[usedCells.length]!);
  if (selection === null && usedCells.length === 1) ordered.set(values);
  else {
    // Where the next number of each cell goes.
    const next = scratch.uint32(counts.length);
    for (let i = 0; i < usedCells.length; i++) next[usedCells[i]!] = offsets[i]!;
    kernels.orderByGroup(cellOf(), values, selection, next, ordered);
  }
  return ordered;
}

/** Copies the numbers of the points that are not complete into memory of their own. */
function withoutComplete({ points, offsets, values }: Segment, isComplete: Uint8Array): Segment {
  const kept = [...isComplete.keys()].filter((i) => isComplete[i] === 0);
  const ownOffsets = new Uint32Array(kept.length + 1);
  for (const [at, i] of kept.entries()) ownOffsets[at + 1] = ownOffsets[at]! + offsets[i + 1]! - offsets[i]!;
  const numbers = new Float64Array(ownOffsets[kept.length]!);
  for (const [at, i] of kept.entries())
    numbers.set(values.subarray(offsets[i], offsets[i + 1]), ownOffsets[at]!);
  return { points: Uint32Array.from(kept, (i) => points[i]!), offsets: ownOffsets, values: numbers };
}

function sketchSegment({ points, offsets, values }: Segment, sketch: QuantileSketch): void {
  for (let i = 0; i < points.length; i++) {
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) sketch.add(points[i]!, values[k]!);
  }
}

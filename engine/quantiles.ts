/** Quantiles of the numbers of points: all numbers are kept while they are few enough, else a sketch of them. */
import { selectedList } from "./cells.ts";
import { quantileValuesMax } from "./limits.ts";
import type { NumberRows } from "./moments.ts";
import { between, Sketch, type SketchPart, sketchQuantiles } from "./sketch.ts";

/** Numbers of point i are values[offsets[i], offsets[i + 1]), in no order. */
interface KeptNumbers {
  offsets: Uint32Array;
  values: Float64Array;
}

export type QuantilesPart = ({ kind: "kept" } & KeptNumbers) | ({ kind: "sketch" } & SketchPart);

/** Numbers as they came, point by point; `places` tells whose. */
interface Segment extends KeptNumbers {
  places: Uint32Array;
}

export class Quantiles {
  readonly #valuesMax: number;
  #segments: Segment[] = [];
  #count = 0;
  /** Once the numbers are too many. */
  #sketch: Sketch | undefined;

  /** `valuesMax`: numbers that are kept, of all points together. */
  constructor(valuesMax = quantileValuesMax) {
    this.#valuesMax = valuesMax;
  }

  get byteLength(): number {
    const places = this.#segments.reduce((sum, { places }) => sum + places.byteLength * 2, 0);
    return this.#count * 8 + places + (this.#sketch?.byteLength ?? 0);
  }

  add(rows: NumberRows): void {
    const { used, places, counts, cellOf, values } = rows;
    const offsets = new Uint32Array(used.length + 1);
    // Where the next number of a cell goes.
    const next = new Uint32Array(counts.length);
    for (let i = 0; i < used.length; i++) {
      next[used[i]!] = offsets[i]!;
      offsets[i + 1] = offsets[i]! + counts[used[i]!]!;
    }
    const ordered = new Float64Array(offsets[used.length]!);
    const cells = cellOf();
    const list = selectedList(rows);
    const length = list?.length ?? ordered.length;
    for (let i = 0; i < length; i++) {
      const row = list === null ? i : list[i]!;
      const cell = cells[row]!;
      const at = next[cell]!;
      ordered[at] = values[row]!;
      next[cell] = at + 1;
    }
    this.#push({ places, offsets, values: ordered });
  }

  /** `places`: of each of the part's points the place here. */
  join(part: QuantilesPart, places: Uint32Array): void {
    if (part.kind === "kept") this.#push({ ...part, places });
    else this.#sketched().join(part, places);
  }

  finish(points: number): QuantilesPart {
    if (this.#sketch !== undefined) return { kind: "sketch", ...this.#sketch.finish() };
    return { kind: "kept", ...this.#gather(points) };
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

  /** The numbers of each point together. */
  #gather(points: number): KeptNumbers {
    const offsets = new Uint32Array(points + 1);
    for (const segment of this.#segments) {
      for (let i = 0; i < segment.places.length; i++) {
        const next = segment.places[i]! + 1;
        offsets[next] = offsets[next]! + segment.offsets[i + 1]! - segment.offsets[i]!;
      }
    }
    for (let point = 0; point < points; point++) offsets[point + 1] = offsets[point + 1]! + offsets[point]!;
    const values = new Float64Array(this.#count);
    const next = offsets.slice();
    for (const { places, offsets: from, values: source } of this.#segments) {
      for (let i = 0; i < places.length; i++) {
        let at = next[places[i]!]!;
        // A loop is faster than `set` on runs as short as these.
        for (let k = from[i]!; k < from[i + 1]!; k++) values[at++] = source[k]!;
        next[places[i]!] = at;
      }
    }
    return { offsets, values };
  }
}

function sketchSegment({ places, offsets, values }: Segment, sketch: Sketch): void {
  for (let i = 0; i < places.length; i++) {
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) sketch.add(places[i]!, values[k]!);
  }
}

/** A quantile of point after point, NaN where it has no number. Numbers of the part change their order. */
export function quantileValues(part: QuantilesPart, q: number, points: number): Float64Array {
  if (part.kind === "sketch") return sketchQuantiles(part, q, points);
  const { offsets, values } = part;
  return Float64Array.from({ length: points }, (_, point) =>
    quantileOf(values, offsets[point]!, offsets[point + 1]!, q),
  );
}

function quantileOf(values: Float64Array, from: number, to: number, q: number): number {
  if (from === to) return Number.NaN;
  const rank = q * (to - from - 1);
  const low = from + Math.floor(rank);
  selectRank(values, from, to, low);
  const lower = values[low]!;
  if (rank === Math.floor(rank)) return lower;
  // What stands behind a rank is not less than it.
  let upper = Number.POSITIVE_INFINITY;
  for (let at = low + 1; at < to; at++) if (values[at]! < upper) upper = values[at]!;
  return between(lower, upper, rank - Math.floor(rank));
}

/** Rows of numbers this short are sorted by insertion. */
const shortMax = 16;

/** Moves numbers of [from, to) so that `rank` has the one that it would have if they were sorted (Hoare's selection). */
function selectRank(values: Float64Array, from: number, to: number, rank: number): void {
  let low = from;
  let high = to - 1;
  while (high - low >= shortMax) {
    const pivot = medianOf(values[low]!, values[(low + high) >> 1]!, values[high]!);
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const moved = values[i]!;
      values[i++] = values[j]!;
      values[j--] = moved;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return;
  }
  for (let i = low + 1; i <= high; i++) {
    const moved = values[i]!;
    let j = i;
    for (; j > low && values[j - 1]! > moved; j--) values[j] = values[j - 1]!;
    values[j] = moved;
  }
}

function medianOf(a: number, b: number, c: number): number {
  if (a < b) return b < c ? b : Math.max(a, c);
  return a < c ? a : Math.max(b, c);
}

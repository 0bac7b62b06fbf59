/** Quantiles of the numbers of points: all numbers are kept while they are few enough, else a sketch of them. */
import { selectedList } from "./cells.ts";
import { quantileValuesMax } from "./limits.ts";
import type { NumberRows } from "./moments.ts";
import { between, Sketch, type SketchPart, sketchQuantiles } from "./sketch.ts";

/** Numbers as they came: those of the point at places[i] are values[offsets[i], offsets[i + 1]), in no order. */
interface Segment {
  places: Uint32Array;
  offsets: Uint32Array;
  values: Float64Array;
}

export type QuantilesPart = { kind: "kept"; segments: Segment[] } | ({ kind: "sketch" } & SketchPart);

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
    const { used, places, counts, values } = rows;
    const offsets = new Uint32Array(used.length + 1);
    // Where the next number of a cell goes.
    const next = new Uint32Array(counts.length);
    for (let i = 0; i < used.length; i++) {
      next[used[i]!] = offsets[i]!;
      offsets[i + 1] = offsets[i]! + counts[used[i]!]!;
    }
    const list = selectedList(rows);
    const isOnePoint = list === null && used.length === 1;
    this.#push({
      places,
      offsets,
      values: isOnePoint ? values.slice() : orderedNumbers(rows, list, next, offsets.at(-1)!),
    });
  }

  /** `places`: of each of the part's points the place here. */
  join(part: QuantilesPart, places: Uint32Array): void {
    if (part.kind === "sketch") this.#sketched().join(part, places);
    else {
      for (const segment of part.segments) {
        this.#push({ ...segment, places: segment.places.map((place) => places[place]!) });
      }
    }
  }

  finish(): QuantilesPart {
    if (this.#sketch !== undefined) return { kind: "sketch", ...this.#sketch.finish() };
    return { kind: "kept", segments: this.#segments };
  }

  /** For each q the quantile of point after point, NaN where it has no number. Numbers that are kept change their order. */
  values(qs: readonly number[], points: number): Float64Array[] {
    const sketch = this.#sketch?.finish();
    if (sketch !== undefined) return qs.map((q) => sketchQuantiles(sketch, q, points));
    const found = qs.map(() => new Float64Array(points).fill(Number.NaN));
    // What is before a lower rank is not looked at again for a higher one.
    const ascending = [...qs.keys()].sort((a, b) => qs[a]! - qs[b]!);
    eachPoint(this.#segments, points, (point, values, from, to) => {
      let least = from;
      for (const i of ascending) {
        const rank = qs[i]! * (to - from - 1);
        const low = from + Math.floor(rank);
        selectRank(values, least, to, low);
        found[i]![point] = interpolated(values, low, to, rank - Math.floor(rank));
        least = low;
      }
    });
    return found;
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
  /** Of points with several parts, what is there of them so far. */
  const together = new Map<number, { values: Float64Array; count: number }>();
  for (const { places, offsets, values } of segments) {
    for (let i = 0; i < places.length; i++) {
      const point = places[i]!;
      const [from, to] = [offsets[i]!, offsets[i + 1]!];
      if (from === to) continue;
      if (parts[point] === 1) {
        visit(point, values, from, to);
        continue;
      }
      const whole = together.get(point) ?? { values: new Float64Array(counts[point]!), count: 0 };
      together.set(point, whole);
      whole.values.set(values.subarray(from, to), whole.count);
      whole.count += to - from;
      if (whole.count < counts[point]!) continue;
      visit(point, whole.values, 0, whole.count);
      together.delete(point);
    }
  }
}

/** So many numbers, each where `next` says for its cell. */
function orderedNumbers(
  { cellOf, values }: NumberRows,
  list: Uint32Array | null,
  next: Uint32Array,
  count: number,
): Float64Array {
  const ordered = new Float64Array(count);
  const cells = cellOf();
  for (let i = 0; i < count; i++) {
    const row = list === null ? i : list[i]!;
    const cell = cells[row]!;
    const at = next[cell]!;
    ordered[at] = values[row]!;
    next[cell] = at + 1;
  }
  return ordered;
}

function sketchSegment({ places, offsets, values }: Segment, sketch: Sketch): void {
  for (let i = 0; i < places.length; i++) {
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) sketch.add(places[i]!, values[k]!);
  }
}

/** Between values[low] and the next greater one; what stands behind a rank that was selected is not less than it. */
function interpolated(values: Float64Array, low: number, to: number, share: number): number {
  if (share === 0) return values[low]!;
  let upper = Number.POSITIVE_INFINITY;
  for (let at = low + 1; at < to; at++) if (values[at]! < upper) upper = values[at]!;
  return between(values[low]!, upper, share);
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

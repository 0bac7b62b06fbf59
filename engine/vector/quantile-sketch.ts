/**
 * Counts of numbers in bins whose width is a share of their numbers: a double's sign, exponent and first seven bits of mantissa name
 * its bin. The middle of a bin is within 1/256 of every number in it (0.4 %); what is below 2^-1022 counts as 0.
 */

const mantissaBits = 7;
/** Of the upper half of a double, bits that a bin leaves out. */
const droppedBits = 20 - mantissaBits;
const magnitudes = 2 ** (11 + mantissaBits);
/** Bins of negative numbers lie below those of others, so that bins ascend as their numbers do. */
const binsOfPoint = 2 * magnitudes;
const infinite = 0x7ff << mantissaBits;

const double = new Float64Array(1);
/** Low and high half of `double`; every platform that Node runs on is little-endian. */
const halves = new Uint32Array(double.buffer);

/** Bins that hold numbers: point × bins + bin, and how many each holds. */
export interface SketchPart {
  keys: Float64Array;
  counts: Float64Array;
}

/** Sketches of all points in one table: open addressing with linear probing, at most half full. */
export class Sketch {
  #size = 0;
  /** -1 where the slot is free. */
  #keys = new Float64Array(1024).fill(-1);
  #counts = new Float64Array(1024);

  get byteLength(): number {
    return this.#keys.byteLength + this.#counts.byteLength;
  }

  add(place: number, value: number): void {
    this.#add(place * binsOfPoint + binOf(value), 1);
  }

  join({ keys, counts }: SketchPart, places: Uint32Array): void {
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const point = Math.floor(key / binsOfPoint);
      this.#add(key + (places[point]! - point) * binsOfPoint, counts[i]!);
    }
  }

  /** Ascending by point and bin. */
  finish(): SketchPart {
    const keys = this.#keys.filter((key) => key >= 0).sort();
    return { keys, counts: keys.map((key) => this.#counts[this.#slotOf(key)]!) };
  }

  #add(key: number, count: number): void {
    const slot = this.#slotOf(key);
    this.#counts[slot] = this.#counts[slot]! + count;
    if (this.#keys[slot] === key) return;
    this.#keys[slot] = key;
    if (++this.#size * 2 > this.#keys.length) this.#grow();
  }

  /** The slot that holds the key, else the free one where it belongs. */
  #slotOf(key: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    const mixed = Math.imul(key | 0, 0x9e3779b1) ^ Math.imul((key / 0x1_0000_0000) | 0, 0x85ebca6b);
    let slot = (mixed ^ (mixed >>> 15)) & mask;
    while (keys[slot] !== key && keys[slot]! >= 0) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const keys = this.#keys;
    const counts = this.#counts;
    this.#keys = new Float64Array(keys.length * 2).fill(-1);
    this.#counts = new Float64Array(keys.length * 2);
    for (let i = 0; i < keys.length; i++) {
      if (keys[i]! < 0) continue;
      const slot = this.#slotOf(keys[i]!);
      this.#keys[slot] = keys[i]!;
      this.#counts[slot] = counts[i]!;
    }
  }
}

/** The quantile of each of so many points, NaN where it has no number. */
export function sketchQuantiles({ keys, counts }: SketchPart, q: number, points: number): Float64Array {
  const values = new Float64Array(points).fill(Number.NaN);
  for (let from = 0, to = 0; from < keys.length; from = to) {
    const point = Math.floor(keys[from]! / binsOfPoint);
    let total = 0;
    for (; to < keys.length && keys[to]! < (point + 1) * binsOfPoint; to++) total += counts[to]!;
    const rank = q * (total - 1);
    const [low, high] = [Math.floor(rank), Math.ceil(rank)].map((wanted) => {
      let at = from;
      for (let behind = counts[at]!; behind <= wanted; behind += counts[++at]!);
      return numberIn(keys[at]! - point * binsOfPoint);
    });
    values[point] = interpolate(low!, high!, rank - Math.floor(rank));
  }
  return values;
}

/** Linear interpolation, also where a bound is infinite. */
export function interpolate(low: number, high: number, share: number): number {
  return share === 0 || low === high ? low : low + (high - low) * share;
}

function binOf(value: number): number {
  double[0] = value;
  const magnitude = (halves[1]! & 0x7fff_ffff) >>> droppedBits;
  // Exponent 0: zero, and what is too small for it to say anything.
  if (magnitude < 1 << mantissaBits) return magnitudes;
  return halves[1]! > 0x7fff_ffff ? magnitudes - magnitude : magnitudes + magnitude;
}

function numberIn(bin: number): number {
  const magnitude = Math.abs(bin - magnitudes);
  if (magnitude === 0) return 0;
  halves[0] = 0;
  // Half a bin above its start, but infinity is its own.
  halves[1] = (magnitude << droppedBits) + (magnitude === infinite ? 0 : 1 << (droppedBits - 1));
  return bin < magnitudes ? -double[0]! : double[0]!;
}

/**
 * Quantile sketches: histograms whose bins are as wide as a fixed share of their values. The sign, the exponent and the
 * first seven bits of the mantissa of a float64 name its bin. The middle of a bin is within 1/256 (0.4 %) of every
 * value in it. Values below 2^-1022 count as 0.
 */

const mantissaBits = 7;
/** Bits of the high half of a float64 that its bin leaves out. */
const droppedBits = 20 - mantissaBits;
/**
 * Bins of one sign. Bin `binsPerSign` is that of 0; those of negative numbers lie below it, so that bins ascend with
 * their values.
 */
const binsPerSign = 2 ** (11 + mantissaBits);
/** Bins of a point (group × bucket); a key is point × binsPerPoint + bin. */
const binsPerPoint = 2 * binsPerSign;
/** Exponent and mantissa bits of infinity. */
const infiniteMagnitude = 0x7ff << mantissaBits;

const scratchNumber = new Float64Array(1);
/** Low and high half of `scratchNumber`; every platform that Node runs on is little-endian. */
const scratchWords = new Uint32Array(scratchNumber.buffer);

/**
 * The sketches as scan threads send them: the keys of the bins that are not empty, ascending, and how many values each
 * holds.
 */
export interface QuantileSketchState {
  keys: Float64Array;
  counts: Float64Array;
}

/** The sketches of all points in one hash table: open addressing with linear probing, at most half full. */
export class QuantileSketch {
  #size = 0;
  /** A key, or -1 in a free slot. */
  #keys = new Float64Array(1024).fill(-1);
  #counts = new Float64Array(1024);

  get byteLength(): number {
    return this.#keys.byteLength + this.#counts.byteLength;
  }

  add(point: number, value: number): void {
    this.#add(point * binsPerPoint + toBin(value), 1);
  }

  /**
   * Adds the sketches of another state.
   * @param targetPoints for each point of that state, the same point here
   */
  merge({ keys, counts }: QuantileSketchState, targetPoints: Uint32Array): void {
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const point = Math.floor(key / binsPerPoint);
      this.#add(key + (targetPoints[point]! - point) * binsPerPoint, counts[i]!);
    }
  }

  /** The bins in ascending order of point and bin. */
  finish(): QuantileSketchState {
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

  /** The slot that holds the key, or else the free slot where it belongs. */
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

/** The quantile `q` (0 to 1) of each of `points` points; NaN for a point without values. */
export function estimateQuantiles(sketch: QuantileSketchState, q: number, points: number): Float64Array {
  const { keys, counts } = sketch;
  const values = new Float64Array(points).fill(Number.NaN);
  for (let from = 0, to = 0; from < keys.length; from = to) {
    const point = Math.floor(keys[from]! / binsPerPoint);
    let total = 0;
    for (; to < keys.length && keys[to]! < (point + 1) * binsPerPoint; to++) total += counts[to]!;
    const rank = q * (total - 1);
    const [low, high] = [Math.floor(rank), Math.ceil(rank)].map((target) => {
      let at = from;
      for (let seen = counts[at]!; seen <= target; seen += counts[++at]!);
      return toBinMiddle(keys[at]! - point * binsPerPoint);
    });
    values[point] = interpolate(low!, high!, rank - Math.floor(rank));
  }
  return values;
}

/** Linear interpolation between two values that may be infinite. */
export function interpolate(low: number, high: number, share: number): number {
  return share === 0 || low === high ? low : low + (high - low) * share;
}

/** The bin of a value. */
function toBin(value: number): number {
  scratchNumber[0] = value;
  const magnitude = (scratchWords[1]! & 0x7fff_ffff) >>> droppedBits;
  // Exponent 0: zero and the subnormal numbers.
  if (magnitude < 1 << mantissaBits) return binsPerSign;
  return scratchWords[1]! > 0x7fff_ffff ? binsPerSign - magnitude : binsPerSign + magnitude;
}

/** The value in the middle of a bin. */
function toBinMiddle(bin: number): number {
  const magnitude = Math.abs(bin - binsPerSign);
  if (magnitude === 0) return 0;
  scratchWords[0] = 0;
  // Half a bin above its start; the bin of infinity has no middle.
  scratchWords[1] =
    (magnitude << droppedBits) + (magnitude === infiniteMagnitude ? 0 : 1 << (droppedBits - 1));
  return bin < binsPerSign ? -scratchNumber[0]! : scratchNumber[0]!;
}

/** Chooses for each series of a block the kind of encoding that takes the fewest bytes for its values. */
import { toBitWords } from "../vector/float-bits.ts";

/** Part of the format: the numbers are stored, a kind a series. */
export const ValueKind = {
  /** Every sample has the same bits. */
  constant: 0,
  /** Whole numbers over one divisor: the distance of each from the least. */
  offset: 1,
  /** Whole numbers over one divisor: the difference of each from the one before. */
  difference: 2,
  /** Few distinct values: the index of each in a list. */
  dictionary: 3,
  raw: 4,
  /**
   * About a multiple of another series: the distance of each value from the multiple, in ulps (adjacent float64
   * numbers).
   */
  likeness: 5,
} as const;

/** The values of one series in the encoding that was chosen. */
export interface SeriesEncoding {
  kind: number;
  /** Parameters of the kind that are float64 numbers. */
  numbers: number[];
  /** Parameters of the kind that are 32-bit words. */
  words: number[];
  /** Non-negative whole numbers, one per sample. */
  integers?: Float64Array;
  /** Distinct values, ascending by their bits. */
  dictionary?: Float64Array;
}

/** What exporters divide by: powers of ten and of two, the seconds of common windows, and products of these. */
const divisors = [
  1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e9, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 3, 6, 12, 15, 30,
  60, 120, 300, 600, 5120,
];
/** Whole numbers beyond this, or their zigzagged differences, would not be exact. */
const integerMax = 2 ** 51;
/** Estimated bits of a value in a series whose values do not follow from each other. */
const rawBits = 56;
/** How many earlier series are tried as references; enough to reach a similar metric of the pods of one service. */
const referencesMax = 128;
/** With fewer samples a reference's parameters cost more than it saves. */
const referenceSamplesMin = 16;
const two32 = 2 ** 32;

interface Candidate {
  encoding: SeriesEncoding;
  /** Estimated size. */
  bits: number;
}

/** An earlier series that later ones can be encoded as multiples of. */
interface ReferenceSeries {
  series: number;
  values: Float64Array;
}

/**
 * Chooses an encoding for each series. `offsets` has the index of each series' first value, and the number of all
 * values.
 */
export function describeSeries(values: Float64Array, offsets: Uint32Array): SeriesEncoding[] {
  const all: SeriesEncoding[] = [];
  const references: ReferenceSeries[] = [];
  for (let series = 0; series + 1 < offsets.length; series++) {
    const own = values.subarray(offsets[series], offsets[series + 1]);
    const encoding = describeConstant(own) ?? chooseSmallest(own, series, references);
    all.push(encoding);
    // The bits of NaN times a factor differ between machines, so such a series is no reference.
    if (encoding.kind === ValueKind.constant || own.length < referenceSamplesMin || own.some(Number.isNaN))
      continue;
    references.push({ series, values: own });
    if (references.length > referencesMax) references.shift();
  }
  return all;
}

/** Undefined where the samples differ in any bit. A series without samples counts as `raw`. */
function describeConstant(own: Float64Array): SeriesEncoding | undefined {
  if (own.length === 0) return { kind: ValueKind.raw, numbers: [], words: [] };
  const words = toBitWords(own);
  for (let i = 2; i < words.length; i += 2) {
    if (words[i] !== words[0] || words[i + 1] !== words[1]) return undefined;
  }
  // Words, because a NaN in an array of numbers would lose its payload.
  return { kind: ValueKind.constant, numbers: [], words: [words[0]!, words[1]!] };
}

/**
 * Picks the smallest of the kinds that fit. `likeness`, the expensive one, is tried only where the others take more
 * than eight bits per sample.
 */
function chooseSmallest(
  own: Float64Array,
  series: number,
  references: readonly ReferenceSeries[],
): SeriesEncoding {
  const candidates: Candidate[] = [
    { encoding: { kind: ValueKind.raw, numbers: [], words: [] }, bits: own.length * rawBits },
  ];
  const add = (candidate: Candidate | undefined) => candidate !== undefined && candidates.push(candidate);
  add(describeIntegers(own));
  const findSmallest = () => candidates.reduce((best, other) => (other.bits < best.bits ? other : best));
  add(describeDictionary(own, findSmallest().bits));
  if (own.length >= referenceSamplesMin && findSmallest().bits > own.length * 8)
    add(describeLikeness(own, series, references));
  return findSmallest().encoding;
}

/** `offset` or `difference`, whichever is smaller; undefined where no divisor makes all values whole numbers. */
function describeIntegers(own: Float64Array): Candidate | undefined {
  const integers = new Float64Array(own.length);
  const divisor = divisors.find((each) => toIntegers(own, each, integers));
  if (divisor === undefined) return undefined;
  const first = integers[0]!;
  const smallest = integers.reduce((low, integer) => (integer < low ? integer : low), first);
  const differences = integers.map((integer, i) => (i === 0 ? 0 : zigzag(integer - integers[i - 1]!)));
  const offsets = integers.map((integer) => integer - smallest);
  const byDifference = estimateBits(differences);
  const byOffset = estimateBits(offsets);
  const parameters = 128;
  return byOffset <= byDifference
    ? {
        encoding: { kind: ValueKind.offset, numbers: [divisor, smallest], words: [], integers: offsets },
        bits: byOffset + parameters,
      }
    : {
        encoding: { kind: ValueKind.difference, numbers: [divisor, first], words: [], integers: differences },
        bits: byDifference + parameters,
      };
}

/**
 * Writes each value times the divisor. Returns false where some value is not, bit for bit, a whole number divided by
 * the divisor.
 */
function toIntegers(own: Float64Array, divisor: number, integers: Float64Array): boolean {
  for (let i = 0; i < own.length; i++) {
    const value = own[i]!;
    const integer = Math.round(value * divisor);
    if (integer / divisor !== value || !(Math.abs(integer) < integerMax)) return false;
    if (value === 0 && 1 / value < 0) return false;
    // Not -0: Math.round returns it for small negative values, but they were refused above as not exact.
    integers[i] = integer;
  }
  return true;
}

/**
 * Undefined where more than half of the values are distinct, or the dictionary is estimated to take `bitsMax` or more.
 */
function describeDictionary(own: Float64Array, bitsMax: number): Candidate | undefined {
  const distinct = findDistinctValues(own, own.length >> 1);
  if (distinct === undefined) return undefined;
  const { values, codes } = distinct;
  // Estimates of what compression leaves: neighbouring values share their high bytes, and runs of one code cost little.
  const bits = values.length * 40 + estimateBits(codes) * 0.8 + 64;
  if (bits >= bitsMax) return undefined;
  return {
    encoding: {
      kind: ValueKind.dictionary,
      numbers: [],
      words: [values.length],
      integers: codes,
      dictionary: values,
    },
    bits,
  };
}

/**
 * The distinct values, ascending by their bits, and of each sample the index of its value. Undefined where there are
 * more than `most`.
 */
function findDistinctValues(
  own: Float64Array,
  most: number,
): { values: Float64Array; codes: Float64Array } | undefined {
  const bits = new BigUint64Array(own.buffer, own.byteOffset, own.length);
  const seen = new Set<bigint>();
  for (const each of bits) {
    seen.add(each);
    if (seen.size > most) return undefined;
  }
  const ascending = BigUint64Array.from(seen).sort();
  const placeOf = new Map<bigint, number>();
  for (const [place, each] of ascending.entries()) placeOf.set(each, place);
  const codes = new Float64Array(own.length);
  for (let i = 0; i < codes.length; i++) codes[i] = placeOf.get(bits[i]!)!;
  return { values: new Float64Array(ascending.buffer), codes };
}

/**
 * Encodes a series as a multiple of the reference that leaves the smallest distances; undefined where none has a common
 * ratio.
 */
function describeLikeness(
  own: Float64Array,
  series: number,
  references: readonly ReferenceSeries[],
): Candidate | undefined {
  if (own.some(Number.isNaN)) return undefined;
  let best: Candidate | undefined;
  // The latest first: similar series are mostly near each other.
  for (let i = references.length - 1; i >= 0; i--) {
    const reference = references[i]!;
    const factor = findCommonRatio(own, reference.values);
    if (factor === undefined) continue;
    const integers = computeUlpDistances(own, reference.values, factor);
    if (integers === undefined) continue;
    const bits = estimateBits(integers) + 96;
    if (best !== undefined && bits >= best.bits) continue;
    const words = [series - reference.series];
    best = { encoding: { kind: ValueKind.likeness, numbers: [factor], words, integers }, bits };
    if (bits < own.length * 4) break;
  }
  return best;
}

/** Ratios that differ by this share or less count as one ratio that was rounded. */
const ratioTolerance = 1e-13;
/** A common ratio must hold in at least this share of the samples. */
const ratioShareMin = 1 / 8;
/** Samples that are compared before all ratios are computed. */
const probes = 4;

/**
 * The ratio of most values to those of another series; undefined where it holds for too few. It is rounded to twelve
 * digits where it is that close to such a number.
 */
function findCommonRatio(own: Float64Array, other: Float64Array): number | undefined {
  if (own.length !== other.length || !mayHaveCommonRatio(own, other)) return undefined;
  const ratios: number[] = [];
  for (let i = 0; i < own.length; i++) {
    const ratio = own[i]! / other[i]!;
    if (Number.isFinite(ratio)) ratios.push(ratio);
  }
  const ascending = Float64Array.from(ratios).sort();
  let most = 0;
  let common = 0;
  for (let from = 0, to = 0; to < ascending.length; to++) {
    while (ascending[to]! - ascending[from]! > ratioTolerance * Math.abs(ascending[to]!)) from++;
    if (to - from + 1 <= most) continue;
    most = to - from + 1;
    common = ascending[(from + to) >> 1]!;
  }
  if (most < own.length * ratioShareMin) return undefined;
  const rounded = Number(common.toPrecision(12));
  return Math.abs(rounded / common - 1) < ratioTolerance * 4 ? rounded : common;
}

/** Compares the ratios of a few samples: cheap, and rules out most series. */
function mayHaveCommonRatio(own: Float64Array, other: Float64Array): boolean {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let probe = 0; probe < probes; probe++) {
    const at = Math.floor(((probe + 0.5) * own.length) / probes);
    const ratio = own[at]! / other[at]!;
    if (!Number.isFinite(ratio)) continue;
    if (ratio < least) least = ratio;
    if (ratio > greatest) greatest = ratio;
  }
  return greatest - least <= Math.abs(greatest) * 1e-3;
}

/**
 * For each value the zigzagged number of float64 numbers between it and the other value times the factor. Undefined
 * where one is too large to be exact, or a product is NaN.
 */
function computeUlpDistances(
  own: Float64Array,
  other: Float64Array,
  factor: number,
): Float64Array | undefined {
  const products = other.map((value) => value * factor);
  const a = toBitWords(own);
  const b = toBitWords(products);
  const distances = new Float64Array(own.length);
  for (let i = 0; i < distances.length; i++) {
    if (Number.isNaN(products[i]!)) return undefined;
    const difference = (a[i * 2 + 1]! - b[i * 2 + 1]!) * two32 + (a[i * 2]! - b[i * 2]!);
    if (Math.abs(difference) >= integerMax) return undefined;
    distances[i] = zigzag(difference);
  }
  return distances;
}

/** The least bits that the whole numbers take, each by itself. */
function estimateBits(integers: Float64Array): number {
  let bits = 0;
  for (let i = 0; i < integers.length; i++) {
    const integer = integers[i]!;
    bits += integer < two32 ? 32 - Math.clz32(integer) : 64 - Math.clz32(integer / two32);
  }
  return bits;
}

function zigzag(integer: number): number {
  return integer >= 0 ? integer * 2 : -integer * 2 - 1;
}

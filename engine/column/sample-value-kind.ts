/** Finds for each series of a block the kind of values that takes the fewest bytes. */
import { toWords } from "../vector/float-words.ts";

/** Part of the format. */
export const ValueKind = {
  /** Every sample has the same bits. */
  constant: 0,
  /** Whole numbers over one divisor: how far each is above the least. */
  offset: 1,
  /** The same, as differences from sample to sample. */
  difference: 2,
  /** Few different values: their places in a list. */
  dictionary: 3,
  raw: 4,
  /** About a multiple of another series: how many floating-point numbers it lies beside that. */
  likeness: 5,
} as const;

/** Values of one series as the encoder describes them. */
export interface DescribedValues {
  kind: number;
  /** Parameters: what `numbers` and `words` hold of the series. */
  numbers: number[];
  words: number[];
  /** Non-negative whole numbers, one a sample. */
  wholes?: Float64Array;
  /** Distinct values, ascending by their bits. */
  dictionary?: Float64Array;
}

/** What exporters divide by: powers of ten and of two, the seconds of common windows, and products of these. */
const divisors = [
  1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e9, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 3, 6, 12, 15, 30,
  60, 120, 300, 600, 5120,
];
/** Whole numbers beyond this, or their zigzagged differences, would not be exact. */
const wholeMax = 2 ** 51;
/** Bits of a value that nothing predicts. */
const rawBits = 56;
/** Series before this one that it may be like: enough for a neighbouring metric of the pods of one service. */
const likesMax = 128;
/** Fewer samples than this are not worth the parameters. */
const likeSamplesMin = 16;
const two32 = 2 ** 32;

interface Choice {
  described: DescribedValues;
  /** An estimate. */
  bits: number;
}

/** A series that later ones may be like. */
interface Like {
  series: number;
  values: Float64Array;
}

export function describeValues(values: Float64Array, offsets: Uint32Array): DescribedValues[] {
  const all: DescribedValues[] = [];
  const likes: Like[] = [];
  for (let series = 0; series + 1 < offsets.length; series++) {
    const own = values.subarray(offsets[series], offsets[series + 1]);
    const described = constant(own) ?? varied(own, series, likes);
    all.push(described);
    // NaN times a factor has no bits that all machines agree on.
    if (described.kind === ValueKind.constant || own.length < likeSamplesMin || own.some(Number.isNaN))
      continue;
    likes.push({ series, values: own });
    if (likes.length > likesMax) likes.shift();
  }
  return all;
}

function constant(own: Float64Array): DescribedValues | undefined {
  if (own.length === 0) return { kind: ValueKind.raw, numbers: [], words: [] };
  const words = toWords(own);
  for (let i = 2; i < words.length; i += 2) {
    if (words[i] !== words[0] || words[i + 1] !== words[1]) return undefined;
  }
  // As words: a NaN in an array of numbers loses its payload.
  return { kind: ValueKind.constant, numbers: [], words: [words[0]!, words[1]!] };
}

function varied(own: Float64Array, series: number, likes: readonly Like[]): DescribedValues {
  const choices: Choice[] = [
    { described: { kind: ValueKind.raw, numbers: [], words: [] }, bits: own.length * rawBits },
  ];
  const add = (choice: Choice | undefined) => choice !== undefined && choices.push(choice);
  add(wholeNumbers(own));
  const least = () => choices.reduce((best, choice) => (choice.bits < best.bits ? choice : best));
  add(dictionary(own, least().bits));
  if (own.length >= likeSamplesMin && least().bits > own.length * 8) add(likeness(own, series, likes));
  return least().described;
}

function wholeNumbers(own: Float64Array): Choice | undefined {
  const wholes = new Float64Array(own.length);
  const divisor = divisors.find((each) => toWholes(own, each, wholes));
  if (divisor === undefined) return undefined;
  const first = wholes[0]!;
  const least = wholes.reduce((low, whole) => (whole < low ? whole : low), first);
  const differences = wholes.map((whole, i) => (i === 0 ? 0 : zigzag(whole - wholes[i - 1]!)));
  const offsets = wholes.map((whole) => whole - least);
  const byDifference = bitsOf(differences);
  const byOffset = bitsOf(offsets);
  const parameters = 128;
  return byOffset <= byDifference
    ? {
        described: { kind: ValueKind.offset, numbers: [divisor, least], words: [], wholes: offsets },
        bits: byOffset + parameters,
      }
    : {
        described: { kind: ValueKind.difference, numbers: [divisor, first], words: [], wholes: differences },
        bits: byDifference + parameters,
      };
}

/** Whether every value is a whole number divided by the divisor, bit for bit. */
function toWholes(own: Float64Array, divisor: number, wholes: Float64Array): boolean {
  for (let i = 0; i < own.length; i++) {
    const value = own[i]!;
    const whole = Math.round(value * divisor);
    if (whole / divisor !== value || !(Math.abs(whole) < wholeMax)) return false;
    if (value === 0 && 1 / value < 0) return false;
    // Math.round gives -0 for small negative numbers, but those were found not to be exact.
    wholes[i] = whole;
  }
  return true;
}

function dictionary(own: Float64Array, bitsMax: number): Choice | undefined {
  const distinct = distinctValues(own, own.length >> 1);
  if (distinct === undefined) return undefined;
  const { values, codes } = distinct;
  // Of neighbouring values the high bytes are alike; and runs of one value cost little.
  const bits = values.length * 40 + bitsOf(codes) * 0.8 + 64;
  if (bits >= bitsMax) return undefined;
  return {
    described: {
      kind: ValueKind.dictionary,
      numbers: [],
      words: [values.length],
      wholes: codes,
      dictionary: values,
    },
    bits,
  };
}

/** Different bits in ascending order, and of each value its place among them; undefined where there are more than `most`. */
function distinctValues(
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

function likeness(own: Float64Array, series: number, likes: readonly Like[]): Choice | undefined {
  if (own.some(Number.isNaN)) return undefined;
  let best: Choice | undefined;
  // The latest first: alike series mostly lie near each other.
  for (let i = likes.length - 1; i >= 0; i--) {
    const like = likes[i]!;
    const factor = commonRatio(own, like.values);
    if (factor === undefined) continue;
    const wholes = stepsFrom(own, like.values, factor);
    if (wholes === undefined) continue;
    const bits = bitsOf(wholes) + 96;
    if (best !== undefined && bits >= best.bits) continue;
    const words = [series - like.series];
    best = { described: { kind: ValueKind.likeness, numbers: [factor], words, wholes }, bits };
    if (bits < own.length * 4) break;
  }
  return best;
}

/** How far two ratios may be apart and still be one that was rounded. */
const ratioTolerance = 1e-13;
/** A ratio that holds somewhere holds in at least this share of the samples. */
const ratioShareMin = 1 / 8;
const probes = 4;

/** The ratio that most values have to those of another series, if one is common. */
function commonRatio(own: Float64Array, other: Float64Array): number | undefined {
  if (own.length !== other.length || !mayHaveRatio(own, other)) return undefined;
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

/** A cheap look at a few samples. */
function mayHaveRatio(own: Float64Array, other: Float64Array): boolean {
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

/** Zigzagged numbers of floating-point numbers between each value and the multiple; undefined where they are too many. */
function stepsFrom(own: Float64Array, other: Float64Array, factor: number): Float64Array | undefined {
  const products = other.map((value) => value * factor);
  const a = toWords(own);
  const b = toWords(products);
  const steps = new Float64Array(own.length);
  for (let i = 0; i < steps.length; i++) {
    if (Number.isNaN(products[i]!)) return undefined;
    const difference = (a[i * 2 + 1]! - b[i * 2 + 1]!) * two32 + (a[i * 2]! - b[i * 2]!);
    if (Math.abs(difference) >= wholeMax) return undefined;
    steps[i] = zigzag(difference);
  }
  return steps;
}

/** Bits that whole numbers take at least, each by itself. */
function bitsOf(wholes: Float64Array): number {
  let bits = 0;
  for (let i = 0; i < wholes.length; i++) {
    const whole = wholes[i]!;
    bits += whole < two32 ? 32 - Math.clz32(whole) : 64 - Math.clz32(whole / two32);
  }
  return bits;
}

function zigzag(whole: number): number {
  return whole >= 0 ? whole * 2 : -whole * 2 - 1;
}

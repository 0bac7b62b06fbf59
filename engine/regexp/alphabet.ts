/**
 * The alphabet of a pattern: code points that it cannot distinguish share a symbol, so that transition tables stay
 * small. Code points are distinguished by the pattern's character classes, by being a word character or a newline, and
 * by the character class that template slots record.
 */

import { byteClass } from "../template/tokenizer.ts";
import { CharClass, classesOf } from "../template/variables/slot-encoding.ts";
import { findLastAtMost } from "../vector/binary-search.ts";

/** Code points as first, last, first, last … ascending; both ends are inclusive. */
type CodePointRanges = readonly number[];

export interface Alphabet {
  /** Number of symbols. */
  size: number;
  /** Symbol of each ASCII byte. */
  asciiSymbols: Uint8Array;
  /** Symbol of any code point. */
  symbolOf(rune: number): number;
  /** One array for each class of the pattern: 1 for every symbol that the class contains. */
  classMembers: readonly Uint8Array[];
  /** Of each symbol: its `CharClass` within a variable, 0 where it separates tokens. */
  charClasses: Uint8Array;
  /** Of each symbol: 1 where RE2 takes it for a word character. */
  isWord: Uint8Array;
  /** Symbol of the line feed. */
  newline: number;
}

/** With more symbols no automaton is built; real patterns have fewer than fifty. */
const symbolsMax = 128;
/** With more character classes no automaton is built; real patterns have fewer than fifty. */
const classesMax = 256;
const runeMax = 0x10ffff;

/** Builds the alphabet of a pattern's classes; undefined where there are too many classes or symbols. */
export function buildAlphabet(classes: readonly CodePointRanges[]): Alphabet | undefined {
  if (classes.length > classesMax) return undefined;
  const starts = findIntervalStarts(classes);
  const membership = classes.map((ranges) => markIntervals(ranges, starts));
  const traits = Uint16Array.from(starts, (rune) => asciiTraits[Math.min(rune, asciiEnd)]!);
  let { symbolAt, representatives } = refineSymbols(traits, () => 0);
  for (const marks of membership) {
    ({ symbolAt, representatives } = refineSymbols(symbolAt, (interval) => marks[interval]!));
    if (representatives.length > symbolsMax) return undefined;
  }
  return {
    size: representatives.length,
    asciiSymbols: Uint8Array.from(symbolAt.subarray(0, asciiEnd)),
    symbolOf: (rune) => symbolAt[findLastAtMost(starts, rune)]!,
    classMembers: membership.map((marks) => Uint8Array.from(representatives, (interval) => marks[interval]!)),
    charClasses: Uint8Array.from(representatives, (interval) => traits[interval]! >> 2),
    isWord: Uint8Array.from(representatives, (interval) => traits[interval]! & 1),
    newline: symbolAt[10]!,
  };
}

/**
 * Splits symbols by one more trait. `before` has the symbol of each interval of code points, and `traitOf` its trait (0
 * or 1). Intervals share a new symbol if they shared the old one and have the same trait. Returns the new symbol of
 * each interval, and the first interval of each new symbol (`representatives`).
 */
function refineSymbols(before: Uint16Array, traitOf: (interval: number) => number) {
  const symbols = new Map<number, number>();
  const representatives: number[] = [];
  const symbolAt = before.map((symbol, interval) => {
    const key = symbol * 2 + traitOf(interval);
    const known = symbols.get(key);
    if (known !== undefined) return known;
    symbols.set(key, representatives.length);
    return representatives.push(interval) - 1;
  });
  return { symbolAt, representatives };
}

const asciiEnd = 0x80;

/**
 * Traits of each ASCII code point, and last those of all others: bit 0 is set for a word character, bit 1 for a
 * newline; the bits above are the `CharClass`.
 */
const asciiTraits = Uint16Array.from({ length: asciiEnd + 1 }, (_, rune) => {
  // In RE2 only ASCII characters are word characters.
  const isWord = /\w/.test(String.fromCodePoint(rune)) ? 1 : 0;
  return isWord | (rune === 10 ? 2 : 0) | (charClassOf(rune) << 2);
});

function charClassOf(rune: number): number {
  if (rune >= asciiEnd) return CharClass.other;
  return byteClass[rune] === 0 ? 0 : classesOf(Uint8Array.of(rune), 0, 1);
}

/**
 * First code points, ascending, of the intervals whose members no class distinguishes. Each ASCII code point is an
 * interval of its own.
 */
function findIntervalStarts(classes: readonly CodePointRanges[]): Uint32Array {
  const starts = new Set(asciiTraits.keys());
  for (const ranges of classes) {
    for (const [i, rune] of ranges.entries()) {
      if (i % 2 === 0) starts.add(rune);
      else if (rune < runeMax) starts.add(rune + 1);
    }
  }
  return Uint32Array.from(starts).sort();
}

/** 1 for each interval that lies within the ranges. */
function markIntervals(ranges: CodePointRanges, starts: Uint32Array): Uint8Array {
  const marks = new Uint8Array(starts.length);
  for (let i = 0; i < ranges.length; i += 2) {
    marks.fill(1, findLastAtMost(starts, ranges[i]!), findLastAtMost(starts, ranges[i + 1]!) + 1);
  }
  return marks;
}

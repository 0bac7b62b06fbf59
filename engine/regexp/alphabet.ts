/**
 * Code points as few symbols: those that no class of a pattern, no word boundary and no end of line tells apart are one symbol.
 * Those of variables are told apart by the classes of characters that slots are stamped with.
 */

import { CharClass, classesOf } from "../template/slot-encoding.ts";
import { byteClass } from "../template/tokenizer.ts";
import { lastAtMost } from "../vector/binary-search.ts";

/** First, last, first, last … ascending. */
type Ranges = readonly number[];

export interface Alphabet {
  /** The number of symbols. */
  size: number;
  /** Symbol of each ASCII byte. */
  ofAscii: Uint8Array;
  /** Symbol of any code point. */
  of(rune: number): number;
  /** Of each class of the pattern, 1 for the symbols that are in it. */
  members: readonly Uint8Array[];
  /** Of each symbol: its CharClass within variables, 0 for what separates tokens. */
  charClass: Uint8Array;
  isWord: Uint8Array;
  newline: number;
}

/** Symbols and classes beyond which a pattern is not taken apart; real ones have fewer than fifty. */
const symbolsMax = 128;
const classesMax = 256;
const runeMax = 0x10ffff;

/** Undefined where there are too many symbols. */
export function buildAlphabet(classes: readonly Ranges[]): Alphabet | undefined {
  if (classes.length > classesMax) return undefined;
  const bounds = boundsOf(classes);
  const marked = classes.map((ranges) => markRuns(ranges, bounds));
  const traits = Uint16Array.from(bounds, (rune) => traitsOf[Math.min(rune, asciiEnd)]!);
  let { symbolAt, runs } = partRuns(traits, () => 0);
  for (const marks of marked) {
    ({ symbolAt, runs } = partRuns(symbolAt, (run) => marks[run]!));
    if (runs.length > symbolsMax) return undefined;
  }
  return {
    size: runs.length,
    ofAscii: Uint8Array.from(symbolAt.subarray(0, asciiEnd)),
    of: (rune) => symbolAt[lastAtMost(bounds, rune)]!,
    members: marked.map((marks) => Uint8Array.from(runs, (run) => marks[run]!)),
    charClass: Uint8Array.from(runs, (run) => traits[run]! >> 2),
    isWord: Uint8Array.from(runs, (run) => traits[run]! & 1),
    newline: symbolAt[10]!,
  };
}

/** Parts those that were one and are told apart by a bit. `runs` are the first of each symbol. */
function partRuns(before: Uint16Array, bitOf: (run: number) => number) {
  const symbols = new Map<number, number>();
  const runs: number[] = [];
  const symbolAt = before.map((symbol, run) => {
    const key = symbol * 2 + bitOf(run);
    const known = symbols.get(key);
    if (known !== undefined) return known;
    symbols.set(key, runs.length);
    return runs.push(run) - 1;
  });
  return { symbolAt, runs };
}

const asciiEnd = 0x80;

/** Of each ASCII code point and the first one beyond: whether it is of a word, whether a newline, and its CharClass. */
const traitsOf = Uint16Array.from({ length: asciiEnd + 1 }, (_, rune) => {
  // To RE2, words are ASCII.
  const isWord = /\w/.test(String.fromCodePoint(rune)) ? 1 : 0;
  return isWord | (rune === 10 ? 2 : 0) | (charClassOf(rune) << 2);
});

function charClassOf(rune: number): number {
  if (rune >= asciiEnd) return CharClass.other;
  return byteClass[rune] === 0 ? 0 : classesOf(Uint8Array.of(rune), 0, 1);
}

/** Where runs of like code points begin, ascending; each ASCII one is a run of its own. */
function boundsOf(classes: readonly Ranges[]): Uint32Array {
  const bounds = new Set(traitsOf.keys());
  for (const ranges of classes) {
    for (const [i, rune] of ranges.entries()) {
      if (i % 2 === 0) bounds.add(rune);
      else if (rune < runeMax) bounds.add(rune + 1);
    }
  }
  return Uint32Array.from(bounds).sort();
}

/** 1 for each run that lies in the ranges. */
function markRuns(ranges: Ranges, bounds: Uint32Array): Uint8Array {
  const marks = new Uint8Array(bounds.length);
  for (let i = 0; i < ranges.length; i += 2) {
    marks.fill(1, lastAtMost(bounds, ranges[i]!), lastAtMost(bounds, ranges[i + 1]!) + 1);
  }
  return marks;
}

/** Enumerates the texts that a piece of a pattern can match, while they are few enough to be listed. */
import type { Tree } from "./syntax-tree.ts";

/** A text as code points; a letter whose case is ignored is the negative of its lower-case code point. */
export type Word = readonly number[];

/** The texts that a piece of a pattern matches. */
export interface WordSet {
  words: readonly Word[];
  /** Every word is a match wherever it occurs. False: nothing else can match, but an assertion may exclude a word. */
  isUnconditional: boolean;
  /** A match that is not among the words contains one of these code points. */
  rareVariants: readonly number[];
}

/** Longer words are not enumerated; texts that people search for in logs are shorter. */
const wordLengthMax = 256;

export const emptyWordSet: WordSet = { words: [[]], isUnconditional: true, rareVariants: [] };

/** Undefined where there are more than `countMax` words, one is too long, or their number is unbounded. */
export function enumerateWords(tree: Tree, countMax: number): WordSet | undefined {
  switch (tree.kind) {
    case "class":
      return enumerateClass(tree.ranges, countMax);
    case "concat":
      return combineAll(tree.of, countMax, emptyWordSet, concatenateWords);
    case "alternate":
      return combineAll(tree.of, countMax, { ...emptyWordSet, words: [] }, uniteWords);
    case "optional": {
      const inner = enumerateWords(tree.of, countMax);
      return inner && uniteWords(inner, emptyWordSet, countMax);
    }
    case "assertion":
      return { ...emptyWordSet, isUnconditional: false };
    default:
      return undefined;
  }
}

type CombineWords = (left: WordSet, right: WordSet, countMax: number) => WordSet | undefined;

function combineAll(
  trees: readonly Tree[],
  countMax: number,
  first: WordSet,
  combine: CombineWords,
): WordSet | undefined {
  let all: WordSet | undefined = first;
  for (const tree of trees) {
    const words = enumerateWords(tree, countMax);
    all = words && combine(all, words, countMax);
    if (all === undefined) return undefined;
  }
  return all;
}

/** Every word of `left` followed by every word of `right`; undefined where these are too many or too long. */
export function concatenateWords(left: WordSet, right: WordSet, countMax: number): WordSet | undefined {
  if (left.words.length * right.words.length > countMax) return undefined;
  const words = left.words.flatMap((head) => right.words.map((tail) => [...head, ...tail]));
  if (words.some((word) => word.length > wordLengthMax)) return undefined;
  return { words, ...combineConditions(left, right) };
}

function uniteWords(left: WordSet, right: WordSet, countMax: number): WordSet | undefined {
  const distinct = new Map([...left.words, ...right.words].map((word) => [word.join(), word]));
  if (distinct.size > countMax) return undefined;
  return { words: [...distinct.values()], ...combineConditions(left, right) };
}

function combineConditions(left: WordSet, right: WordSet): Pick<WordSet, "isUnconditional" | "rareVariants"> {
  return {
    isUnconditional: left.isUnconditional && right.isUnconditional,
    rareVariants: [...new Set([...left.rareVariants, ...right.rareVariants])],
  };
}

function enumerateClass(ranges: readonly number[], countMax: number): WordSet | undefined {
  const members = new Set<number>();
  for (let i = 0; i < ranges.length; i += 2) {
    const [first, last] = [ranges[i]!, ranges[i + 1]!];
    if (members.size + last - first >= 2 * countMax + rareVariantsOf.size) return undefined;
    for (let rune = first; rune <= last; rune++) {
      if (hasUncertainBytes(rune)) return undefined;
      members.add(rune);
    }
  }
  const words: Word[] = [];
  const rareVariants: number[] = [];
  for (const rune of members) {
    const upper = rune - 32;
    if (isLowerCase(rune) && members.has(upper)) words.push([-rune]);
    else if (isLowerCase(rune + 32) && members.has(rune + 32)) continue;
    else if (members.has(rareVariantsOf.get(rune) ?? -1)) rareVariants.push(rune);
    else words.push([rune]);
  }
  return words.length > countMax ? undefined : { words, isUnconditional: true, rareVariants };
}

function isLowerCase(rune: number): boolean {
  return rune >= 97 && rune <= 122;
}

/**
 * The long s and the Kelvin sign, with the letter that each folds to. Where case is ignored, RE2 equates them with `s`
 * and `k`, text search does not. They hardly ever occur, so words with them are not listed.
 */
const rareVariantsOf = new Map([
  [0x17f, 0x73],
  [0x212a, 0x6b],
]);

/**
 * True where a search for the code point's UTF-8 is not enough: invalid bytes match as U+FFFD; surrogates have no
 * UTF-8.
 */
export function hasUncertainBytes(rune: number): boolean {
  return rune === 0xfffd || (rune >= 0xd800 && rune <= 0xdfff);
}

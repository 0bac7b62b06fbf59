/**
 * Derives from a regular expression the texts that a match must contain. A search for them comes first, so that few
 * rows are left to match. The method is that of Russ Cox's "Regular Expression Matching with a Trigram Index" and of
 * RE2's FilteredRE2, with whole texts instead of trigrams.
 */

import { RecentCache } from "../vector/recent-cache.ts";
import {
  concatenateWords,
  emptyWordSet,
  enumerateWords,
  hasUncertainBytes,
  type Word,
  type WordSet,
} from "./literal-words.ts";
import type { PatternOptions } from "./pattern.ts";
import {
  always,
  never,
  type Requirement,
  requireAll,
  requireAny,
  shortestLength,
  textCount,
} from "./requirement.ts";
import { buildSearchTree, type Tree } from "./syntax-tree.ts";

export type { Requirement };

/** Conditions on a text for a pattern to match it. */
export interface RequiredTexts {
  /** Every text that the pattern matches satisfies this. */
  necessary: Requirement;
  /** The pattern matches every text that satisfies this. */
  sufficient: Requirement;
  /** `necessary` and `sufficient` are the same, so the pattern itself need not run. */
  isExact: boolean;
}

/** Texts that may stand for a piece of a pattern: each costs a search. */
const wordsMax = 16;
/** Texts that may stand for a whole pattern: more than for a piece, because the pattern itself then need not run. */
const sufficientWordsMax = 32;
/** Texts of one requirement; above it nothing is required. */
const requirementTextsMax = 64;
/** Spellings of a word in which only some letters ignore case; above it all letters do, and the pattern decides. */
const spellingsMax = 4;
/** Parts of one "and": a further one costs a search and excludes little. */
const conjunctsMax = 3;

const requiredTextsCache = new RecentCache<RequiredTexts>(64);

/** The conditions for a pattern to match. Throws Failure "input" where it is not RE2. */
export function requiredTextsOf(pattern: string, { whole }: PatternOptions): RequiredTexts {
  return requiredTextsCache.get(`${whole}:${pattern}`, () => deriveRequiredTexts(pattern, whole));
}

function deriveRequiredTexts(pattern: string, whole: boolean): RequiredTexts {
  const tree = buildSearchTree(pattern, whole);
  const necessary = necessaryFor(tree);
  if (necessary.kind === "never") return { necessary, sufficient: never, isExact: true };
  if (whole) return { necessary, sufficient: never, isExact: false };
  const { sufficient, isExact } = sufficientFor(tree);
  return isExact ? { necessary: sufficient, sufficient, isExact } : { necessary, sufficient, isExact };
}

/**
 * Whether a match in a part of a text (cut between characters) proves a match in the whole text: the pattern has no
 * assertion about its surroundings. Throws Failure "input" where it is not RE2.
 */
export function isLocal(pattern: string): boolean {
  return !hasAssertion(buildSearchTree(pattern, false));
}

const literalPrefixCache = new RecentCache<string>(64);

/**
 * The literal prefix of a pattern: each text that it matches in some part has this text where a match begins ("b" for
 * `a*b`, whose shortest match is "b"). It is "" where there is none, and where a match depends on what surrounds it.
 * Throws Failure "input" where the pattern is not RE2.
 */
export function literalPrefixOf(pattern: string, { whole }: PatternOptions): string {
  return literalPrefixCache.get(`${whole}:${pattern}`, () => {
    const tree = buildSearchTree(pattern, whole);
    return whole || hasAssertion(tree) ? "" : leadingText(tree).text;
  });
}

/** The text with which all matches of a tree begin, and whether it is all of each match. */
function leadingText(tree: Tree): { text: string; isAll: boolean } {
  switch (tree.kind) {
    case "class": {
      const [first, last] = tree.ranges;
      const isOne = tree.ranges.length === 2 && first === last && !hasUncertainBytes(first!);
      return { text: isOne ? String.fromCodePoint(first!) : "", isAll: isOne };
    }
    case "plus":
      return { text: leadingText(tree.of).text, isAll: false };
    case "concat": {
      let text = "";
      for (const part of tree.of) {
        const leading = leadingText(part);
        text += leading.text;
        if (!leading.isAll) return { text, isAll: false };
      }
      return { text, isAll: true };
    }
    default:
      return { text: "", isAll: false };
  }
}

function hasAssertion(tree: Tree): boolean {
  switch (tree.kind) {
    case "class":
      return false;
    case "concat":
    case "alternate":
      return tree.of.some(hasAssertion);
    case "assertion":
    case "unknown":
      return true;
    default:
      return hasAssertion(tree.of);
  }
}

/** What every text that contains a match of the tree satisfies. */
function necessaryFor(tree: Tree): Requirement {
  const wordSet = enumerateWords(tree, wordsMax);
  if (wordSet !== undefined) return necessaryForWords(wordSet);
  switch (tree.kind) {
    case "concat":
      return necessaryForConcat(tree.of);
    case "alternate":
      return necessaryForAlternate(tree.of);
    case "plus":
      return necessaryFor(tree.of);
    default:
      return always;
  }
}

function necessaryForAlternate(branches: readonly Tree[]): Requirement {
  const parts = branches.map(necessaryFor);
  const complete = requireAny(parts);
  if (textCount(complete) <= requirementTextsMax) return complete;
  const reduced = requireAny(parts.map(mostSelectivePart));
  return textCount(reduced) <= requirementTextsMax ? reduced : always;
}

function mostSelectivePart(requirement: Requirement): Requirement {
  return requirement.kind === "and" ? sortBySelectivity(requirement.of)[0]! : requirement;
}

/** Most selective first: long texts before short ones, few before many. */
function sortBySelectivity(requirements: readonly Requirement[]): Requirement[] {
  const selectivity = (part: Requirement) => shortestLength(part) - Math.log2(textCount(part));
  return requirements.toSorted((a, b) => selectivity(b) - selectivity(a));
}

/** Joins the words of adjacent parts to longer texts; a part whose words cannot be listed ends such a run. */
function necessaryForConcat(parts: readonly Tree[]): Requirement {
  const requirements: Requirement[] = [];
  let joined = emptyWordSet;
  const flush = () => {
    requirements.push(necessaryForWords(joined));
    joined = emptyWordSet;
  };
  for (const part of parts.flatMap(unrollPlus)) {
    const wordSet = part.kind === "gap" ? undefined : enumerateWords(part, wordsMax);
    const longer =
      wordSet && !isUnselective(wordSet) ? concatenateWords(joined, wordSet, wordsMax) : undefined;
    if (longer !== undefined) {
      joined = longer;
      continue;
    }
    flush();
    if (wordSet === undefined) requirements.push(part.kind === "gap" ? always : necessaryFor(part));
    else if (!isUnselective(wordSet)) joined = wordSet;
  }
  flush();
  return selectFew(requirements);
}

/** A part of a concatenation, or a gap: any text. */
type Part = Tree | { kind: "gap" };

/** `x+` as x, a gap, x: it begins and ends with x, and what lies between is not known. */
function unrollPlus(tree: Tree): Part[] {
  if (tree.kind === "concat") return tree.of.flatMap(unrollPlus);
  if (tree.kind !== "plus" || enumerateWords(tree.of, wordsMax) === undefined) return [tree];
  return [tree.of, { kind: "gap" }, tree.of];
}

/** Many short words, as of [0-9]: searches for them would cost more than they exclude. */
function isUnselective(wordSet: WordSet): boolean {
  return wordSet.words.length > 4 && wordSet.words.some((word) => word.length < 2);
}

/** Keeps the most selective of several requirements. */
function selectFew(requirements: readonly Requirement[]): Requirement {
  const all = requireAll(requirements);
  if (all.kind !== "and") return all;
  const best = sortBySelectivity(all.of);
  const worthwhile = best.filter((part, i) => i === 0 || (i < conjunctsMax && shortestLength(part) > 1));
  while (worthwhile.length > 1 && textCount(requireAll(worthwhile)) > requirementTextsMax) worthwhile.pop();
  return requireAll(worthwhile);
}

function necessaryForWords(wordSet: WordSet): Requirement {
  const rareVariants = wordSet.rareVariants.map((rune) =>
    toTextRequirement(String.fromCodePoint(rune), false),
  );
  return requireAny([
    ...expandSpellings(wordSet.words).map((word) => requirementOfWord(word).necessary),
    ...rareVariants,
  ]);
}

/** What proves a match anywhere in a text; exact where it is also necessary. */
function sufficientFor(tree: Tree): Pick<RequiredTexts, "sufficient" | "isExact"> {
  const wordSet = enumerateWords(tree, sufficientWordsMax);
  if (wordSet !== undefined) {
    if (!wordSet.isUnconditional) return { sufficient: never, isExact: false };
    const all = expandSpellings(wordSet.words).map(requirementOfWord);
    const sufficientWords = all.filter(({ isExact }) => isExact).map(({ necessary }) => necessary);
    return {
      sufficient: requireAny(sufficientWords),
      isExact: sufficientWords.length === all.length && wordSet.rareVariants.length === 0,
    };
  }
  if (tree.kind !== "alternate") return { sufficient: never, isExact: false };
  const branches = tree.of.map(sufficientFor);
  const sufficient = requireAny(branches.map((branch) => branch.sufficient));
  if (textCount(sufficient) > requirementTextsMax) return { sufficient: never, isExact: false };
  return { sufficient, isExact: branches.every(({ isExact }) => isExact) };
}

/** Spells out both cases in words where only some letters ignore case, unless that makes too many words. */
function expandSpellings(words: readonly Word[]): readonly Word[] {
  const expanded = words.flatMap((word) => (hasMixedCaseRules(word) ? spellingsOf(word) : [word]));
  return expanded.length <= Math.max(wordsMax, words.length) ? expanded : words;
}

function spellingsOf(word: Word): Word[] {
  if (2 ** word.filter((symbol) => symbol < 0).length > spellingsMax) return [word];
  const formsOf = (symbol: number) => (symbol < 0 ? [-symbol, -symbol - 32] : [symbol]);
  return word.reduce<Word[]>(
    (heads, symbol) => heads.flatMap((head) => formsOf(symbol).map((form) => [...head, form])),
    [[]],
  );
}

/** Whether a word has letters that ignore case beside characters that do not, so that no one text search fits it. */
function hasMixedCaseRules(word: Word): boolean {
  return word.some((symbol) => symbol < 0) && word.some(hasCaseVariants);
}

/** Whether a search that ignores case could find other text in the place of this code point. */
function hasCaseVariants(symbol: number): boolean {
  return symbol >= 0x80 || (symbol >= 65 && symbol <= 90) || (symbol >= 97 && symbol <= 122);
}

function requirementOfWord(word: Word): { necessary: Requirement; isExact: boolean } {
  if (word.length === 0) return { necessary: always, isExact: true };
  if (!hasMixedCaseRules(word)) return { necessary: toWordRequirement(word), isExact: true };
  if (word.every((symbol) => symbol < 0x80))
    return { necessary: toTextRequirement(textOfWord(word), true), isExact: false };
  const pieces = [true, false].flatMap((ignoreCase) => searchablePieces(word, ignoreCase));
  return { necessary: sortBySelectivity(pieces)[0] ?? always, isExact: false };
}

/**
 * Pieces of a word that one text search each can find; `ignoreCase` separates at what is not ASCII, else at folded
 * letters.
 */
function searchablePieces(word: Word, ignoreCase: boolean): Requirement[] {
  const separates = ignoreCase ? (symbol: number) => symbol >= 0x80 : (symbol: number) => symbol < 0;
  const pieces: number[][] = [[]];
  for (const symbol of word) {
    if (separates(symbol)) pieces.push([]);
    else pieces.at(-1)!.push(symbol);
  }
  return pieces.filter((piece) => piece.length > 0).map(toWordRequirement);
}

function textOfWord(word: Word): string {
  return String.fromCodePoint(...word.map(Math.abs));
}

function toWordRequirement(word: Word): Requirement {
  const ignoreCase = word.some((symbol) => symbol < 0);
  return toTextRequirement(textOfWord(word), ignoreCase);
}

/** Text search that ignores case expects its needle in lower case. */
function toTextRequirement(text: string, ignoreCase: boolean): Requirement {
  return { kind: "text", text: ignoreCase ? text.toLowerCase() : text, ignoreCase };
}

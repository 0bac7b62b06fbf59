/**
 * What a regular expression asks of a text before it is matched: texts that it must hold. So a search for a pattern is a search
 * for texts, and few rows are left to be matched. The way of Russ Cox's "Regular Expression Matching with a Trigram Index" and of
 * RE2's FilteredRE2, with whole texts in the place of trigrams.
 */

import { RecentCache } from "../vector/recent-cache.ts";
import { emptyWord, enumerateWords, product, type Word, type Words } from "./literal-words.ts";
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

export interface RequiredTexts {
  /** Every text that the pattern matches satisfies this. */
  needs: Requirement;
  /** Every text that satisfies this is matched. */
  proves: Requirement;
  /** `needs` and `proves` are the same: the pattern need not be matched at all. */
  exact: boolean;
}

/** Texts that are listed in the place of a piece of a pattern: each is a search of its own. */
const wordsMax = 16;
/** Texts that are listed in the place of a whole pattern, since it then need not be matched. */
const proofWordsMax = 32;
/** Texts of one requirement; beyond it nothing is required. */
const textsMax = 64;
/** Spellings of a word some letters of which ignore case; beyond it, all of them do, and matching tells the rest. */
const spellingsMax = 4;
/** Parts of one "and": each further one costs a search and excludes little. */
const partsMax = 3;

const prefilters = new RecentCache<RequiredTexts>(64);

/** What texts must hold so that the pattern can match them. Throws Failure "input" where it is not RE2. */
export function requiredTexts(pattern: string, { whole }: PatternOptions): RequiredTexts {
  return prefilters.get(`${whole}:${pattern}`, () => deriveRequiredTexts(pattern, whole));
}

function deriveRequiredTexts(pattern: string, whole: boolean): RequiredTexts {
  const tree = buildSearchTree(pattern, whole);
  const needs = needsOf(tree);
  if (needs.kind === "never") return { needs, proves: never, exact: true };
  if (whole) return { needs, proves: never, exact: false };
  const { proves, exact } = proofOf(tree);
  return exact ? { needs: proves, proves, exact } : { needs, proves, exact };
}

/**
 * Whether a match within a part of a text (cut between characters) proves a match in the text: nothing in the pattern looks
 * at what stands around. Throws Failure "input" where it is not RE2.
 */
export function isLocal(pattern: string): boolean {
  return !looksAround(buildSearchTree(pattern, false));
}

function looksAround(tree: Tree): boolean {
  switch (tree.kind) {
    case "class":
      return false;
    case "concat":
    case "alternate":
      return tree.of.some(looksAround);
    case "look":
    case "unknown":
      return true;
    default:
      return looksAround(tree.of);
  }
}

function needsOf(tree: Tree): Requirement {
  const words = enumerateWords(tree, wordsMax);
  if (words !== undefined) return needsOfWords(words);
  switch (tree.kind) {
    case "concat":
      return needsOfConcat(tree.of);
    case "alternate":
      return needsOfAlternate(tree.of);
    case "plus":
      return needsOf(tree.of);
    default:
      return always;
  }
}

function needsOfAlternate(branches: readonly Tree[]): Requirement {
  const needs = branches.map(needsOf);
  const all = requireAny(needs);
  if (textCount(all) <= textsMax) return all;
  const fewer = requireAny(needs.map(bestPart));
  return textCount(fewer) <= textsMax ? fewer : always;
}

function bestPart(requirement: Requirement): Requirement {
  return requirement.kind === "and" ? byWorth(requirement.of)[0]! : requirement;
}

/** Best first: the longer the texts the better, and the fewer. */
function byWorth(requirements: readonly Requirement[]): Requirement[] {
  const worth = (part: Requirement) => shortestLength(part) - Math.log2(textCount(part));
  return requirements.toSorted((a, b) => worth(b) - worth(a));
}

/** Pieces in a row whose texts can be listed together give longer texts; what cannot be listed parts them. */
function needsOfConcat(parts: readonly Tree[]): Requirement {
  const needs: Requirement[] = [];
  let run = emptyWord;
  const endRun = () => {
    needs.push(needsOfWords(run));
    run = emptyWord;
  };
  for (const part of parts.flatMap(unrolled)) {
    const words = part.kind === "gap" ? undefined : enumerateWords(part, wordsMax);
    const longer = words && !isVague(words) ? product(run, words, wordsMax) : undefined;
    if (longer !== undefined) {
      run = longer;
      continue;
    }
    endRun();
    if (words === undefined) needs.push(part.kind === "gap" ? always : needsOf(part));
    else if (!isVague(words)) run = words;
  }
  endRun();
  return fewOf(needs);
}

type Part = Tree | { kind: "gap" };

/** `x+` begins with x and ends with x; what stands between is not known. */
function unrolled(tree: Tree): Part[] {
  if (tree.kind === "concat") return tree.of.flatMap(unrolled);
  if (tree.kind !== "plus" || enumerateWords(tree.of, wordsMax) === undefined) return [tree];
  return [tree.of, { kind: "gap" }, tree.of];
}

/** Many short choices, as of [0-9]: to list them would cost more searches than they exclude. */
function isVague(words: Words): boolean {
  return words.of.length > 4 && words.of.some((word) => word.length < 2);
}

/** The most selective of several requirements. */
function fewOf(needs: readonly Requirement[]): Requirement {
  const all = requireAll(needs);
  if (all.kind !== "and") return all;
  const best = byWorth(all.of);
  const worthwhile = best.filter((part, i) => i === 0 || (i < partsMax && shortestLength(part) > 1));
  while (worthwhile.length > 1 && textCount(requireAll(worthwhile)) > textsMax) worthwhile.pop();
  return requireAll(worthwhile);
}

function needsOfWords(words: Words): Requirement {
  const strays = words.strays.map((rune) => textOf(String.fromCodePoint(rune), false));
  return requireAny([...spelt(words.of).map((word) => requirementOfWord(word).needs), ...strays]);
}

/** What proves a match anywhere in a text, and whether that is also needed. */
function proofOf(tree: Tree): Pick<RequiredTexts, "proves" | "exact"> {
  const words = enumerateWords(tree, proofWordsMax);
  if (words !== undefined) {
    if (!words.sure) return { proves: never, exact: false };
    const all = spelt(words.of).map(requirementOfWord);
    const sure = all.filter(({ exact }) => exact).map(({ needs }) => needs);
    return { proves: requireAny(sure), exact: sure.length === all.length && words.strays.length === 0 };
  }
  if (tree.kind !== "alternate") return { proves: never, exact: false };
  const branches = tree.of.map(proofOf);
  const proves = requireAny(branches.map((branch) => branch.proves));
  if (textCount(proves) > textsMax) return { proves: never, exact: false };
  return { proves, exact: branches.every(({ exact }) => exact) };
}

/** Words with both forms of each letter whose case is ignored while others' is not, as far as that stays few. */
function spelt(words: readonly Word[]): readonly Word[] {
  const written = words.flatMap((word) => (isMixed(word) ? spellings(word) : [word]));
  return written.length <= Math.max(wordsMax, words.length) ? written : words;
}

function spellings(word: Word): Word[] {
  if (2 ** word.filter((symbol) => symbol < 0).length > spellingsMax) return [word];
  const formsOf = (symbol: number) => (symbol < 0 ? [-symbol, -symbol - 32] : [symbol]);
  return word.reduce<Word[]>(
    (heads, symbol) => heads.flatMap((head) => formsOf(symbol).map((form) => [...head, form])),
    [[]],
  );
}

function isMixed(word: Word): boolean {
  return word.some((symbol) => symbol < 0) && word.some(isCased);
}

/** Whether text search that ignores case could find more than this code point. */
function isCased(symbol: number): boolean {
  return symbol >= 0x80 || (symbol >= 65 && symbol <= 90) || (symbol >= 97 && symbol <= 122);
}

function requirementOfWord(word: Word): { needs: Requirement; exact: boolean } {
  if (word.length === 0) return { needs: always, exact: true };
  if (!isMixed(word))
    return {
      needs: textOf(
        letters(word),
        word.some((symbol) => symbol < 0),
      ),
      exact: true,
    };
  if (word.every((symbol) => symbol < 0x80)) return { needs: textOf(letters(word), true), exact: false };
  const pieces = [true, false].flatMap((ignoreCase) => splitAt(word, ignoreCase));
  return { needs: byWorth(pieces)[0] ?? always, exact: false };
}

/** The pieces of a word between ASCII and others that can be looked for, its case ignored or not. */
function splitAt(word: Word, ignoreCase: boolean): Requirement[] {
  const separates = ignoreCase ? (symbol: number) => symbol >= 0x80 : (symbol: number) => symbol < 0;
  const pieces: number[][] = [[]];
  for (const symbol of word) {
    if (separates(symbol)) pieces.push([]);
    else pieces.at(-1)!.push(symbol);
  }
  return pieces
    .filter((piece) => piece.length > 0)
    .map((piece) =>
      textOf(
        letters(piece),
        piece.some((symbol) => symbol < 0),
      ),
    );
}

function letters(word: Word): string {
  return String.fromCodePoint(...word.map(Math.abs));
}

function textOf(text: string, ignoreCase: boolean): Requirement {
  return { kind: "text", text: ignoreCase ? text.toLowerCase() : text, ignoreCase };
}

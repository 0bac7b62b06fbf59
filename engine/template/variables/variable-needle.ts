/** A text that is searched within variables: which slots and groups can have a variable that contains it. */
import { makeNeedle, type Needle } from "../../kernels/needle.ts";
import { findNgrams, mayContainNgrams } from "../ngram-filter.ts";
import { findLongTokens, type LongToken, type TokenSearch } from "../token-filter.ts";
import { CharClass, classesOf } from "./slot-encoding.ts";
import { groupClasses, ngramLengths } from "./variable-columns.ts";

/** Filters of a chunk's variable groups: each rules out texts that no variable of the group contains. */
export interface GroupFilters {
  /** The n-gram filter of a group, where it has one. */
  ngrams: (group: number) => Uint8Array | undefined;
  /** The token filter of a group, where it has one. */
  tokens: (group: number) => TokenSearch | undefined;
}

/** A text that a variable is to contain, and what that requires of the variable's slot and group. */
export interface VariableNeedle {
  needle: Needle;
  /** Character classes that a slot must have. */
  classes: number;
  /**
   * Character classes that the slot's group must allow. Where case is ignored, `classes` lacks the letters, as either
   * case would do.
   */
  groupClasses: number;
  /** For each group the n-grams of the text in the length of that group's filter. */
  ngrams: readonly (readonly number[])[];
  /** Hashes of all long tokens in the text. */
  token: LongToken;
}

/** Prepares a text; the rules of `makeTextNeedle` hold for its bytes. */
export function makeVariableNeedle(bytes: Uint8Array, ignoreCase: boolean): VariableNeedle {
  const groupClasses = classesOf(bytes, 0, bytes.length);
  // Where case is ignored, letters of either case will do, so only these classes are required.
  const caseless = CharClass.digit | CharClass.mark;
  return {
    needle: makeNeedle(bytes, ignoreCase),
    classes: ignoreCase ? groupClasses & caseless : groupClasses,
    groupClasses,
    ngrams: ngramLengths.map((width) => (width === undefined ? [] : findNgrams(bytes, width))),
    token: findLongTokens(bytes).flat(),
  };
}

/** Returns whether some variable of a group may contain a text. */
export function mayContainNeedle(group: number, needle: VariableNeedle, filters: GroupFilters): boolean {
  if (!mayContainNeedleNgrams(group, needle, filters)) return false;
  return needle.token.length === 0 || filters.tokens(group)?.mayContain(needle.token) !== false;
}

/** Returns whether some variable of a group may contain a text, by characters and n-grams alone. */
export function mayContainNeedleNgrams(
  group: number,
  needle: VariableNeedle,
  filters: GroupFilters,
): boolean {
  const { groupClasses: classes, ngrams } = needle;
  if ((classes & ~groupClasses[group]!) !== 0) return false;
  const needed = ngrams[group]!;
  const filter = needed.length > 0 ? filters.ngrams(group) : undefined;
  return filter === undefined || mayContainNgrams(filter, needed);
}

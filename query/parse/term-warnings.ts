import { functionNames, rowSignals } from "../text/keywords.ts";
import type { Source } from "../text/source.ts";
import { findClosest } from "../text/suggestion.ts";
import { quoteTerm, type SearchTerm, type SearchTerms } from "../tree/search-terms.ts";

/**
 * Sentences about words that were searched for as texts, although they are written as in another language, or as in a
 * structured query: `error | json`, `level: error`, `conut(logs)`, `a*b`, `a and b`. Texts in quotes are meant as texts.
 */
export function warnOfForeignWords(terms: SearchTerms, source: Source): string[] {
  return terms.alternatives.flatMap((all) => {
    const words = all.map((term) => wordOf(term, source));
    return all.flatMap((term, i) => {
      if (term.of.kind === "terms") return warnOfForeignWords(term.of, source);
      const word = words[i];
      const meant = word === undefined ? undefined : findMeaning(word, words[i - 1], words[i + 1]);
      return meant === undefined ? [] : [`${word} was searched for as a text; ${meant}`];
    });
  });
}

/** The word of a term that stands in the query without quotes; undefined for other terms. */
function wordOf({ of }: SearchTerm, { text, spans }: Source): string | undefined {
  if (of.kind !== "phrase") return undefined;
  const span = spans.get(of);
  return span !== undefined && text.slice(span.start, span.end) === of.text ? of.text : undefined;
}

/** What a word was probably meant as: the end of a sentence. */
function findMeaning(
  word: string,
  before: string | undefined,
  behind: string | undefined,
): string | undefined {
  if (word === "|" || word === "|=" || word === "|~") {
    return 'stages stand after a selector, as in logs |= "error" | json';
  }
  if (/^(?:and|or|&&|\|\|)$/.test(word) && before !== undefined && behind !== undefined)
    return `terms are joined by AND and OR: ${quoteTerm(word)} is the text`;
  const [, field] = /^([A-Za-z_][\w./-]*):$/.exec(word) ?? [];
  if (field !== undefined && behind !== undefined) return suggestComparison(field, behind);
  const [, name, argument] = /^([A-Za-z_]\w*)\(([A-Za-z_]*)/.exec(word) ?? [];
  if (name !== undefined) return suggestCall(name, argument!);
  const isWildcard = /[\p{L}\p{N}]\*[\p{L}\p{N}]|^\*[\p{L}\p{N}]/u.test(word);
  return isWildcard ? "`*` stands for any ending of a word alone, as in err*" : undefined;
}

/** Names by which others call the level, and names that are hardly ever words of a message before a colon. */
const levelNames = new Set(["level", "severity", "lvl", "loglevel"]);
const fieldNames = new Set(["service", "namespace", "pod", "container", "host", "hostname", "status"]);

/** What `level: error` was meant as. In `Error: timeout` the colon is the message's: undefined. */
function suggestComparison(field: string, value: string): string | undefined {
  const isField = levelNames.has(field) || fieldNames.has(field) || /[._]/.test(field);
  const name = levelNames.has(field) ? "log_level" : field;
  return isField ? `a field is compared without white space: ${name}=${value}` : undefined;
}

/** What a word such as `conut(logs)` or `count(log)` was meant as; undefined where it is like no function of rows. */
function suggestCall(name: string, argument: string): string | undefined {
  const op = findClosest(name, functionNames);
  const signal = findClosest(argument, rowSignals);
  return op === undefined || signal === undefined ? undefined : `did you mean ${op}(${signal})?`;
}

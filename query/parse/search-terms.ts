import { nestingMax } from "../limits.ts";
import type { TextSpan } from "../text/query-error.ts";
import { refuse, type Source } from "../text/source.ts";
import { makeLabel } from "../tree/label.ts";
import { type Matcher, type MatcherOperator, makeMatcher } from "../tree/matcher.ts";
import { isQuantity, parseNumber } from "../tree/number-literal.ts";
import {
  makePhrase,
  makePrefix,
  makeSearchTerm,
  makeSearchTerms,
  type Phrase,
  type Prefix,
  prefixOf,
  quoteTerm,
  type SearchTerm,
  type SearchTerms,
  termOperators,
  unquotedTermLabel,
} from "../tree/search-terms.ts";
import { makePlainString, type StringLiteral } from "../tree/string-literal.ts";

/**
 * Parses search terms. Throws a QueryError for an unclosed `"`, for `OR` or `AND` without a term on both sides, and for
 * `NOT` without one after it.
 */
export function parseSearchTerms(source: Source): { terms: SearchTerms; warnings: string[] } {
  const parser = new SearchTermParser(source);
  return { terms: parser.parse(), warnings: parser.warnings };
}

/** A text in quotes, or up to the next white space. The span includes the quotes. */
interface Word extends TextSpan {
  text: string;
  /** The quote character; "" for an unquoted word. */
  quote: string;
}

class SearchTermParser {
  readonly warnings: string[] = [];
  readonly #source: Source;
  readonly #text: string;
  #offset = 0;
  /** Groups in brackets that are open. */
  #depth = 0;
  /** By the offset of each opening bracket, that of the bracket which closes it. Undefined before the first is read. */
  #closings: ReadonlyMap<number, number> | undefined;

  constructor(source: Source) {
    this.#source = source;
    this.#text = source.text;
  }

  /** Parses to the end of the text, or of the group that is open. */
  parse(): SearchTerms {
    const alternatives: SearchTerm[][] = [[]];
    let connective: Word | undefined;
    for (this.#skipSpace(); !this.#isAtEnd(); this.#skipSpace()) {
      const word = this.#readConnective();
      if (word === undefined) {
        alternatives.at(-1)!.push(this.#readTerm());
        connective = undefined;
        continue;
      }
      if (alternatives.at(-1)!.length === 0 || connective !== undefined)
        this.#refuseConnective(connective ?? word);
      if (word.text === "OR") alternatives.push([]);
      connective = word;
    }
    if (connective !== undefined) this.#refuseConnective(connective);
    return makeSearchTerms(alternatives);
  }

  #isAtEnd(): boolean {
    if (this.#offset >= this.#text.length) return true;
    return this.#depth > 0 && this.#text[this.#offset] === ")";
  }

  #refuseConnective(word: Word): never {
    const problem = `${word.text} stands between two terms; to search for the word itself, put it in quotes: "${word.text}"`;
    return refuse(this.#source, word, problem);
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#offset))) this.#offset++;
  }

  /** Reads an `AND` or `OR` that stands before white space or the end; undefined where there is none. */
  #readConnective(): Word | undefined {
    const word = this.#match(this.#depth > 0 ? /(?:AND|OR)(?=[\s)]|$)/y : /(?:AND|OR)(?=\s|$)/y);
    if (word === undefined) return undefined;
    const start = this.#offset;
    this.#offset += word.length;
    return { text: word, quote: "", start, end: this.#offset };
  }

  /** What the pattern, which is sticky, finds at this place; undefined for nothing. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    return pattern.exec(this.#text)?.[0];
  }

  #readTerm(): SearchTerm {
    let excluded = this.#readNots();
    if (this.#match(this.#depth > 0 ? /-[^\s)]/y : /-\S/y) !== undefined) {
      this.#offset++;
      excluded = !excluded;
    }
    return makeSearchTerm(this.#readGroup() ?? this.#readMatcher() ?? this.#readPhrase(), excluded);
  }

  /** Reads `NOT`s; returns whether their number is odd. */
  #readNots(): boolean {
    let isOdd = false;
    for (;;) {
      const start = this.#offset;
      if (this.#match(this.#depth > 0 ? /NOT(?=[\s()]|$)/y : /NOT(?=[\s(]|$)/y) === undefined) return isOdd;
      this.#offset += 3;
      this.#skipSpace();
      isOdd = !isOdd;
      const isAlone = this.#isAtEnd() || this.#match(/(?:AND|OR)(?=\s|$)/y) !== undefined;
      if (!isAlone) continue;
      const problem = 'NOT stands before a term; to search for the word itself, put it in quotes: "NOT"';
      refuse(this.#source, { start, end: start + 3 }, problem);
    }
  }

  /** Reads terms in brackets. Reads nothing where the bracket is not closed, or has no white space in it, as in `(x)`. */
  #readGroup(): SearchTerms | undefined {
    const start = this.#offset;
    if (this.#match(/\((?!\s*\))/y) === undefined) return undefined;
    this.#closings ??= findClosings(this.#text);
    if (!/\s/.test(this.#text.slice(start, this.#closings.get(start) ?? start))) return undefined;
    if (this.#depth >= nestingMax)
      refuse(this.#source, { start, end: start + 1 }, `brackets are nested at most ${nestingMax} deep`);
    this.#offset++;
    this.#depth++;
    const terms = this.parse();
    if (this.#offset >= this.#text.length) {
      const problem = 'this ( has no closing ); to search for the character itself, put it in quotes: "("';
      refuse(this.#source, { start, end: start + 1 }, problem);
    }
    this.#depth--;
    this.#offset++;
    this.#source.spans.set(terms, { start, end: this.#offset });
    return terms;
  }

  #readPhrase(): Phrase | Prefix {
    const word = this.#readWord();
    const prefix = word.quote === "" ? prefixOf(word.text) : undefined;
    const node = prefix === undefined ? makePhrase(word.text) : makePrefix(prefix);
    this.#source.spans.set(node, { start: word.start, end: word.end });
    return node;
  }

  /**
   * Reads a label, an operator and a value without white space between them. Reads nothing where one of the three is
   * missing.
   */
  #readMatcher(): Matcher | undefined {
    const start = this.#offset;
    const name = this.#readLabel();
    const operator = name && termOperators.find((each) => this.#text.startsWith(each, this.#offset));
    if (name === undefined || operator === undefined) return this.#rewindTo(start);
    this.#offset += operator.length;
    if (this.#isWordEnd(this.#offset)) return this.#rewindTo(start);
    const value = this.#readWord();
    if (value.quote === "" && !isValue(value.text, operator)) return this.#rewindTo(start);
    if (operator === ":") this.#warnOfColon(start, name, value);
    const node = makeMatcher(
      makeLabel(this.#makeString(name)),
      operator === ":" ? "=" : operator,
      this.#makeString(value),
    );
    this.#source.spans.set(node, { start, end: this.#offset });
    return node;
  }

  #rewindTo(start: number): undefined {
    this.#offset = start;
  }

  #warnOfColon(start: number, name: Word, value: Word): void {
    const written = this.#text.slice(start, this.#offset);
    const read = `${this.#text.slice(name.start, name.end)}=${this.#text.slice(value.start, value.end)}`;
    this.warnings.push(
      `${written} was read as ${read}; to search for the text itself, put it in quotes: ${quoteTerm(written)}`,
    );
  }

  #readLabel(): Word | undefined {
    if (this.#text[this.#offset] === '"') return this.#readQuoted('"');
    unquotedTermLabel.lastIndex = this.#offset;
    const found = unquotedTermLabel.exec(this.#text);
    if (found === null) return undefined;
    this.#offset = unquotedTermLabel.lastIndex;
    return { text: found[0], quote: "", start: found.index, end: this.#offset };
  }

  #readWord(): Word {
    const quote = this.#text[this.#offset]!;
    const quoted = /["'`]/.test(quote) ? this.#readQuoted(quote) : undefined;
    return quoted ?? this.#readUnquoted();
  }

  #readUnquoted(): Word {
    const start = this.#offset;
    const [whole] = /^\S+/.exec(this.#text.slice(start))!;
    const text = this.#depth === 0 ? whole : whole.slice(0, endOfBalanced(whole));
    this.#offset += text.length;
    return { text, quote: "", start, end: this.#offset };
  }

  /** Whether a word ends before this place: at white space, at the end, or at the bracket that closes a group. */
  #isWordEnd(offset: number): boolean {
    const sign = this.#text.charAt(offset);
    return /^(?:\s|$)/.test(sign) || (this.#depth > 0 && sign === ")");
  }

  /**
   * Reads a text in quotes. `'` and `` ` `` may be apostrophes, so they are quotes only where a second one stands
   * at the end of a word; otherwise nothing is read. Throws a QueryError for a `"` that is not closed.
   */
  #readQuoted(quote: string): Word | undefined {
    const start = this.#offset;
    const pattern =
      quote === '"'
        ? /"((?:[^"\\]|\\[\s\S])*)"/y
        : new RegExp(`${quote}([^${quote}]*)${quote}(?=${this.#depth > 0 ? "[\\s)]" : "\\s"}|$)`, "y");
    pattern.lastIndex = start;
    const found = pattern.exec(this.#text);
    if (found !== null) {
      this.#offset = pattern.lastIndex;
      const text = quote === '"' ? found[1]!.replace(/\\(["\\])/g, "$1") : found[1]!;
      return { text, quote, start, end: this.#offset };
    }
    if (quote !== '"') return undefined;
    const problem = 'this " has no closing "; to search for the character itself, write "\\""';
    return refuse(this.#source, { start, end: start + 1 }, problem);
  }

  /** The string literal of a word. The spans of its characters are known only where the word has no escape. */
  #makeString(word: Word): StringLiteral {
    const node = makePlainString(word.text);
    const quoteLength = word.quote.length;
    const hasNoEscape = word.text.length + 2 * quoteLength === word.end - word.start;
    const spanWithin = ({ start, end }: TextSpan) => ({
      start: word.start + quoteLength + start,
      end: word.start + quoteLength + end,
    });
    this.#source.spans.set(node, {
      start: word.start,
      end: word.end,
      ...(hasNoEscape ? { spanWithin } : {}),
    });
    return node;
  }
}

/** By the offset of each opening bracket, that of the bracket which closes it. Texts in double quotes are skipped. */
function findClosings(text: string): Map<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (const found of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"|[()]/g)) {
    if (found[0] === "(") open.push(found.index);
    const opening = found[0] === ")" ? open.pop() : undefined;
    if (opening !== undefined) closings.set(opening, found.index);
  }
  return closings;
}

/** The end of a word before the first `)` that closes no `(` of the word. */
function endOfBalanced(word: string): number {
  let depth = 0;
  for (const [i, sign] of Array.from(word.matchAll(/[()]/g), (found) => [found.index, found[0]] as const)) {
    depth += sign === "(" ? 1 : -1;
    if (depth < 0) return i;
  }
  return word.length;
}

/** Returns whether an unquoted text after an operator is a value. In `a==b`, `x=>y` and `http://…` it is not. */
function isValue(text: string, operator: MatcherOperator | ":"): boolean {
  if (operator === ":") return !/^(?:[:\\]|\/\/)/.test(text);
  if (operator.startsWith(">") || operator.startsWith("<"))
    return parseNumber(text) !== undefined || isQuantity(text);
  return !/^[=>]/.test(text);
}

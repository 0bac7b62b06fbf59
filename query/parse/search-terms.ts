import type { TextSpan } from "../text/query-error.ts";
import { refuse, type Source } from "../text/source.ts";
import { makeLabel } from "../tree/label.ts";
import { type Matcher, type MatcherOperator, makeMatcher } from "../tree/matcher.ts";
import { parseNumber } from "../tree/number-literal.ts";
import {
  makePhrase,
  makeSearchTerm,
  makeSearchTerms,
  type Phrase,
  quoteTerm,
  type SearchTerm,
  type SearchTerms,
  termOperators,
  unquotedTermLabel,
} from "../tree/search-terms.ts";
import { makePlainString, type StringLiteral } from "../tree/string-literal.ts";

/** Parses search terms. Throws a QueryError for an unclosed `"`, and for `OR` or `AND` without a term on both sides. */
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

  constructor(source: Source) {
    this.#source = source;
    this.#text = source.text;
  }

  parse(): SearchTerms {
    const alternatives: SearchTerm[][] = [[]];
    let connective: Word | undefined;
    for (this.#skipSpace(); this.#offset < this.#text.length; this.#skipSpace()) {
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

  #refuseConnective(word: Word): never {
    const problem = `${word.text} stands between two terms; to search for the word itself, put it in quotes: "${word.text}"`;
    return refuse(this.#source, word, problem);
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#offset))) this.#offset++;
  }

  /** Reads an `AND` or `OR` that stands before white space or the end; undefined where there is none. */
  #readConnective(): Word | undefined {
    const [word] = /^(?:AND|OR)(?=\s|$)/.exec(this.#text.slice(this.#offset, this.#offset + 4)) ?? [];
    if (word === undefined) return undefined;
    const start = this.#offset;
    this.#offset += word.length;
    return { text: word, quote: "", start, end: this.#offset };
  }

  #readTerm(): SearchTerm {
    const excluded = /^-\S/.test(this.#text.slice(this.#offset, this.#offset + 2));
    if (excluded) this.#offset++;
    return makeSearchTerm(this.#readMatcher() ?? this.#readPhrase(), excluded);
  }

  #readPhrase(): Phrase {
    const word = this.#readWord();
    const node = makePhrase(word.text);
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
    if (/^(?:\s|$)/.test(this.#text.charAt(this.#offset))) return this.#rewindTo(start);
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
    const [text] = /^\S+/.exec(this.#text.slice(start))!;
    this.#offset += text.length;
    return { text, quote: "", start, end: this.#offset };
  }

  /**
   * Reads a text in quotes. `'` and `` ` `` may be apostrophes, so they are quotes only where a second one stands
   * before white space or the end; otherwise nothing is read. Throws a QueryError for a `"` that is not closed.
   */
  #readQuoted(quote: string): Word | undefined {
    const start = this.#offset;
    const pattern =
      quote === '"'
        ? /"((?:[^"\\]|\\[\s\S])*)"/y
        : new RegExp(`${quote}([^${quote}]*)${quote}(?=\\s|$)`, "y");
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

/** Returns whether an unquoted text after an operator is a value. In `a==b`, `x=>y` and `http://…` it is not. */
function isValue(text: string, operator: MatcherOperator | ":"): boolean {
  if (operator === ":") return !/^(?:[:\\]|\/\/)/.test(text);
  if (operator.startsWith(">") || operator.startsWith("<")) return parseNumber(text) !== undefined;
  return !/^[=>]/.test(text);
}

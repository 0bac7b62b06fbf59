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

/** Reads search terms. Throws a QueryError for a `"` that is not closed and for an `OR` or `AND` without terms around it. */
export function parseSearchTerms(source: Source): { terms: SearchTerms; warnings: string[] } {
  const reader = new SearchTermParser(source);
  return { terms: reader.read(), warnings: reader.warnings };
}

/** A text in quotes or up to white space. */
interface Word extends TextSpan {
  text: string;
  quote: string;
}

class SearchTermParser {
  readonly warnings: string[] = [];
  readonly #source: Source;
  readonly #text: string;
  #at = 0;

  constructor(source: Source) {
    this.#source = source;
    this.#text = source.text;
  }

  read(): SearchTerms {
    const alternatives: SearchTerm[][] = [[]];
    let connective: Word | undefined;
    for (this.#skipSpace(); this.#at < this.#text.length; this.#skipSpace()) {
      const word = this.#connective();
      if (word === undefined) {
        alternatives.at(-1)!.push(this.#term());
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
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
  }

  /** `AND` or `OR`, alone between white space. */
  #connective(): Word | undefined {
    const [word] = /^(?:AND|OR)(?=\s|$)/.exec(this.#text.slice(this.#at, this.#at + 4)) ?? [];
    if (word === undefined) return undefined;
    const start = this.#at;
    this.#at += word.length;
    return { text: word, quote: "", start, end: this.#at };
  }

  #term(): SearchTerm {
    const excluded = /^-\S/.test(this.#text.slice(this.#at, this.#at + 2));
    if (excluded) this.#at++;
    return makeSearchTerm(this.#matcher() ?? this.#phrase(), excluded);
  }

  #phrase(): Phrase {
    const word = this.#word();
    const node = makePhrase(word.text);
    this.#source.spans.set(node, { start: word.start, end: word.end });
    return node;
  }

  /** A label, a comparison and a value without white space between; else nothing is read. */
  #matcher(): Matcher | undefined {
    const start = this.#at;
    const name = this.#name();
    const sign = name && termOperators.find((each) => this.#text.startsWith(each, this.#at));
    if (name === undefined || sign === undefined) return this.#backTo(start);
    this.#at += sign.length;
    if (/^(?:\s|$)/.test(this.#text.charAt(this.#at))) return this.#backTo(start);
    const value = this.#word();
    if (value.quote === "" && !isValue(value.text, sign)) return this.#backTo(start);
    if (sign === ":") this.#warnOfColon(start, name, value);
    const node = makeMatcher(makeLabel(this.#placed(name)), sign === ":" ? "=" : sign, this.#placed(value));
    this.#source.spans.set(node, { start, end: this.#at });
    return node;
  }

  #backTo(start: number): undefined {
    this.#at = start;
  }

  #warnOfColon(start: number, name: Word, value: Word): void {
    const written = this.#text.slice(start, this.#at);
    const read = `${this.#text.slice(name.start, name.end)}=${this.#text.slice(value.start, value.end)}`;
    this.warnings.push(
      `${written} was read as ${read}; to search for the text itself, put it in quotes: ${quoteTerm(written)}`,
    );
  }

  #name(): Word | undefined {
    if (this.#text[this.#at] === '"') return this.#quoted('"');
    unquotedTermLabel.lastIndex = this.#at;
    const found = unquotedTermLabel.exec(this.#text);
    if (found === null) return undefined;
    this.#at = unquotedTermLabel.lastIndex;
    return { text: found[0], quote: "", start: found.index, end: this.#at };
  }

  #word(): Word {
    const quote = this.#text[this.#at]!;
    const quoted = /["'`]/.test(quote) ? this.#quoted(quote) : undefined;
    return quoted ?? this.#bare();
  }

  #bare(): Word {
    const start = this.#at;
    const [text] = /^\S+/.exec(this.#text.slice(start))!;
    this.#at += text.length;
    return { text, quote: "", start, end: this.#at };
  }

  /** A text in quotes. Other quotes than `"` may be apostrophes: they count where one closes before white space or the end. */
  #quoted(quote: string): Word | undefined {
    const start = this.#at;
    const shape =
      quote === '"'
        ? /"((?:[^"\\]|\\[\s\S])*)"/y
        : new RegExp(`${quote}([^${quote}]*)${quote}(?=\\s|$)`, "y");
    shape.lastIndex = start;
    const found = shape.exec(this.#text);
    if (found !== null) {
      this.#at = shape.lastIndex;
      const text = quote === '"' ? found[1]!.replace(/\\(["\\])/g, "$1") : found[1]!;
      return { text, quote, start, end: this.#at };
    }
    if (quote !== '"') return undefined;
    const problem = 'this " has no closing "; to search for the character itself, write "\\""';
    return refuse(this.#source, { start, end: start + 1 }, problem);
  }

  /** A word as the text of a label or a value, its places told where no escape shifts them. */
  #placed(word: Word): StringLiteral {
    const node = makePlainString(word.text);
    const lead = word.quote.length;
    const straight = word.text.length + 2 * lead === word.end - word.start;
    const spanWithin = ({ start, end }: TextSpan) => ({
      start: word.start + lead + start,
      end: word.start + lead + end,
    });
    this.#source.spans.set(node, { start: word.start, end: word.end, ...(straight ? { spanWithin } : {}) });
    return node;
  }
}

/** Whether what stands unquoted behind a sign is a value, rather than all of it a text such as `a==b`, `x=>y` or `http://…`. */
function isValue(text: string, sign: MatcherOperator | ":"): boolean {
  if (sign === ":") return !/^(?:[:\\]|\/\/)/.test(text);
  if (sign.startsWith(">") || sign.startsWith("<")) return parseNumber(text) !== undefined;
  return !/^[=>]/.test(text);
}

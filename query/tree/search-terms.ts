import type { Matcher, MatcherOperator } from "./matcher.ts";
import { parseNumber } from "./number-literal.ts";

/** Search terms, as a person types them. A row is found if it matches all terms of at least one alternative. */
export interface SearchTerms {
  readonly kind: "terms";
  /** The lists of terms that `OR` separates. None of them is empty. */
  readonly alternatives: readonly (readonly SearchTerm[])[];
}

export interface SearchTerm {
  readonly kind: "term";
  /** True after `-` or `NOT`: the row must not match. */
  readonly excluded: boolean;
  /** Terms within are those of a group in brackets. */
  readonly of: Phrase | Prefix | Matcher | SearchTerms;
}

/** A text that the message contains, ignoring case. */
export interface Phrase {
  readonly kind: "phrase";
  readonly text: string;
}

/** `err*`: the beginning of a word of the message, ignoring case. The text has no `*`. */
export interface Prefix {
  readonly kind: "prefix";
  readonly text: string;
}

export function makeSearchTerms(alternatives: readonly (readonly SearchTerm[])[]): SearchTerms {
  return Object.freeze({
    kind: "terms",
    alternatives: Object.freeze(alternatives.map((each) => Object.freeze([...each]))),
  });
}

export function makeSearchTerm(of: SearchTerm["of"], excluded: boolean): SearchTerm {
  return Object.freeze({ kind: "term", excluded, of });
}

export function makePhrase(text: string): Phrase {
  return Object.freeze({ kind: "phrase", text });
}

/** The text of a word that is a prefix, without its `*`; undefined for any other word. */
export function prefixOf(word: string): string | undefined {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*\*$/u.test(word) ? word.slice(0, -1) : undefined;
}

export function makePrefix(text: string): Prefix {
  return Object.freeze({ kind: "prefix", text });
}

/** The operators of a term. The parser takes the first that fits, so longer ones come first. `:` means `=`. */
export const termOperators = ["=~", "!~", "!=", ">=", "<=", "=", ">", "<", ":"] as const satisfies (
  | MatcherOperator
  | ":"
)[];

/** Matches a label of a term that needs no quotes. The label has no `:`, as `:` is an operator in search terms. */
export const unquotedTermLabel = /[A-Za-z_][A-Za-z0-9_]*(?:[./-]+[A-Za-z0-9_]+)*/y;

/** The text of search terms, which parses to equal terms. */
export function printSearchTerms(node: SearchTerms): string {
  return node.alternatives.map((each) => each.map(printSearchTerm).join(" ")).join(" OR ");
}

function printSearchTerm(node: SearchTerm): string {
  const printed = printTermContent(node.of);
  return node.excluded ? `-${printed}` : printed;
}

function printTermContent(of: SearchTerm["of"]): string {
  switch (of.kind) {
    case "phrase":
      return printPhrase(of);
    case "prefix":
      return `${of.text}*`;
    case "matcher":
      return printTermMatcher(of);
    case "terms":
      return printGroup(printSearchTerms(of));
  }
}

/** Brackets without white space in them are a text. */
function printGroup(printed: string): string {
  return /\s/.test(printed) ? `(${printed})` : `( ${printed} )`;
}

/** Words that must be quoted in terms: unquoted they are an operator, or begin a structured query. */
const reservedTermWords = new Set(["AND", "OR", "NOT", "logs", "count"]);

function printPhrase({ text }: Phrase): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*$/u.test(text) && !reservedTermWords.has(text)
    ? text
    : quoteTerm(text);
}

function printTermMatcher(node: Matcher): string {
  const name = charactersOf(node.label.name);
  unquotedTermLabel.lastIndex = 0;
  const needsNoQuotes =
    unquotedTermLabel.test(name) &&
    unquotedTermLabel.lastIndex === name.length &&
    !reservedTermWords.has(name);
  return `${needsNoQuotes ? name : quoteTerm(name)}${node.operator}${printTermValue(node)}`;
}

function printTermValue(node: Matcher): string {
  if (node.value.kind === "number") return node.value.text;
  const value = charactersOf(node.value);
  if (/[<>]/.test(node.operator) && parseNumber(value) === undefined) return quoteTerm(value);
  return /^[\p{L}\p{N}_.*-][\p{L}\p{N}_./:*-]*$/u.test(value) ? value : quoteTerm(value);
}

/** The characters of a label or value of a term. Search terms have no variables. */
function charactersOf(node: { parts: readonly object[] }): string {
  return node.parts.map((part) => ("text" in part ? part.text : "")).join("");
}

/** A text in quotes, as search terms read it. */
export function quoteTerm(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

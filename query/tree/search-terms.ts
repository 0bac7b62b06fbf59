import type { Matcher, MatcherOperator } from "./matcher.ts";
import { parseNumber } from "./number-literal.ts";

/** Search terms as a person types them. A row is found if all terms of one of the alternatives hold. */
export interface SearchTerms {
  readonly kind: "terms";
  /** What stands between `OR`; none of them is empty. */
  readonly alternatives: readonly (readonly SearchTerm[])[];
}

export interface SearchTerm {
  readonly kind: "term";
  /** Whether `-` stands before it. */
  readonly excluded: boolean;
  readonly of: Phrase | Matcher;
}

/** A text that the message has, whatever the case. */
export interface Phrase {
  readonly kind: "phrase";
  readonly text: string;
}

export function makeSearchTerms(alternatives: readonly (readonly SearchTerm[])[]): SearchTerms {
  return Object.freeze({
    kind: "terms",
    alternatives: Object.freeze(alternatives.map((each) => Object.freeze([...each]))),
  });
}

export function makeSearchTerm(of: Phrase | Matcher, excluded: boolean): SearchTerm {
  return Object.freeze({ kind: "term", excluded, of });
}

export function makePhrase(text: string): Phrase {
  return Object.freeze({ kind: "phrase", text });
}

/** The comparisons of a term, longer ones first. `:` is read as `=`. */
export const termOperators = ["=~", "!~", "!=", ">=", "<=", "=", ">", "<", ":"] as const satisfies (
  | MatcherOperator
  | ":"
)[];

/** A label of a term that needs no quotes. Without `:`, which ends it. */
export const unquotedTermLabel = /[A-Za-z_][A-Za-z0-9_]*(?:[./-]+[A-Za-z0-9_]+)*/y;

export function printSearchTerms(node: SearchTerms): string {
  return node.alternatives.map((each) => each.map(printSearchTerm).join(" ")).join(" OR ");
}

function printSearchTerm(node: SearchTerm): string {
  const printed = node.of.kind === "phrase" ? printPhrase(node.of) : printTermMatcher(node.of);
  return node.excluded ? `-${printed}` : printed;
}

/** Words that would be taken for a connective or for the beginning of a structured query. */
const reservedTermWords = new Set(["AND", "OR", "logs", "count"]);

function printPhrase({ text }: Phrase): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*$/u.test(text) && !reservedTermWords.has(text)
    ? text
    : quoteTerm(text);
}

/** Labels and values of terms have no variables: the characters are all there is. */
function printTermMatcher(node: Matcher): string {
  const name = charactersOf(node.label.name);
  unquotedTermLabel.lastIndex = 0;
  const bare =
    unquotedTermLabel.test(name) &&
    unquotedTermLabel.lastIndex === name.length &&
    !reservedTermWords.has(name);
  return `${bare ? name : quoteTerm(name)}${node.operator}${printTermValue(node)}`;
}

function printTermValue(node: Matcher): string {
  if (node.value.kind === "number") return node.value.text;
  const value = charactersOf(node.value);
  if (/[<>]/.test(node.operator) && parseNumber(value) === undefined) return quoteTerm(value);
  return /^[\p{L}\p{N}_.*-][\p{L}\p{N}_./:*-]*$/u.test(value) ? value : quoteTerm(value);
}

function charactersOf(node: { parts: readonly object[] }): string {
  return node.parts.map((part) => ("text" in part ? part.text : "")).join("");
}

/** A text as a term in quotes. */
export function quoteTerm(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

import type { Comparison, Matcher } from "./matcher.ts";
import { parseNumber } from "./number-literal.ts";

/** Search terms as a person types them. A row is found if all terms of one of the alternatives hold. */
export interface Terms {
  readonly kind: "terms";
  /** What stands between `OR`; none of them is empty. */
  readonly alternatives: readonly (readonly Term[])[];
}

export interface Term {
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

export function terms(alternatives: readonly (readonly Term[])[]): Terms {
  return Object.freeze({
    kind: "terms",
    alternatives: Object.freeze(alternatives.map((each) => Object.freeze([...each]))),
  });
}

export function term(of: Phrase | Matcher, excluded: boolean): Term {
  return Object.freeze({ kind: "term", excluded, of });
}

export function phrase(text: string): Phrase {
  return Object.freeze({ kind: "phrase", text });
}

/** The comparisons of a term, longer ones first. `:` is read as `=`. */
export const termComparisons = ["=~", "!~", "!=", ">=", "<=", "=", ">", "<", ":"] as const satisfies (
  | Comparison
  | ":"
)[];

/** A label of a term that needs no quotes. Without `:`, which ends it. */
export const termLabel = /[A-Za-z_][A-Za-z0-9_]*(?:[./-]+[A-Za-z0-9_]+)*/y;

export function printTerms(node: Terms): string {
  return node.alternatives.map((each) => each.map(printTerm).join(" ")).join(" OR ");
}

function printTerm(node: Term): string {
  const printed = node.of.kind === "phrase" ? printPhrase(node.of) : printTermMatcher(node.of);
  return node.excluded ? `-${printed}` : printed;
}

/** Words that would be taken for a connective or for the beginning of a structured query. */
const takenWords = new Set(["AND", "OR", "logs", "count"]);

function printPhrase({ text }: Phrase): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*$/u.test(text) && !takenWords.has(text) ? text : quoted(text);
}

/** Labels and values of terms have no variables: the characters are all there is. */
function printTermMatcher(node: Matcher): string {
  const name = charactersOf(node.label.name);
  termLabel.lastIndex = 0;
  const bare = termLabel.test(name) && termLabel.lastIndex === name.length && !takenWords.has(name);
  return `${bare ? name : quoted(name)}${node.comparison}${printTermValue(node)}`;
}

function printTermValue(node: Matcher): string {
  if (node.value.kind === "number") return node.value.text;
  const value = charactersOf(node.value);
  if (/[<>]/.test(node.comparison) && parseNumber(value) === undefined) return quoted(value);
  return /^[\p{L}\p{N}_.*-][\p{L}\p{N}_./:*-]*$/u.test(value) ? value : quoted(value);
}

function charactersOf(node: { parts: readonly object[] }): string {
  return node.parts.map((part) => ("text" in part ? part.text : "")).join("");
}

/** A text as a term in quotes. */
export function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

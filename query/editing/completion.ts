/** What may stand at the caret of a query that is being typed. */

import { type IToken, tokenMatcher } from "chevrotain";
import type { RowSignal } from "../../engine/index.ts";
import { detectQueryKind } from "../parse/query-kind.ts";
import { aggregations, functionNames, rowSignals, seriesKeywords, stageKeywords } from "../text/keywords.ts";
import * as token from "../text/tokens.ts";
import { makeLabel, printField, printLabel } from "../tree/label.ts";
import { quoteTerm } from "../tree/search-terms.ts";
import { isRowSignal } from "../tree/selector.ts";
import { makePlainString, printStringLiteral } from "../tree/string-literal.ts";
import { findMistake } from "./mistake.ts";
import { quotedTerm, startsStructured } from "./reading.ts";

/** What only the stored rows can tell: names of fields, values of a field, names of metrics. */
export type WantedNames =
  | { readonly kind: "field"; readonly signal: RowSignal | "metrics"; readonly metric?: string }
  | {
      readonly kind: "value";
      readonly signal: RowSignal | "metrics";
      readonly field: string;
      readonly metric?: string;
    }
  | { readonly kind: "metric" };

/** What may replace the text from `from` to `to`. */
export interface QueryCompletion {
  /** Offsets in UTF-16 units, `to` exclusive: the word that is being typed. */
  readonly from: number;
  readonly to: number;
  /** The word as far as it is typed, without quotes. */
  readonly prefix: string;
  /** Words of the language that may stand here and begin with the prefix. */
  readonly words: readonly string[];
  /** Undefined where no name of the stored rows may stand here. */
  readonly wanted: WantedNames | undefined;
  /** The text to insert for a name that was chosen. */
  quote(name: string): string;
}

const textOperators = ["=", "!=", "=~", "!~", ">", ">=", "<", "<="];
const candidates: readonly string[] = [
  ...rowSignals,
  ...functionNames,
  ...seriesKeywords,
  ...stageKeywords,
  ...textOperators,
  ...["{", "}", "(", ")", ",", "|", "|=", "|~", "==", "+", "-", "*", "/", "%", "^"],
];

/** How stages over several rows begin; the words alone would be labels. */
const orderedStages = ["first by (", "last by (", "sequence (", "join ("];

/**
 * What may stand at an offset of a query, given what is before it. `rows`: the query is a search, of terms perhaps;
 * `series`: it is a timeseries query. Never throws.
 */
export function completeQuery(text: string, offset: number, what: "rows" | "series"): QueryCompletion {
  const before = text.slice(0, offset);
  const isTerms = what === "rows" && !startsStructured(before) && detectQueryKind(before) === "logs";
  if (isTerms) return completeTerms(before);
  const { from, prefix, isQuoted } = findWord(before);
  const base = before.slice(0, from);
  const tokens = token.tokenize(base);
  const place = placeOf(tokens);
  return {
    ...{ from, to: offset, prefix },
    // Each word is tried by the parser: only whoever shows them pays for that.
    get words() {
      return isQuoted ? [] : wordsAt(place, base, prefix);
    },
    wanted: wantedAt(place),
    quote: (name) => quoteAt(place, name),
  };
}

/** Words of the language that may stand after a text. Where labels stand, other keywords are but labels. */
function wordsAt(place: Place, base: string, prefix: string): string[] {
  if (place.kind === "value") return [];
  const stages = place.kind === "label" && /\|\s*$/.test(base) ? orderedStages : [];
  const words = place.kind === "label" || place.kind === "groupingLabel" ? stageKeywords : candidates;
  return [...words, ...stages].filter(
    (word) => word !== prefix && word.startsWith(prefix) && mayStand(base, word),
  );
}

interface Word {
  from: number;
  prefix: string;
  isQuoted: boolean;
}

/** The word that ends at the caret: a name, or a text whose quote is still open. */
function findWord(before: string): Word {
  const last = token.tokenize(before).findLast(({ tokenType }) => tokenType === token.UnclosedString);
  if (last !== undefined) {
    const from = last.startOffset;
    return { from, prefix: before.slice(from + last.image.length), isQuoted: true };
  }
  const prefix = nameAtEnd(before);
  return { from: before.length - prefix.length, prefix, isQuoted: false };
}

/** The name that a text ends with, such as `k8s.pod`; a dot may follow it, which the next part of the name is to follow. */
function nameAtEnd(text: string): string {
  let start = text.length;
  while (start > 0 && /[\w./:-]/.test(text[start - 1]!)) start--;
  const run = text.slice(start);
  return /\w\.?$/.test(run) ? run.slice(run.search(/[A-Za-z_]|$/)) : "";
}

/** True where the query goes on without a mistake up to the end of the word, and takes it for no name. */
function mayStand(base: string, word: string): boolean {
  const text = `${base} ${word}`;
  if (token.tokenize(text).at(-1)?.tokenType.name === "LabelName") return false;
  const mistake = findMistake(text);
  return mistake === undefined || mistake.start >= text.length;
}

/** Where in the grammar the caret is, as far as names of stored rows depend on it. */
type Place =
  | { kind: "start" }
  | { kind: "label"; source: IToken | undefined }
  | { kind: "value"; source: IToken | undefined; field: string }
  | { kind: "groupingLabel"; source: IToken | undefined }
  | { kind: "argument" }
  | { kind: "none" };

const comparisons = [
  ...[token.Equal, token.NotEqual, token.Match, token.NotMatch],
  ...[token.EqualEqual, token.Greater, token.GreaterEqual, token.Less, token.LessEqual],
];

function placeOf(tokens: readonly IToken[]): Place {
  const last = tokens.at(-1);
  if (last === undefined) return { kind: "start" };
  const brace = findOpen(tokens, token.LeftBrace, token.RightBrace);
  const pipe = tokens.findLastIndex((each) => tokenMatcher(each, token.Pipe));
  const grouping = groupingBefore(tokens);
  const source = brace === -1 ? sourceOf(tokens) : nameBefore(tokens, brace);
  const isComparison = comparisons.some((type) => tokenMatcher(last, type));
  const isInLabels = brace !== -1 || (pipe !== -1 && pipe > closedSince(tokens));
  if (grouping) return { kind: "groupingLabel", source };
  if (isInLabels && isComparison) {
    const field = tokens.at(-2);
    return field === undefined ? { kind: "none" } : { kind: "value", source, field: plainImage(field) };
  }
  if (brace !== -1) {
    const isNext = last.tokenType === token.LeftBrace || last.tokenType === token.Comma;
    return isNext ? { kind: "label", source } : { kind: "none" };
  }
  if (
    tokenMatcher(last, token.Pipe) ||
    (isInLabels && (tokenMatcher(last, token.And) || tokenMatcher(last, token.Or)))
  )
    return { kind: "label", source };
  if (tokenMatcher(last, token.LeftParen) || last.tokenType === token.Comma) return { kind: "argument" };
  const isOperator = [token.Plus, token.Minus, token.Times, token.Over, token.Modulo, token.Power].some(
    (type) => last.tokenType === type,
  );
  return isOperator ? { kind: "argument" } : { kind: "none" };
}

/** The index of the innermost bracket that is still open; -1 for none. */
function findOpen(tokens: readonly IToken[], left: IToken["tokenType"], right: IToken["tokenType"]): number {
  let closed = 0;
  for (let i = tokens.length - 1; i >= 0; i--) {
    if (tokenMatcher(tokens[i]!, right)) closed++;
    else if (tokenMatcher(tokens[i]!, left) && closed-- === 0) return i;
  }
  return -1;
}

/** The index of the last `)` or `}` outside of which the caret is; a filter stage before it has ended. */
function closedSince(tokens: readonly IToken[]): number {
  return tokens.findLastIndex(
    (each) => tokenMatcher(each, token.RightParen) || each.tokenType === token.RightBrace,
  );
}

/** True between `by (` and its `)`. */
function groupingBefore(tokens: readonly IToken[]): boolean {
  const open = findOpen(tokens, token.LeftParen, token.RightParen);
  const word = tokens[open - 1];
  const isGrouping =
    open > 0 && [token.By, token.Without, token.On, token.Ignoring].some((type) => tokenMatcher(word!, type));
  const last = tokens.at(-1)!;
  return isGrouping && (tokenMatcher(last, token.LeftParen) || last.tokenType === token.Comma);
}

function nameBefore(tokens: readonly IToken[], brace: number): IToken | undefined {
  const before = tokens[brace - 1];
  return before !== undefined && tokenMatcher(before, token.Name) ? before : undefined;
}

/** The last signal or metric of the query: the name before braces, or a signal's name. */
function sourceOf(tokens: readonly IToken[]): IToken | undefined {
  return tokens.findLast(
    (each, i) =>
      tokenMatcher(each, token.Name) &&
      (isRowSignal(each.image) || tokens[i + 1]?.tokenType === token.LeftBrace),
  );
}

/** The name that a token stands for, without its quotes. */
function plainImage({ image }: IToken): string {
  return image.replace(/^(["'`])(.*)\1$/s, "$2");
}

function wantedAt(place: Place): WantedNames | undefined {
  switch (place.kind) {
    case "start":
    case "argument":
      return { kind: "metric" };
    case "label":
    case "groupingLabel":
      return { kind: "field", ...sourceNames(place.source) };
    case "value":
      return { kind: "value", field: place.field, ...sourceNames(place.source) };
    case "none":
      return undefined;
  }
}

/** The signal or metric that labels are of; logs where none is named. */
function sourceNames(source: IToken | undefined): { signal: RowSignal | "metrics"; metric?: string } {
  if (source === undefined) return { signal: "logs" };
  return isRowSignal(source.image) ? { signal: source.image } : { signal: "metrics", metric: source.image };
}

function quoteAt(place: Place, name: string): string {
  if (place.kind === "value") return printStringLiteral(makePlainString(name));
  const label = makeLabel(makePlainString(name));
  return place.kind === "label" || place.kind === "groupingLabel" ? printLabel(label) : printField(label);
}

/** In search terms: a field, or the value of the field before an operator. */
function completeTerms(before: string): QueryCompletion {
  const value = new RegExp(
    `(?:^|\\s)-?(${quotedTerm}|[A-Za-z_][\\w./-]*)(?:=~|!~|!=|=|:)("(?:[^"\\\\]|\\\\.)*|[^\\s"]*)$`,
  ).exec(before);
  const to = before.length;
  if (value !== null) {
    const [, name, typed] = value as unknown as [string, string, string];
    const field = name.startsWith('"') ? name.slice(1, -1).replace(/\\(["\\])/g, "$1") : name;
    return {
      ...{ from: to - typed.length, to, prefix: typed.replace(/^"/, ""), words: [] },
      wanted: { kind: "value", signal: "logs", field },
      quote: (chosen) => (/^[\p{L}\p{N}_.-][\p{L}\p{N}_./:-]*$/u.test(chosen) ? chosen : quoteTerm(chosen)),
    };
  }
  const [prefix] = /[A-Za-z_]?[\w./-]*$/.exec(before)!;
  return {
    ...{ from: to - prefix.length, to, prefix },
    words: prefix === "" ? [] : termWordsAt(before.slice(0, to - prefix.length), prefix),
    wanted: prefix === "" ? undefined : { kind: "field", signal: "logs" },
    quote: (chosen) =>
      `${/^[A-Za-z_][A-Za-z0-9_]*(?:[./-]+[A-Za-z0-9_]+)*$/.test(chosen) ? chosen : quoteTerm(chosen)}:`,
  };
}

/** Connectives between terms, and at the beginning what makes the query a structured one. */
function termWordsAt(base: string, prefix: string): string[] {
  const isFirst = /^[\s(-]*$/.test(base);
  const words = isFirst ? [...rowSignals, ...aggregations] : ["AND", "OR", "NOT"];
  return words.filter((word) => word.startsWith(prefix) && word !== prefix);
}

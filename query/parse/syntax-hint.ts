import { type IToken, type TokenType, tokenMatcher } from "chevrotain";
import { reservedKeywords, seriesKeywords } from "../text/keywords.ts";
import { locateOffset } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import { findClosest } from "../text/suggestion.ts";
import * as token from "../text/tokens.ts";
import { type AggregateOperator, parameterDescriptions } from "../tree/aggregate.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { findWordHint } from "./dialect-hints.ts";

/** The place where the parser failed, for the error message. */
export interface SyntaxErrorContext {
  /** The rule of the grammar that could not continue. */
  readonly rule: string;
  /** The token that does not fit; undefined at the end of the query. */
  readonly actual: IToken | undefined;
  readonly previous: IToken | undefined;
  readonly beforePrevious: IToken | undefined;
  readonly next: IToken | undefined;
  readonly tokens: readonly IToken[];
  readonly source: Source;
}

/**
 * The hint that ends the error message after "expected …, found …": what the person probably meant. Undefined where no
 * rule applies.
 */
export function findHint(context: SyntaxErrorContext): string | undefined {
  const { actual, rule } = context;
  if (actual === undefined) return hintForUnclosedBracket(context);
  return (
    hintForSign(actual, rule, context) ??
    hintsByRule[rule]?.(actual, context) ??
    hintForReservedWord(actual, rule)
  );
}

const isToken = (actual: IToken | undefined, type: TokenType) =>
  actual !== undefined && tokenMatcher(actual, type);
const isString = (actual: IToken) => actual.tokenType === token.StringToken;

function hintForUnclosedBracket({ tokens, source }: SyntaxErrorContext): string | undefined {
  const open: IToken[] = [];
  for (const each of tokens) {
    if (isToken(each, token.LeftParen) || isToken(each, token.LeftBrace)) open.push(each);
    if (isToken(each, token.RightParen) || isToken(each, token.RightBrace)) open.pop();
  }
  const last = open.at(-1);
  if (last === undefined) return undefined;
  const { line, column } = locateOffset(source.text, last.startOffset);
  return `the ${last.image} of line ${line}, column ${column} is not closed`;
}

/** A hint for a sign that svcQL uses differently or not at all. */
function hintForSign(actual: IToken, rule: string, context: SyntaxErrorContext): string | undefined {
  const sign = actual.image;
  if (/^[“”„‘’‚«»]$/u.test(sign)) return "texts stand in straight quotes: \" or '";
  if (sign === "[" && rule === "labels")
    return `labels stand in ( ), as in by (${context.next?.image ?? "…"})`;
  if (sign === "[") return "a window stands after the stages of a selector, once: logs{…} [5m]";
  if (sign === ":" && rule === "window") return "there are no steps in [ ]; buckets are the steps";
  if (sign === "@") return "there is no @; the range of time is given beside the query";
  if (sign === "$") return "a variable is written $name";
  if (sign === "|" && isToken(context.next, token.Pipe)) return "series are joined with `or`";
  if (sign === "&") return "conditions are joined with `and`";
  if (sign === "|" && isToken(context.previous, token.Pipe)) return "conditions are joined with `or`";
  if (sign === "!") return "not equal is written `!=`";
  if (sign === "~") return "a regular expression is matched with `=~`";
  if (sign === ":" && (rule === "comparison" || rule === "items")) return hintForColon(context);
  if (actual.tokenType === token.EqualEqual && rule === "comparison")
    return "a label is compared with one `=`";
  return undefined;
}

function hintForColon({ source }: SyntaxErrorContext): string {
  const json = /^\s*\{\s*"/.test(source.text);
  const text = json ? "; to find a message that has this text, search for it with |= `…`" : "";
  return `between a label and its value stands \`=\`${text}`;
}

function hintForSignAfterSeries(actual: IToken): string | undefined {
  if (actual.tokenType === token.Equal) return "series are compared with `==`, labels within { } or after |";
  if (actual.tokenType === token.Match) return "labels are matched within { } or after |, messages with `|~`";
  if (actual.tokenType === token.NotMatch) return "after `!~` stands a regular expression in quotes";
  const closes = isToken(actual, token.RightParen) || actual.image === "}";
  return closes ? `there is nothing open that this ${actual.image} could close` : undefined;
}

type HintOfRule = (actual: IToken, context: SyntaxErrorContext) => string | undefined;

const hintsByRule: Readonly<Record<string, HintOfRule>> = {
  value: hintForValue,
  text: (actual, { source }) => hintForMissingQuotes(actual, source),
  patternStage: hintForStageAsLabel,
  regexpStage: hintForStageAsLabel,
  comparison: hintForLoneLabel,
  items: (actual) => {
    if (actual.image === "or") return 'for either of two, write | a="x" or b="y" after the braces';
    if (actual.image === "and") return "a comma joins labels within { }";
    return isToken(actual, token.Name) || isString(actual) ? "a comma is missing before it" : undefined;
  },
  query: hintAfterSeries,
  bracketed: hintAfterSeries,
  operand: hintForOperand,
  parameter: hintForOperand,
  series: hintForOperand,
  aggregate: hintWithinAggregate,
  rangeFunction: hintWithinRangeFunction,
  jsonPath: (actual) =>
    isToken(actual, token.RightParen)
      ? 'after the path stand the resources: json_path("…", kubernetes_resources{…})'
      : undefined,
  labels: (actual, { previous }) => {
    if (!isToken(actual, token.Name) || previous === undefined) return undefined;
    if (isToken(previous, token.Name)) return "a comma is missing before it";
    return `labels stand in brackets: ${previous.image} (${actual.image})`;
  },
};

const seriesComparisons = [
  token.EqualEqual,
  token.NotEqual,
  token.Greater,
  token.GreaterEqual,
  token.Less,
  token.LessEqual,
];
const orderComparisons = [token.Greater, token.GreaterEqual, token.Less, token.LessEqual];
const comparisonTokens = [
  token.Equal,
  token.NotEqual,
  token.Match,
  token.NotMatch,
  token.EqualEqual,
  ...orderComparisons,
];

function hintForValue(actual: IToken, { previous, source }: SyntaxErrorContext): string | undefined {
  if (actual.tokenType === token.CaselessString) return 'to ignore case, write =~ "(?i)…"';
  if (isToken(actual, token.Comma) || isToken(actual, token.RightBrace)) return 'the empty text is ""';
  if (orderComparisons.some((type) => isToken(previous, type)))
    return `\`${previous!.image}\` compares numbers`;
  return hintForMissingQuotes(actual, source);
}

/** A hint for a query such as `| json = "x"`, where a label has the name of a stage. */
function hintForStageAsLabel(actual: IToken, { previous }: SyntaxErrorContext): string | undefined {
  if (!comparisonTokens.some((type) => isToken(actual, type))) return undefined;
  return `\`${previous!.image}\` is a word of the language; as a label write "${previous!.image}"`;
}

/**
 * Suggests quotes around an unquoted text. The text begins at a token and ends before a character that cannot be part
 * of it.
 */
function hintForMissingQuotes(actual: IToken, source: Source): string | undefined {
  const [unquoted = ""] = /^[\w/.*-][^\s,{}()"'`|=]*/.exec(source.text.slice(actual.startOffset)) ?? [];
  return unquoted === "" || unquoted.length > 60 ? undefined : `put it in quotes: "${unquoted}"`;
}

function hintForLoneLabel(actual: IToken, { previous }: SyntaxErrorContext): string | undefined {
  const ends = isToken(actual, token.Comma) || isToken(actual, token.RightBrace);
  return ends && isToken(previous, token.Name)
    ? `${previous!.image}=~".+" asks for rows that have it`
    : undefined;
}

/**
 * A hint for what stands after a whole series: a mistyped keyword, one argument too many, or a text or a label outside
 * of braces and stages.
 */
function hintAfterSeries(actual: IToken, context: SyntaxErrorContext): string | undefined {
  const { previous } = context;
  if (isToken(previous, token.Json) || isToken(previous, token.Logfmt)) {
    const argument = isToken(actual, token.Name) || isString(actual);
    return argument ? `${previous!.image} takes no arguments` : hintForStageAsLabel(actual, context);
  }
  if (isToken(actual, token.Bool)) return "`bool` stands after a comparison, as in > bool 5";
  if (isToken(actual, token.Offset)) return "`offset` stands after a selector, as in count(logs offset 1d)";
  if (isToken(actual, token.Equal) && isToken(context.next, token.Greater)) return "at least is written `>=`";
  if ((isToken(actual, token.By) || isToken(actual, token.Without)) && isToken(previous, token.RightParen)) {
    return "an aggregation has one grouping: all of its labels stand in it";
  }
  if (isToken(actual, token.Aggregation)) {
    const dialectHint = previous && findWordHint(previous.image);
    return dialectHint ?? "rows are counted with count(logs), and operators stand between series";
  }
  if (isToken(actual, token.By) || isToken(actual, token.Without)) {
    return `a grouping belongs to an aggregation, as in count(logs) ${actual.image} (log_level)`;
  }
  if (isToken(actual, token.Name)) return hintForNameAfterSeries(actual, context);
  return isString(actual) ? hintForSearchedText(actual) : hintForSignAfterSeries(actual);
}

/**
 * A hint for what stands where a series should begin: the second sign of an unknown operator, an argument in the wrong
 * place, or a text.
 */
function hintForOperand(actual: IToken, context: SyntaxErrorContext): string | undefined {
  const { previous, beforePrevious } = context;
  const pair = `${previous?.image ?? ""}${actual.image}`;
  if (pair === "<>") return "not equal is written `!=`";
  if (pair === "**") return "powers are written `^`";
  if (isToken(actual, token.Bool)) return "`bool` stands after a comparison, as in > bool 5";
  if (actual.image === "*" && isToken(previous, token.LeftParen)) return "rows are counted with count(logs)";
  if (isToken(actual, token.Minus)) return hintForQuantile(beforePrevious);
  const comparison = seriesComparisons.find((type) => isToken(previous, type));
  if (comparison !== undefined && isString(actual)) return hintForComparedText(actual, previous!);
  return hintForSearchedText(actual);
}

function hintForQuantile(name: IToken | undefined): string | undefined {
  return name?.image.endsWith("quantile") ? `${name.image} takes a number between 0 and 1` : undefined;
}

function hintForComparedText(actual: IToken, sign: IToken): string {
  const content = actual.image.slice(1, -1);
  if (parseNumber(content) !== undefined) return `a number stands without quotes: ${sign.image} ${content}`;
  return `series are compared with numbers; a label's text stands within { }, as in {log_level=${actual.image}}`;
}

/** A hint for a query such as `quantile(duration_ms, 0.95, …)`, where the number is not the first argument. */
function hintForNumberOrder(actual: IToken, tokens: readonly IToken[]): string | undefined {
  const index = tokens.indexOf(actual);
  const open = tokens.slice(0, index).findLastIndex((each) => isToken(each, token.LeftParen));
  const name = tokens[open - 1];
  const argument = tokens[open + 1];
  const isSecond = isToken(tokens[open + 2], token.Comma) && index === open + 3;
  if (!isSecond || name === undefined || argument === undefined) return undefined;
  if (!isToken(name, token.Aggregation) || !takesNumber(name)) return undefined;
  const more = isToken(tokens[index + 1], token.RightParen) ? "" : ", …";
  return `the number stands first: ${name.image}(${actual.image}, ${argument.image}${more})`;
}

/** A hint for what stands inside an aggregation, after the series that it aggregates. */
function hintWithinAggregate(actual: IToken, context: SyntaxErrorContext): string | undefined {
  const { next, tokens } = context;
  if (isToken(actual, token.Comma) && isToken(next, token.NumberToken)) {
    const name = findEnclosingAggregation(actual, tokens);
    if (name !== undefined && takesNumber(name))
      return `the number stands first: ${name.image}(${next!.image}, …)`;
  }
  if (isToken(actual, token.Comma)) return hintForComma(context);
  return hintAfterSeries(actual, context);
}

function takesNumber({ image }: IToken): boolean {
  return parameterDescriptions[image as AggregateOperator] !== null;
}

/** A hint for a comma after what an aggregation aggregates: often that is the number, in the wrong place. */
function hintForComma({ previous, beforePrevious, tokens }: SyntaxErrorContext): string {
  const number = isToken(previous, token.NumberToken) ? previous : undefined;
  const isNegative = isToken(beforePrevious, token.Minus);
  const misplaced =
    number &&
    (isNegative
      ? hintForQuantile(findEnclosingAggregation(number, tokens))
      : hintForNumberOrder(number, tokens));
  return misplaced ?? "an aggregation takes one field, and then what it aggregates";
}

function hintWithinRangeFunction(actual: IToken, context: SyntaxErrorContext): string | undefined {
  const { previous, tokens } = context;
  const name = tokens.find((each) => isToken(each, token.RangeFunction))?.image ?? "rate";
  if (isToken(actual, token.LeftParen) && isToken(previous, token.Aggregation)) {
    return `\`${name}\` stands inside: ${previous!.image}(${name}(…))`;
  }
  return hintAfterSeries(actual, context);
}

/** The name of the aggregation around a token: the one whose `(` is the innermost that is still open at the token. */
function findEnclosingAggregation(actual: IToken, tokens: readonly IToken[]): IToken | undefined {
  let depth = 0;
  for (let index = tokens.indexOf(actual) - 1; index > 0; index--) {
    const each = tokens[index]!;
    if (isToken(each, token.RightParen)) depth++;
    if (isToken(each, token.LeftParen) && depth-- === 0)
      return isToken(tokens[index - 1], token.Aggregation) ? tokens[index - 1] : undefined;
  }
  return undefined;
}

function hintForSearchedText(actual: IToken): string | undefined {
  return isString(actual)
    ? `a text is searched for with |= ${actual.image.length > 60 ? '"…"' : actual.image}`
    : undefined;
}

function hintForNameAfterSeries(actual: IToken, { next }: SyntaxErrorContext): string {
  const dialectHint = findWordHint(actual.image);
  if (dialectHint !== undefined) return dialectHint;
  const suggestion = findClosest(actual.image, seriesKeywords);
  if (suggestion !== undefined) return `did you mean \`${suggestion}\`?`;
  const sign = comparisonTokens.find((type) => isToken(next, type));
  if (sign !== undefined) return `labels stand within { } or after |, as in | ${actual.image}${next!.image}…`;
  return `a text is searched for with |= "${actual.image}"`;
}

const labelRules = new Set(["label", "condition", "pipeStage", "labels", "item", "braces"]);

function hintForReservedWord(actual: IToken, rule: string): string | undefined {
  if (!labelRules.has(rule) || !reservedKeywords.has(actual.image)) return undefined;
  return `\`${actual.image}\` is a word of the language; as a label write "${actual.image}"`;
}

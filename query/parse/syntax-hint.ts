import { type IToken, type TokenType, tokenMatcher } from "chevrotain";
import { reservedKeywords, seriesKeywords } from "../text/keywords.ts";
import { locateOffset } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import { findClosest } from "../text/suggestion.ts";
import * as token from "../text/tokens.ts";
import { spanOfToken } from "../text/tokens.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { findWordHint } from "./dialect-hints.ts";

/** Where the parser stumbled. */
export interface SyntaxErrorContext {
  /** The rule of the grammar that had to go on here. */
  readonly rule: string;
  /** The token that does not fit; undefined at the end of the query. */
  readonly actual: IToken | undefined;
  readonly previous: IToken | undefined;
  readonly beforePrevious: IToken | undefined;
  readonly next: IToken | undefined;
  readonly tokens: readonly IToken[];
  readonly source: Source;
}

/** What was probably meant, as the end of a sentence; undefined where there is no telling. */
export function findHint(situation: SyntaxErrorContext): string | undefined {
  const { actual, rule } = situation;
  if (actual === undefined) return unclosedBracket(situation);
  return (
    signHint(actual, rule, situation) ?? hintsByRule[rule]?.(actual, situation) ?? reservedWord(actual, rule)
  );
}

const is = (actual: IToken | undefined, type: TokenType) =>
  actual !== undefined && tokenMatcher(actual, type);
const isString = (actual: IToken) => actual.tokenType === token.StringToken;

function unclosedBracket({ tokens, source }: SyntaxErrorContext): string | undefined {
  const open: IToken[] = [];
  for (const each of tokens) {
    if (is(each, token.LeftParen) || is(each, token.LeftBrace)) open.push(each);
    if (is(each, token.RightParen) || is(each, token.RightBrace)) open.pop();
  }
  const last = open.at(-1);
  if (last === undefined) return undefined;
  const { line, column } = locateOffset(source.text, last.startOffset);
  return `the ${last.image} of line ${line}, column ${column} is not closed`;
}

/** What a sign that does not belong is usually meant for, wherever it stands. */
function signHint(actual: IToken, rule: string, situation: SyntaxErrorContext): string | undefined {
  const sign = actual.image;
  if (/^[“”„‘’‚«»]$/u.test(sign)) return "texts stand in straight quotes: \" or '";
  if (sign === "[" && rule === "labels")
    return `labels stand in ( ), as in by (${situation.next?.image ?? "…"})`;
  if (sign === "[") return "there are no ranges in [ ]; the range of time is given beside the query";
  if (sign === "@") return "there is no @; the range of time is given beside the query";
  if (sign === "$") return "a variable is written $name";
  if (sign === "|" && is(situation.next, token.Pipe)) return "series are joined with `or`";
  if (sign === "&") return "conditions are joined with `and`";
  if (sign === "|" && is(situation.previous, token.Pipe)) return "conditions are joined with `or`";
  if (sign === "!") return "not equal is written `!=`";
  if (sign === "~") return "a regular expression is matched with `=~`";
  if (sign === ":" && (rule === "comparison" || rule === "items")) return colonHint(situation);
  if (actual.tokenType === token.EqualEqual && rule === "comparison")
    return "a label is compared with one `=`";
  return undefined;
}

function colonHint({ source }: SyntaxErrorContext): string {
  const json = /^\s*\{\s*"/.test(source.text);
  const text = json ? "; to find a message that has this text, search for it with |= `…`" : "";
  return `between a label and its value stands \`=\`${text}`;
}

function signAfterSeries(actual: IToken): string | undefined {
  if (actual.tokenType === token.Equal) return "series are compared with `==`, labels within { } or behind |";
  if (actual.tokenType === token.Match)
    return "labels are matched within { } or behind |, messages with `|~`";
  if (actual.tokenType === token.NotMatch) return "behind `!~` stands a regular expression in quotes";
  const closes = is(actual, token.RightParen) || actual.image === "}";
  return closes ? `there is nothing open that this ${actual.image} could close` : undefined;
}

type HintOfRule = (actual: IToken, situation: SyntaxErrorContext) => string | undefined;

const hintsByRule: Readonly<Record<string, HintOfRule>> = {
  value: valueHint,
  text: (actual, { source }) => quoteHint(actual, source),
  patternStage: stageAsLabel,
  regexpStage: stageAsLabel,
  comparison: loneLabelHint,
  items: (actual) => {
    if (actual.image === "or") return 'for either of two, write | a="x" or b="y" behind the braces';
    if (actual.image === "and") return "a comma joins labels within { }";
    return is(actual, token.Name) || isString(actual) ? "a comma is missing before it" : undefined;
  },
  query: afterSeries,
  bracketed: afterSeries,
  operand: operandHint,
  parameter: operandHint,
  series: operandHint,
  aggregate: withinAggregate,
  rate: withinRate,
  jsonPath: (actual) =>
    is(actual, token.RightParen)
      ? 'behind the path stand the resources: json_path("…", kubernetes_resources{…})'
      : undefined,
  labels: (actual, { previous }) => {
    if (!is(actual, token.Name) || previous === undefined) return undefined;
    if (is(previous, token.Name)) return "a comma is missing before it";
    return `labels stand in brackets: ${previous.image} (${actual.image})`;
  },
};

const comparing = [
  token.EqualEqual,
  token.NotEqual,
  token.Greater,
  token.GreaterEqual,
  token.Less,
  token.LessEqual,
];
const operators = new Set([
  "+",
  "-",
  "*",
  "/",
  "%",
  "^",
  "==",
  "!=",
  ">",
  ">=",
  "<",
  "<=",
  "and",
  "or",
  "unless",
  "default",
]);
const ordered = [token.Greater, token.GreaterEqual, token.Less, token.LessEqual];
const comparisons = [token.Equal, token.NotEqual, token.Match, token.NotMatch, token.EqualEqual, ...ordered];

function valueHint(actual: IToken, { previous, source }: SyntaxErrorContext): string | undefined {
  if (actual.tokenType === token.CaselessString) return 'to ignore case, write =~ "(?i)…"';
  if (is(actual, token.Comma) || is(actual, token.RightBrace)) return 'the empty text is ""';
  if (ordered.some((type) => is(previous, type))) return `\`${previous!.image}\` compares numbers`;
  return quoteHint(actual, source);
}

/** `| json = "x"`: a label that is called like a stage. */
function stageAsLabel(actual: IToken, { previous }: SyntaxErrorContext): string | undefined {
  if (!comparisons.some((type) => is(actual, type))) return undefined;
  return `\`${previous!.image}\` is a word of the language; as a label write "${previous!.image}"`;
}

/** What stands without quotes where a text is wanted, up to what surely does not belong to it. */
function quoteHint(actual: IToken, source: Source): string | undefined {
  const [bare = ""] = /^[\w/.*-][^\s,{}()"'`|=]*/.exec(source.text.slice(actual.startOffset)) ?? [];
  return bare === "" || bare.length > 60 ? undefined : `put it in quotes: "${bare}"`;
}

function loneLabelHint(actual: IToken, { previous }: SyntaxErrorContext): string | undefined {
  const ends = is(actual, token.Comma) || is(actual, token.RightBrace);
  return ends && is(previous, token.Name) ? `${previous!.image}=~".+" asks for rows that have it` : undefined;
}

/** Behind a whole series: a connective mistyped, an argument too many, or a text or label that stands nowhere. */
function afterSeries(actual: IToken, situation: SyntaxErrorContext): string | undefined {
  const { previous } = situation;
  if (is(previous, token.Json) || is(previous, token.Logfmt)) {
    const argument = is(actual, token.Name) || isString(actual);
    return argument ? `${previous!.image} takes no arguments` : stageAsLabel(actual, situation);
  }
  if (is(actual, token.Bool)) return "`bool` stands behind a comparison, as in > bool 5";
  if (is(actual, token.Equal) && is(situation.next, token.Greater)) return "at least is written `>=`";
  if ((is(actual, token.By) || is(actual, token.Without)) && is(previous, token.RightParen)) {
    return "an aggregation has one grouping: all of its labels stand in it";
  }
  if (is(actual, token.Aggregation)) {
    const foreign = previous && findWordHint(previous.image);
    return foreign ?? "rows are counted with count(logs), and operators stand between series";
  }
  if (is(actual, token.By) || is(actual, token.Without)) {
    return `a grouping belongs to an aggregation, as in count(logs) ${actual.image} (log_level)`;
  }
  if (is(actual, token.Name)) return nameAfterSeries(actual, situation);
  return isString(actual) ? needleHint(actual) : signAfterSeries(actual);
}

/** Where series should begin: a second sign of an operator, an argument in the wrong place, a text. */
function operandHint(
  actual: IToken,
  { previous, beforePrevious, tokens }: SyntaxErrorContext,
): string | undefined {
  const pair = `${previous?.image ?? ""}${actual.image}`;
  if (pair === "<>") return "not equal is written `!=`";
  if (pair === "**") return "powers are written `^`";
  if (is(actual, token.Bool)) return "`bool` stands behind a comparison, as in > bool 5";
  if (actual.image === "*" && is(previous, token.LeftParen)) return "rows are counted with count(logs)";
  if (is(actual, token.Minus)) return quantileRange(beforePrevious);
  const comparison = comparing.find((type) => is(previous, type));
  if (comparison !== undefined && isString(actual)) return comparedText(actual, previous!);
  if (is(actual, token.NumberToken)) return numberFirst(actual, tokens);
  return needleHint(actual);
}

function quantileRange(name: IToken | undefined): string | undefined {
  return name?.image.endsWith("quantile") ? `${name.image} takes a number between 0 and 1` : undefined;
}

function comparedText(actual: IToken, sign: IToken): string {
  const content = actual.image.slice(1, -1);
  if (parseNumber(content) !== undefined) return `a number stands without quotes: ${sign.image} ${content}`;
  return `series are compared with numbers; a label's text stands within { }, as in {log_level=${actual.image}}`;
}

/** `quantile(duration_ms, 0.95, …)`: the name of the aggregation around a number, if it takes one. */
function numberFirst(actual: IToken, tokens: readonly IToken[]): string | undefined {
  const place = tokens.indexOf(actual);
  const open = tokens.slice(0, place).findLastIndex((each) => is(each, token.LeftParen));
  const name = tokens[open - 1];
  const argument = tokens[open + 1];
  if (name === undefined || !is(name, token.Aggregation) || argument === undefined) return undefined;
  const more = is(tokens[place + 1], token.RightParen) ? "" : ", …";
  return `the number stands first: ${name.image}(${actual.image}, ${argument.image}${more})`;
}

/** Behind the series of an aggregation. */
function withinAggregate(actual: IToken, situation: SyntaxErrorContext): string | undefined {
  const { next, tokens } = situation;
  if (is(actual, token.Comma) && is(next, token.NumberToken)) {
    const name = aggregationAround(actual, tokens);
    return name && `the number stands first: ${name.image}(${next!.image}, …)`;
  }
  if (is(actual, token.Comma)) return "an aggregation takes one field, and then what it aggregates";
  const dashed = is(actual, token.Minus) ? dashedName(situation) : undefined;
  if (dashed !== undefined) return `a name with - in it stands in braces and quotes: {"${dashed}"}`;
  if (operators.has(actual.image)) return "operators do not stand within an aggregation; aggregate each side";
  return afterSeries(actual, situation);
}

/** `http-requests`, written without spaces. */
function dashedName({ actual, previous, next }: SyntaxErrorContext): string | undefined {
  const [before, dash, after] = [previous, actual, next].map((each) => each && spanOfToken(each));
  if (!before || !dash || !after || before.end !== dash.start || dash.end !== after.start) return undefined;
  return /^\w/.test(next!.image) ? `${previous!.image}-${next!.image}` : undefined;
}

function withinRate(actual: IToken, situation: SyntaxErrorContext): string | undefined {
  const { previous, tokens } = situation;
  const name = tokens.find((each) => each.image === "rate" || each.image === "increase")?.image ?? "rate";
  if (is(actual, token.LeftParen) && is(previous, token.Aggregation)) {
    return `\`${name}\` stands inside: ${previous!.image}(${name}(…))`;
  }
  return afterSeries(actual, situation);
}

/** The aggregation whose brackets are open before a token. */
function aggregationAround(actual: IToken, tokens: readonly IToken[]): IToken | undefined {
  let depth = 0;
  for (let place = tokens.indexOf(actual) - 1; place > 0; place--) {
    const each = tokens[place]!;
    if (is(each, token.RightParen)) depth++;
    if (is(each, token.LeftParen) && depth-- === 0)
      return is(tokens[place - 1], token.Aggregation) ? tokens[place - 1] : undefined;
  }
  return undefined;
}

function needleHint(actual: IToken): string | undefined {
  return isString(actual)
    ? `a text is searched for with |= ${actual.image.length > 60 ? '"…"' : actual.image}`
    : undefined;
}

function nameAfterSeries(actual: IToken, { next }: SyntaxErrorContext): string {
  const foreign = findWordHint(actual.image);
  if (foreign !== undefined) return foreign;
  const near = findClosest(actual.image, seriesKeywords);
  if (near !== undefined) return `did you mean \`${near}\`?`;
  const sign = comparisons.find((type) => is(next, type));
  if (sign !== undefined)
    return `labels stand within { } or behind |, as in | ${actual.image}${next!.image}…`;
  return `a text is searched for with |= "${actual.image}"`;
}

const labelRules = new Set(["label", "condition", "pipeStage", "labels", "item", "braces"]);

function reservedWord(actual: IToken, rule: string): string | undefined {
  if (!labelRules.has(rule) || !reservedKeywords.has(actual.image)) return undefined;
  return `\`${actual.image}\` is a word of the language; as a label write "${actual.image}"`;
}

import { type IToken, type TokenType, tokenMatcher } from "chevrotain";
import { placeOf } from "./query-error.ts";
import type { Source } from "./source.ts";
import * as token from "./tokens.ts";
import { closest, connectives, reservedWords } from "./words.ts";

/** Where the parser stumbled. */
export interface Situation {
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
export function hint(situation: Situation): string | undefined {
  const { actual, rule } = situation;
  if (actual === undefined) return unclosedBracket(situation);
  return (
    signHint(actual, rule, situation) ?? hintsByRule[rule]?.(actual, situation) ?? reservedWord(actual, rule)
  );
}

const is = (actual: IToken | undefined, type: TokenType) =>
  actual !== undefined && tokenMatcher(actual, type);
const isString = (actual: IToken) => actual.tokenType === token.StringToken;

function unclosedBracket({ tokens, source }: Situation): string | undefined {
  const open: IToken[] = [];
  for (const each of tokens) {
    if (is(each, token.LeftParen) || is(each, token.LeftBrace)) open.push(each);
    if (is(each, token.RightParen) || is(each, token.RightBrace)) open.pop();
  }
  const last = open.at(-1);
  if (last === undefined) return undefined;
  const { line, column } = placeOf(source.text, last.startOffset);
  return `the ${last.image} of line ${line}, column ${column} is not closed`;
}

/** What a sign that does not belong is usually meant for, wherever it stands. */
function signHint(actual: IToken, rule: string, situation: Situation): string | undefined {
  const sign = actual.image;
  if (/^[“”„‘’‚«»]$/u.test(sign)) return "texts stand in straight quotes: \" or '";
  if (sign === "[") return "there are no ranges in [ ]; the range of time is given beside the query";
  if (sign === "$") return "a variable is written $name";
  if (sign === "&") return "conditions are joined with `and`";
  if (sign === "|" && is(situation.previous, token.Pipe)) return "conditions are joined with `or`";
  if (sign === "!") return "not equal is written `!=`";
  if (sign === "~") return "a regular expression is matched with `=~`";
  if (sign === ":" && (rule === "comparison" || rule === "items")) return colonHint(situation);
  if (actual.tokenType === token.EqualEqual && rule === "comparison")
    return "a label is compared with one `=`";
  return undefined;
}

function colonHint({ source }: Situation): string {
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

type HintOfRule = (actual: IToken, situation: Situation) => string | undefined;

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
  operand: needleHint,
  aggregate: afterSeries,
  labels: (actual, { previous }) => {
    if (!is(actual, token.Name) || previous === undefined) return undefined;
    if (is(previous, token.Name)) return "a comma is missing before it";
    return `labels stand in brackets: ${previous.image} (${actual.image})`;
  },
};

const ordered = [token.Greater, token.GreaterEqual, token.Less, token.LessEqual];
const comparisons = [token.Equal, token.NotEqual, token.Match, token.NotMatch, token.EqualEqual, ...ordered];

function valueHint(actual: IToken, { previous, source }: Situation): string | undefined {
  if (actual.tokenType === token.CaselessString) return 'to ignore case, write =~ "(?i)…"';
  if (is(actual, token.Comma) || is(actual, token.RightBrace)) return 'the empty text is ""';
  if (ordered.some((type) => is(previous, type))) return `\`${previous!.image}\` compares numbers`;
  return quoteHint(actual, source);
}

/** `| json = "x"`: a label that is called like a stage. */
function stageAsLabel(actual: IToken, { previous }: Situation): string | undefined {
  if (!comparisons.some((type) => is(actual, type))) return undefined;
  return `\`${previous!.image}\` is a word of the language; as a label write "${previous!.image}"`;
}

/** What stands without quotes where a text is wanted, up to what surely does not belong to it. */
function quoteHint(actual: IToken, source: Source): string | undefined {
  const [bare = ""] = /^[\w/.*-][^\s,{}()"'`|=]*/.exec(source.text.slice(actual.startOffset)) ?? [];
  return bare === "" || bare.length > 60 ? undefined : `put it in quotes: "${bare}"`;
}

function loneLabelHint(actual: IToken, { previous }: Situation): string | undefined {
  const ends = is(actual, token.Comma) || is(actual, token.RightBrace);
  return ends && is(previous, token.Name) ? `${previous!.image}=~".+" asks for rows that have it` : undefined;
}

/** Behind a whole series: a connective mistyped, an argument too many, or a text or label that stands nowhere. */
function afterSeries(actual: IToken, situation: Situation): string | undefined {
  const { previous } = situation;
  if (is(previous, token.Json) || is(previous, token.Logfmt)) {
    const argument = is(actual, token.Name) || isString(actual);
    return argument ? `${previous!.image} takes no arguments` : stageAsLabel(actual, situation);
  }
  if (is(actual, token.By) || is(actual, token.Without)) {
    return `a grouping belongs to an aggregation, as in count(logs) ${actual.image} (log_level)`;
  }
  if (is(actual, token.Name)) return nameAfterSeries(actual, situation);
  return isString(actual) ? needleHint(actual) : signAfterSeries(actual);
}

function needleHint(actual: IToken): string | undefined {
  return isString(actual)
    ? `a text is searched for with |= ${actual.image.length > 60 ? '"…"' : actual.image}`
    : undefined;
}

function nameAfterSeries(actual: IToken, { next }: Situation): string {
  const near = closest(actual.image, connectives);
  if (near !== undefined) return `did you mean \`${near}\`?`;
  const sign = comparisons.find((type) => is(next, type));
  if (sign !== undefined)
    return `labels stand within { } or behind |, as in | ${actual.image}${next!.image}…`;
  return `a text is searched for with |= "${actual.image}"`;
}

const labelRules = new Set(["label", "condition", "pipeStage", "labels", "item", "braces"]);

function reservedWord(actual: IToken, rule: string): string | undefined {
  if (!labelRules.has(rule) || !reservedWords.has(actual.image)) return undefined;
  return `\`${actual.image}\` is a word of the language; as a label write "${actual.image}"`;
}

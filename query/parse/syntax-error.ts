import { EOF, type IRecognitionException, type IToken, tokenMatcher } from "chevrotain";
import { aggregations, rates, stageWords } from "../text/keywords.ts";
import { QueryError, type Span } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import { closest } from "../text/suggestion.ts";
import { BadNumber, LeftParen, Pipe, tokenSpan, UnclosedString } from "../text/tokens.ts";
import { foreignFunction } from "./dialect-hints.ts";
import { hint, type Situation } from "./syntax-hint.ts";

/** Characters of a found token that are shown in the sentence. */
const foundLengthMax = 40;

/** What the parser stumbled over, in words. `error.message` is what the grammar expected there. */
export function syntaxError(
  error: IRecognitionException,
  tokens: readonly IToken[],
  source: Source,
): QueryError {
  const ended = error.token.tokenType === EOF;
  const index = ended ? tokens.length : tokens.indexOf(error.token);
  const situation: Situation = {
    rule: error.context.ruleStack.at(-1)!,
    actual: tokens[index],
    previous: tokens[index - 1],
    beforePrevious: tokens[index - 2],
    next: tokens[index + 1],
    tokens,
    source,
  };
  return mistakenToken(situation) ?? expectation(error.message, situation);
}

function expectation(expected: string, situation: Situation): QueryError {
  const { actual, source } = situation;
  const span = actual === undefined ? endOf(source.text) : tokenSpan(actual);
  const found = actual === undefined ? "the end of the query" : `\`${shown(actual.image)}\``;
  const meant = hint(situation);
  const sentence = `expected ${expected}, found ${found}`;
  return new QueryError(meant === undefined ? sentence : `${sentence}; ${meant}`, {
    text: source.text,
    span,
  });
}

/** Behind the last character that is not white space. */
function endOf(text: string): Span {
  const end = text.trimEnd().length;
  return { start: end, end };
}

function shown(image: string): string {
  const characters = [...image.replace(/\s/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd")];
  return characters.length > foundLengthMax
    ? `${characters.slice(0, foundLengthMax - 1).join("")}…`
    : characters.join("");
}

/** Mistakes that one token shows by itself, so that what was expected does not matter. */
function mistakenToken(situation: Situation): QueryError | undefined {
  const { actual, previous, beforePrevious, rule, source } = situation;
  if (rule === "comparison" && previous && beforePrevious && tokenMatcher(beforePrevious, Pipe)) {
    return unknownStage(previous, source);
  }
  if (actual === undefined) return undefined;
  if (actual.tokenType === UnclosedString) return unclosed(actual, source);
  if (actual.tokenType === BadNumber) {
    const problem = `\`${shown(actual.image)}\` is not a number: numbers are decimal and have no unit`;
    return new QueryError(problem, { text: source.text, span: tokenSpan(actual) });
  }
  const isCalled = tokenMatcher(actual, LeftParen) && previous?.tokenType.name === "MetricName";
  return isCalled ? unknownFunction(previous, source) : undefined;
}

/** Stages of LogQL that svcQL does not have. */
const foreignStages = new Set([
  "decolorize",
  "distinct",
  "drop",
  "keep",
  "label_format",
  "line_format",
  "unpack",
  "unwrap",
]);

/** A name behind `|` that no comparison follows, where it was surely meant for a stage. */
function unknownStage(name: IToken, source: Source): QueryError | undefined {
  const near = closest(name.image, stageWords);
  if (near === undefined && !foreignStages.has(name.image)) return undefined;
  const meant =
    near === undefined
      ? "there are json, logfmt, pattern, regexp and label filters"
      : `did you mean \`${near}\`?`;
  const problem = `there is no stage \`${name.image}\`; ${meant}`;
  return new QueryError(problem, { text: source.text, span: tokenSpan(name) });
}

function unclosed(token: IToken, source: Source): QueryError {
  const quote = token.image.at(-1)!;
  const line = quote === "`" ? "" : " on its line; a line break in a text is \\n, or stands in back quotes";
  return new QueryError(`this ${quote} has no closing ${quote}${line}`, {
    text: source.text,
    span: tokenSpan(token),
  });
}

function unknownFunction(name: IToken, source: Source): QueryError {
  const functions = [...aggregations, ...rates, "json_path"];
  const near = closest(name.image, functions);
  const known = near === undefined ? `there are ${functions.join(", ")}` : `did you mean \`${near}\`?`;
  const meant = foreignFunction(name.image) ?? known;
  return new QueryError(`\`${shown(name.image)}\` is not a function; ${meant}`, {
    text: source.text,
    span: tokenSpan(name),
  });
}

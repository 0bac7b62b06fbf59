import { EOF, type IRecognitionException, type IToken, tokenMatcher } from "chevrotain";
import { aggregations, functionNames, orderedStageWords, stageKeywords } from "../text/keywords.ts";
import { QueryError, type TextSpan } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import { findClosest } from "../text/suggestion.ts";
import { BadNumber, LeftParen, Pipe, QuantityToken, spanOfToken, UnclosedString } from "../text/tokens.ts";
import { findFunctionHint } from "./dialect-hints.ts";
import { findHint, type SyntaxErrorContext } from "./syntax-hint.ts";

/** The most characters of the found token that an error message shows. */
const foundLengthMax = 40;

/** Turns an error of the parser into a sentence for people. `error.message` is what the grammar expected. */
export function toQueryError(
  error: IRecognitionException,
  tokens: readonly IToken[],
  source: Source,
): QueryError {
  const ended = error.token.tokenType === EOF;
  const index = ended ? tokens.length : tokens.indexOf(error.token);
  const context: SyntaxErrorContext = {
    rule: error.context.ruleStack.at(-1)!,
    actual: tokens[index],
    previous: tokens[index - 1],
    beforePrevious: tokens[index - 2],
    next: tokens[index + 1],
    tokens,
    source,
  };
  return makeTokenError(context) ?? makeExpectationError(error.message, context);
}

function makeExpectationError(expected: string, context: SyntaxErrorContext): QueryError {
  const { actual, source } = context;
  const span = actual === undefined ? endSpanOf(source.text) : spanOfToken(actual);
  const found = actual === undefined ? "the end of the query" : `\`${toShortPrintable(actual.image)}\``;
  const hint = findHint(context);
  const sentence = `expected ${expected}, found ${found}`;
  const problem = hint === undefined ? sentence : `${sentence}; ${hint}`;
  return new QueryError(problem, { text: source.text, span });
}

/** The empty span after the last character that is not white space. */
function endSpanOf(text: string): TextSpan {
  const end = text.trimEnd().length;
  return { start: end, end };
}

function toShortPrintable(image: string): string {
  const characters = [...image.replace(/\s/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd")];
  return characters.length > foundLengthMax
    ? `${characters.slice(0, foundLengthMax - 1).join("")}…`
    : characters.join("");
}

/** The error for a mistake that a token itself shows, whatever the grammar expected; undefined for other mistakes. */
function makeTokenError(context: SyntaxErrorContext): QueryError | undefined {
  const { actual, previous, beforePrevious, rule, source } = context;
  if (rule === "comparison" && previous && beforePrevious && tokenMatcher(beforePrevious, Pipe)) {
    return makeUnknownStageError(previous, source);
  }
  if (actual === undefined) return undefined;
  if (actual.tokenType === UnclosedString) return makeUnclosedQuoteError(actual, source);
  if ((actual.tokenType === BadNumber || actual.tokenType === QuantityToken) && rule !== "duration") {
    const shape = rule === "value" ? "decimal, such as 20, 20ms or 1.5KiB" : "decimal and have no unit";
    const problem = `\`${toShortPrintable(actual.image)}\` is not a number: numbers are ${shape}`;
    return new QueryError(problem, { text: source.text, span: spanOfToken(actual) });
  }
  const isCalled = tokenMatcher(actual, LeftParen) && previous?.tokenType.name === "MetricName";
  return isCalled ? makeUnknownFunctionError(previous, source) : undefined;
}

/** Stages of LogQL that svcQL does not have. */
const logqlStages = new Set(["decolorize", "distinct", "drop", "keep", "unpack", "unwrap"]);

/**
 * The error for a name after `|` that no operator follows. Undefined for a name that is neither similar to that of a
 * stage nor a stage of LogQL.
 */
function makeUnknownStageError(name: IToken, source: Source): QueryError | undefined {
  const suggestion = findClosest(name.image, [...stageKeywords, ...orderedStageWords]);
  if (suggestion === undefined && !logqlStages.has(name.image)) return undefined;
  const hint =
    suggestion === undefined
      ? `there are ${stageKeywords.join(", ")}, ${orderedStageWords.join(", ")} and label filters`
      : `did you mean \`${suggestion}\`?`;
  const problem = `there is no stage \`${name.image}\`; ${hint}`;
  return new QueryError(problem, { text: source.text, span: spanOfToken(name) });
}

function makeUnclosedQuoteError(token: IToken, source: Source): QueryError {
  const quote = token.image.at(-1)!;
  const line = quote === "`" ? "" : " on its line; a line break in a text is \\n, or stands in back quotes";
  const problem = `this ${quote} has no closing ${quote}${line}`;
  return new QueryError(problem, { text: source.text, span: spanOfToken(token) });
}

function makeUnknownFunctionError(name: IToken, source: Source): QueryError {
  const suggestion = findClosest(name.image, functionNames);
  const known =
    suggestion === undefined
      ? `there are ${aggregations.join(", ")}, rate, increase and more`
      : `did you mean \`${suggestion}\`?`;
  const hint = findFunctionHint(name.image) ?? known;
  const problem = `\`${toShortPrintable(name.image)}\` is not a function; ${hint}`;
  return new QueryError(problem, { text: source.text, span: spanOfToken(name) });
}

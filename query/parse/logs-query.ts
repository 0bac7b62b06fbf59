import { type IToken, type TokenType, tokenMatcher } from "chevrotain";
import { QueryError } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import * as token from "../text/tokens.ts";
import type { Expression } from "../tree/expression.ts";
import { quoteTerm, type SearchTerms } from "../tree/search-terms.ts";
import { parseExpression } from "./parser.ts";
import { parseSearchTerms } from "./search-terms.ts";

/** A query as the search for logs takes it: structured, or terms. */
export interface LogsQuery {
  readonly tree: Expression | SearchTerms;
  readonly warnings: string[];
}

/**
 * Reads a query of the search for logs. What is empty, begins with `{`, or begins as `logs…` or `count(logs…)` do, is structured and
 * must parse; all else is search terms. Throws a QueryError.
 */
export function parseLogsQuery(source: Source): LogsQuery {
  const tokens = token.tokenize(source.text);
  if (isStructured(tokens))
    return { tree: parseExpression(source), warnings: commentWarning(tokens, source) };
  const { terms, warnings } = parseSearchTerms(source);
  if (isOtherStructuredQuery(tokens, source)) {
    warnings.push(
      "this was searched for as text; a structured query of logs begins with `logs`, `{` or `count(logs`",
    );
  }
  return { tree: terms, warnings };
}

/** `#1234` is a comment, but may have been meant as text. */
function commentWarning(tokens: readonly IToken[], source: Source): string[] {
  const text = source.text.trim();
  if (tokens.length > 0 || text === "") return [];
  return [
    `this is a comment, so all logs are found; to search for the text, put it in quotes: ${quoteTerm(text)}`,
  ];
}

const is = (found: IToken | undefined, type: TokenType) => found !== undefined && tokenMatcher(found, type);
const isLogs = (found: IToken | undefined) => is(found, token.Name) && found!.image === "logs";

/** What a person would not type behind the word `logs` meaning just the word. */
const tokensAfterLogs = [
  token.LeftBrace,
  token.Pipe,
  token.PipeEqual,
  token.PipeMatch,
  token.NotEqual,
  token.NotMatch,
];

function isStructured(tokens: readonly IToken[]): boolean {
  const [first, second, third] = tokens;
  if (first === undefined || is(first, token.LeftBrace)) return true;
  if (isLogs(first)) {
    return second === undefined || second.image === "[" || tokensAfterLogs.some((type) => is(second, type));
  }
  if (first.image !== "count") return false;
  if (is(second, token.By) || is(second, token.Without))
    return is(third, token.LeftParen) || tokens.some(opensLogs);
  return opensLogs(second, 1, tokens);
}

/** `(` before `logs` or `{`. */
function opensLogs(found: IToken | undefined, index: number, tokens: readonly IToken[]): boolean {
  return is(found, token.LeftParen) && (isLogs(tokens[index + 1]) || is(tokens[index + 1], token.LeftBrace));
}

/** Whether terms are a whole query of another kind, such as `sum(rate(x)) by (y)` or `traces{…}`. */
function isOtherStructuredQuery(tokens: readonly IToken[], source: Source): boolean {
  const brackets = tokens.some((each) => is(each, token.LeftBrace)) || is(tokens[1], token.LeftParen);
  if (!brackets) return false;
  try {
    parseExpression({ text: source.text, spans: new Map() });
    return true;
  } catch (error) {
    if (error instanceof QueryError) return false;
    throw error;
  }
}

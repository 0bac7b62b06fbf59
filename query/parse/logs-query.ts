import { type IToken, type TokenType, tokenMatcher } from "chevrotain";
import { QueryError } from "../text/query-error.ts";
import type { Source } from "../text/source.ts";
import * as token from "../text/tokens.ts";
import type { Expression } from "../tree/expression.ts";
import { quoteTerm, type SearchTerms } from "../tree/search-terms.ts";
import { parseExpression } from "./parser.ts";
import { parseSearchTerms } from "./search-terms.ts";
import { warnOfForeignWords } from "./term-warnings.ts";

/** A query of a search for logs: a structured query, or search terms. */
export interface LogsQuery {
  readonly tree: Expression | SearchTerms;
  readonly warnings: string[];
}

/**
 * Parses a query of a search for logs. A text that is empty, or begins with `{`, `logs` or `count(logs`, is structured.
 * Any other text is search terms. Throws a QueryError where a structured query does not parse, and what
 * `parseSearchTerms` throws.
 */
export function parseLogsQuery(source: Source): LogsQuery {
  const tokens = token.tokenize(source.text);
  if (isStructured(tokens)) return { tree: parseExpression(source), warnings: warnOfComment(tokens, source) };
  const { terms, warnings } = parseSearchTerms(source);
  if (isOtherStructuredQuery(tokens, source)) {
    warnings.push(
      "this was searched for as text; a structured query of logs begins with `logs`, `{` or `count(logs`",
    );
  }
  warnings.push(...warnOfForeignWords(terms, source));
  return { tree: terms, warnings };
}

/**
 * Warns of a query that is nothing but a comment, such as `#1234`. The person may have meant to search for the text.
 */
function warnOfComment(tokens: readonly IToken[], source: Source): string[] {
  const text = source.text.trim();
  if (tokens.length > 0 || text === "") return [];
  return [
    `this is a comment, so all logs are found; to search for the text, put it in quotes: ${quoteTerm(text)}`,
  ];
}

const isToken = (found: IToken | undefined, type: TokenType) =>
  found !== undefined && tokenMatcher(found, type);
const isLogs = (found: IToken | undefined) => isToken(found, token.Name) && found!.image === "logs";

/** Tokens after the word `logs` that show that it is a selector and not a word to search for. */
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
  if (first === undefined || isToken(first, token.LeftBrace)) return true;
  if (isLogs(first)) {
    return (
      second === undefined || second.image === "[" || tokensAfterLogs.some((type) => isToken(second, type))
    );
  }
  if (first.image !== "count") return false;
  if (isToken(second, token.By) || isToken(second, token.Without))
    return isToken(third, token.LeftParen) || tokens.some(isParenBeforeLogs);
  return isParenBeforeLogs(second, 1, tokens);
}

/** Returns whether a token is a `(` that stands before `logs` or `{`. */
function isParenBeforeLogs(found: IToken | undefined, index: number, tokens: readonly IToken[]): boolean {
  return (
    isToken(found, token.LeftParen) &&
    (isLogs(tokens[index + 1]) || isToken(tokens[index + 1], token.LeftBrace))
  );
}

/**
 * Returns whether a text that is read as search terms would also parse as a structured query, such as `sum(rate(x)) by
 * (y)` or `traces{…}`.
 */
function isOtherStructuredQuery(tokens: readonly IToken[], source: Source): boolean {
  const hasBrackets =
    tokens.some((each) => isToken(each, token.LeftBrace)) || isToken(tokens[1], token.LeftParen);
  if (!hasBrackets) return false;
  try {
    parseExpression({ text: source.text, spans: new Map() });
    return true;
  } catch (error) {
    if (error instanceof QueryError) return false;
    throw error;
  }
}

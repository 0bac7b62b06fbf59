import { type IToken, tokenMatcher } from "chevrotain";
import type { RowSignal } from "../../engine/index.ts";
import { nestingMax, tokensMax } from "../limits.ts";
import { refuse, type Source } from "../text/source.ts";
import { LeftBrace, LeftParen, RightBrace, RightParen, spanOfToken, tokenize } from "../text/tokens.ts";
import type { Expression } from "../tree/expression.ts";
import { makeSelector, makeSignalSource } from "../tree/selector.ts";
import { grammar } from "./grammar.ts";
import { toQueryError } from "./syntax-error.ts";
import { TreeVisitor } from "./visitor.ts";

/**
 * The syntax tree of a structured query. Records the spans of its nodes in `source`. `{…}` and an empty query select
 * the rows of `defaultSignal`. Throws a QueryError.
 */
export function parseExpression(source: Source, defaultSignal: RowSignal = "logs"): Expression {
  const tokens = tokenize(source.text);
  if (tokens.length === 0) return makeSelector(makeSignalSource(defaultSignal), [], []);
  checkSize(tokens, source);
  grammar.input = tokens;
  const cst = grammar.query();
  const [error] = grammar.errors;
  if (error !== undefined) throw toQueryError(error, tokens, source);
  return new TreeVisitor(source, defaultSignal).query(cst);
}

/**
 * Enforces the limits of nesting and tokens before the parser runs. They bound the depth of the parser's recursion and
 * its time.
 */
function checkSize(tokens: readonly IToken[], source: Source): void {
  let depth = 0;
  for (const token of tokens) {
    if (tokenMatcher(token, LeftParen) || token.tokenType === LeftBrace) depth++;
    if (tokenMatcher(token, RightParen) || token.tokenType === RightBrace) depth--;
    if (depth > nestingMax) refuse(source, spanOfToken(token), `brackets nest at most ${nestingMax} deep`);
  }
  const tooMany = tokens[tokensMax];
  if (tooMany === undefined) return;
  const problem = `a structured query has at most ${tokensMax} names, texts, numbers and signs`;
  refuse(source, spanOfToken(tooMany), problem);
}

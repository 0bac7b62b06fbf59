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

/** The tree of a structured query; `{…}` and an empty one select from `nameless`. Throws a QueryError. */
export function parseExpression(source: Source, nameless: RowSignal = "logs"): Expression {
  const tokens = tokenize(source.text);
  if (tokens.length === 0) return makeSelector(makeSignalSource(nameless), [], []);
  checkSize(tokens, source);
  grammar.input = tokens;
  const found = grammar.query();
  const [error] = grammar.errors;
  if (error !== undefined) throw toQueryError(error, tokens, source);
  return new TreeVisitor(source, nameless).query(found);
}

/** Before the parser starts: it recurses with every bracket, and takes its time with every token. */
function checkSize(tokens: readonly IToken[], source: Source): void {
  let depth = 0;
  for (const token of tokens) {
    if (tokenMatcher(token, LeftParen) || token.tokenType === LeftBrace) depth++;
    if (tokenMatcher(token, RightParen) || token.tokenType === RightBrace) depth--;
    if (depth > nestingMax) refuse(source, spanOfToken(token), `brackets nest at most ${nestingMax} deep`);
  }
  const tooMany = tokens[tokensMax];
  if (tooMany === undefined) return;
  refuse(
    source,
    spanOfToken(tooMany),
    `a structured query has at most ${tokensMax} names, texts, numbers and signs`,
  );
}

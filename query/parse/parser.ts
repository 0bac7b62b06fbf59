import { type IToken, tokenMatcher } from "chevrotain";
import { nestingMax, tokensMax } from "../limits.ts";
import { refuse, type Source } from "../text/source.ts";
import { LeftBrace, LeftParen, RightBrace, RightParen, tokenize, tokenSpan } from "../text/tokens.ts";
import type { Expression } from "../tree/expression.ts";
import { type SignalName, selector, signal } from "../tree/selector.ts";
import { grammar } from "./grammar.ts";
import { syntaxError } from "./syntax-error.ts";
import { Visitor } from "./visitor.ts";

/** The tree of a structured query; `{…}` and an empty one select from `nameless`. Throws a QueryError. */
export function parseExpression(source: Source, nameless: SignalName = "logs"): Expression {
  const tokens = tokenize(source.text);
  if (tokens.length === 0) return selector(signal(nameless), [], []);
  checkSize(tokens, source);
  grammar.input = tokens;
  const found = grammar.query();
  const [error] = grammar.errors;
  if (error !== undefined) throw syntaxError(error, tokens, source);
  return new Visitor(source, nameless).query(found);
}

/** Before the parser starts: it recurses with every bracket, and takes its time with every token. */
function checkSize(tokens: readonly IToken[], source: Source): void {
  let depth = 0;
  for (const token of tokens) {
    if (tokenMatcher(token, LeftParen) || token.tokenType === LeftBrace) depth++;
    if (tokenMatcher(token, RightParen) || token.tokenType === RightBrace) depth--;
    if (depth > nestingMax) refuse(source, tokenSpan(token), `brackets nest at most ${nestingMax} deep`);
  }
  const tooMany = tokens[tokensMax];
  if (tooMany === undefined) return;
  refuse(
    source,
    tokenSpan(tooMany),
    `a structured query has at most ${tokensMax} names, texts, numbers and signs`,
  );
}

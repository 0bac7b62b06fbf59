import { type IToken, tokenMatcher } from "chevrotain";
import { tokenSpan } from "./cst.ts";
import type { Expression } from "./expression.ts";
import { grammar } from "./grammar.ts";
import { nestingMax, queryLengthMax, tokensMax } from "./limits.ts";
import { QueryError } from "./query-error.ts";
import { type SignalName, selector, signal } from "./selector.ts";
import { refuse, type Source } from "./source.ts";
import { syntaxError } from "./syntax-error.ts";
import { LeftBrace, LeftParen, RightBrace, RightParen, tokenize } from "./tokens.ts";
import { Visitor } from "./visitor.ts";

/** Takes in a text: refuses what is too long or holds characters that no query can mean. */
export function readSource(text: string): Source {
  if (text.length > queryLengthMax) {
    const problem = `a query has at most ${queryLengthMax} characters, this one has ${text.length}`;
    throw new QueryError(problem);
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) refuseCharacter(text, nul, "a NUL character; in a text in quotes write \\x00");
  const broken = text.search(/\p{Surrogate}/u);
  if (broken >= 0) refuseCharacter(text, broken, "half a character (a surrogate without its partner)");
  return { text, places: new Map() };
}

function refuseCharacter(text: string, at: number, what: string): never {
  throw new QueryError(`the query holds ${what}`, { text, span: { start: at, end: at + 1 } });
}

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

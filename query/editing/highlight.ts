/** What each piece of a query's text is, for an editor's colours. */

import { type IToken, tokenMatcher } from "chevrotain";
import { detectQueryKind } from "../parse/query-kind.ts";
import {
  orderedStageWords,
  rowFunctions,
  rowSignals,
  seriesKeywords,
  stageKeywords,
} from "../text/keywords.ts";
import * as token from "../text/tokens.ts";
import { quotedTerm, startsStructured } from "./reading.ts";

/** What a piece of a query is. A `word` is a search term; `excluded` one that rows must not hold. */
export type PieceKind =
  | "keyword"
  | "function"
  | "signal"
  | "name"
  | "string"
  | "number"
  | "operator"
  | "bracket"
  | "comment"
  | "word"
  | "excluded"
  | "invalid";

/** A piece of a query's text: offsets in UTF-16 units, `end` exclusive. */
export interface QueryPiece {
  readonly start: number;
  readonly end: number;
  readonly kind: PieceKind;
}

/** The pieces of a text, in its order and without overlaps; white space belongs to none. Never throws. */
export function highlightQuery(text: string): QueryPiece[] {
  return startsStructured(text) || detectQueryKind(text) !== "logs"
    ? highlightStructured(text)
    : highlightTerms(text);
}

function highlightStructured(text: string): QueryPiece[] {
  const pieces: QueryPiece[] = [];
  let behind = 0;
  const tokens = token.tokenize(text);
  for (const [i, each] of tokens.entries()) {
    const { start, end } = token.spanOfToken(each);
    const kind = kindOfRowWord(each, tokens[i - 1], tokens[i + 1]) ?? kindOfToken(each);
    pieces.push(...commentsIn(text, behind, start), { start, end, kind });
    behind = end;
  }
  return [...pieces, ...commentsIn(text, behind, text.length)];
}

/** Comments between two tokens: the lexer skips them with white space. */
function commentsIn(text: string, from: number, to: number): QueryPiece[] {
  return [...text.slice(from, to).matchAll(/#[^\n]*/g)].map((found) => {
    const start = from + found.index;
    return { start, end: start + found[0].length, kind: "comment" };
  });
}

const stageWords: ReadonlySet<string> = new Set(orderedStageWords);
const lineFilters = [token.PipeEqual, token.PipeMatch, token.NotEqual, token.NotMatch];
const functionsOfRows: ReadonlySet<string> = new Set(rowFunctions);

/** The kind of a word that is one only in stages over several rows, and a label elsewhere. */
function kindOfRowWord(
  { tokenType, image }: IToken,
  before: IToken | undefined,
  behind: IToken | undefined,
): PieceKind | undefined {
  if (tokenType.name !== "LabelName" || before === undefined || behind === undefined) return undefined;
  const opens = tokenMatcher(behind, token.LeftParen);
  if (tokenMatcher(before, token.Pipe) && stageWords.has(image) && (opens || tokenMatcher(behind, token.By)))
    return "keyword";
  if (before.tokenType === token.Equal && opens && functionsOfRows.has(image)) return "function";
  const isFilter = lineFilters.includes(behind.tokenType);
  const isStep = tokenMatcher(before, token.LeftParen) || before.image === "then";
  if (image === "then" || (image === "not" && isStep && (isFilter || tokenMatcher(behind, token.Name))))
    return "keyword";
  return image === "within" && behind.tokenType === token.QuantityToken ? "keyword" : undefined;
}

const keywords: ReadonlySet<string> = new Set([...seriesKeywords, ...stageKeywords]);
const signals: ReadonlySet<string> = new Set(rowSignals);

function kindOfToken({ tokenType, image }: IToken): PieceKind {
  const { name } = tokenType;
  if (/^(?:Aggregation|RangeFunction|SeriesFunction|JsonPath)-/.test(name)) return "function";
  // Each keyword has a token type for each mode of the lexer.
  if (/-(?:series|filter)$/.test(name)) return "keyword";
  if (name === "MetricName" && signals.has(image)) return "signal";
  if (name === "LabelName" || name === "MetricName" || /Variable$/.test(name)) return "name";
  if (name === "String" || name === "CaselessString" || name === "UnclosedString") return "string";
  if (name === "Number" || name === "Quantity" || /Duration$/.test(name)) return "number";
  if (name === "Offset") return "keyword";
  if (name === "BadNumber" || name === "Unknown") return "invalid";
  return /^[()[\]{},]$/.test(image) ? "bracket" : keywords.has(image) ? "keyword" : "operator";
}

/** A term: `-` perhaps, a field with its operator perhaps, and a value or phrase. */
const term = new RegExp(
  `(-?)(?:(${quotedTerm}|[A-Za-z_][A-Za-z0-9_]*(?:[./-]+[A-Za-z0-9_]+)*)(=~|!~|!=|>=|<=|=|>|<|:)(?=\\S))?(${quotedTerm}|\\S+)`,
  "g",
);

function highlightTerms(text: string): QueryPiece[] {
  return [...text.matchAll(term)].flatMap((found) => piecesOfTerm(found));
}

function piecesOfTerm(found: RegExpExecArray): QueryPiece[] {
  const [whole, minus, field = "", operator = "", value] = found as unknown as string[];
  if (whole === "AND" || whole === "OR" || whole === "NOT")
    return [{ start: found.index, end: found.index + whole.length, kind: "keyword" }];
  const pieces: QueryPiece[] = [];
  let start = found.index;
  const add = (part: string, kind: PieceKind) => {
    if (part !== "") pieces.push({ start, end: start + part.length, kind });
    start += part.length;
  };
  add(minus!, "operator");
  add(field, "name");
  add(operator, "operator");
  if (field === "") add(value!, minus === "-" ? "excluded" : /^["'`]/.test(value!) ? "string" : "word");
  else add(value!, "string");
  return pieces;
}

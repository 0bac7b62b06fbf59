import { queryLengthMax } from "../limits.ts";
import { QueryError, type TextSpan } from "./query-error.ts";

/** Where in the text of a query a node of its tree stands. */
export interface NodeSpan extends TextSpan {
  /** For a text: where a stretch of its characters stands, escapes counted. */
  readonly spanWithin?: (stretch: TextSpan) => TextSpan;
}

/**
 * A query's text and the places of the nodes of its tree. They are kept beside the tree, so that a tree is plain data that equals
 * another of the same meaning.
 */
export interface Source {
  readonly text: string;
  readonly spans: Map<object, NodeSpan>;
}

/** Throws a QueryError that points at a node of the tree or at a span of the text. */
export function refuse(source: Source, at: object | TextSpan, problem: string): never {
  throw new QueryError(problem, { text: source.text, span: spanOfNode(source, at) });
}

/** Throws a QueryError that points at a stretch of a text's characters where that can be told, else at the text. */
export function refuseWithin(source: Source, node: object, stretch: TextSpan, problem: string): never {
  const place = source.spans.get(node);
  refuse(source, place?.spanWithin?.(stretch) ?? node, problem);
}

/** The span of a node; a span stands for itself; the whole text for a node that was not read from it. */
function spanOfNode(source: Source, at: object | TextSpan): TextSpan {
  if ("start" in at && "end" in at) return at as TextSpan;
  return source.spans.get(at) ?? { start: 0, end: source.text.length };
}

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
  return { text, spans: new Map() };
}

function refuseCharacter(text: string, at: number, what: string): never {
  throw new QueryError(`the query holds ${what}`, { text, span: { start: at, end: at + 1 } });
}

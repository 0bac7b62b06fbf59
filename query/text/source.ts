import { queryLengthMax } from "../limits.ts";
import { QueryError, type TextSpan } from "./query-error.ts";

/** The span of a tree's node in the text of the query. */
export interface NodeSpan extends TextSpan {
  /**
   * Only for string literals without variables: maps a range of the literal's characters to its span in the query. An
   * escape is longer in the query than the character that it stands for.
   */
  readonly spanWithin?: (range: TextSpan) => TextSpan;
}

/**
 * The text of a query and the spans of the nodes of its tree. The spans are kept outside the tree, so that the tree is
 * plain data: two queries of the same meaning have equal trees.
 */
export interface Source {
  readonly text: string;
  readonly spans: Map<object, NodeSpan>;
}

/** Throws a QueryError that points at a node of the tree, or at a span of the text. */
export function refuse(source: Source, at: object | TextSpan, problem: string): never {
  throw new QueryError(problem, { text: source.text, span: spanOfNode(source, at) });
}

/**
 * Throws a QueryError that points at a range of a string literal's characters. Points at the whole literal where its
 * span has no `spanWithin`.
 */
export function refuseWithin(source: Source, node: object, range: TextSpan, problem: string): never {
  const span = source.spans.get(node);
  refuse(source, span?.spanWithin?.(range) ?? node, problem);
}

/**
 * Returns the span of a node, and a span as it is. A node that was not parsed from the text gets the span of the whole
 * text.
 */
function spanOfNode(source: Source, at: object | TextSpan): TextSpan {
  if ("start" in at && "end" in at) return at as TextSpan;
  return source.spans.get(at) ?? { start: 0, end: source.text.length };
}

/** Makes a source of a text. Throws a QueryError where the text is too long, or holds NUL or an unpaired surrogate. */
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

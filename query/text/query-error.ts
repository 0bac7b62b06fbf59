/** A part of a query's text: offsets in UTF-16 units, `end` exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * An excerpt of a long line shows at most this many characters before the span, as many in the span, and as many after
 * it.
 */
const excerptSideMax = 60;

/**
 * A mistake in a query. `message` is for people: what was expected, line and column, and that line of the query with
 * carets under the mistake.
 */
export class QueryError extends Error {
  /** The sentence without line, column and excerpt. */
  readonly problem: string;
  /** Line of the query, from 1. Absent where the mistake is not at one place of the text. */
  readonly line?: number;
  /** Column in code points, from 1. Present where `line` is. */
  readonly column?: number;
  /** Where the mistake is. Present where `line` is. */
  readonly span?: TextSpan;

  constructor(problem: string, at?: { text: string; span: TextSpan }) {
    const position = at && locateOffset(at.text, at.span.start);
    super(
      position
        ? `${problem} (line ${position.line}, column ${position.column})\n${makeExcerpt(at.text, at.span, position)}`
        : problem,
    );
    this.name = "QueryError";
    this.problem = problem;
    if (position === undefined || at === undefined) return;
    this.line = position.line;
    this.column = position.column;
    this.span = at.span;
  }
}

interface TextPosition {
  line: number;
  column: number;
  /** Offset of the first character of the line. */
  lineStart: number;
}

/** Line and column of an offset, both from 1; the column in code points. */
export function locateOffset(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: [...before.slice(lineStart)].length + 1, lineStart };
}

/** The line that holds the span, cut to the width of a terminal, with carets under the span. */
function makeExcerpt(text: string, span: TextSpan, position: TextPosition): string {
  const newline = text.indexOf("\n", position.lineStart);
  const lineEnd = newline === -1 ? text.length : newline;
  const spanEnd = Math.min(Math.max(span.end, span.start), lineEnd);
  const before = [...toPrintable(text.slice(position.lineStart, span.start))];
  const marked = [...toPrintable(text.slice(span.start, spanEnd))];
  const after = [...toPrintable(text.slice(spanEnd, lineEnd))];
  const lead = before.length > excerptSideMax ? ["…", ...before.slice(1 - excerptSideMax)] : before;
  const shown = marked.length > excerptSideMax ? [...marked.slice(0, excerptSideMax - 1), "…"] : marked;
  const tail = after.length > excerptSideMax ? [...after.slice(0, excerptSideMax - 1), "…"] : after;
  const line = [...lead, ...shown, ...tail].join("").trimEnd();
  return `  ${line}\n  ${" ".repeat(lead.length)}${"^".repeat(Math.max(1, shown.length))}`;
}

/**
 * Replaces each invisible character by one visible character, so that the carets of an excerpt stand under the right
 * text.
 */
function toPrintable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\s/g, " ")
    .replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
}

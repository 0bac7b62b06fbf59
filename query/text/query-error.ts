/** A part of a query's text: offsets in UTF-16 units, `end` exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Characters of a long line that are shown on each side of the mark. */
const excerptSideMax = 60;

/**
 * A query that cannot be answered as it is written. `message` is for people: what was expected, the place, and the line of the
 * query with carets under the part that is meant.
 */
export class QueryError extends Error {
  /** The sentence without place and excerpt. */
  readonly problem: string;
  /** Line of the query, from 1; absent where the mistake is not at one place of its text. */
  readonly line?: number;
  /** Column in characters (code points), from 1. */
  readonly column?: number;

  constructor(problem: string, at?: { text: string; span: TextSpan }) {
    const place = at && locateOffset(at.text, at.span.start);
    super(
      place
        ? `${problem} (line ${place.line}, column ${place.column})\n${makeExcerpt(at.text, at.span, place)}`
        : problem,
    );
    this.name = "QueryError";
    this.problem = problem;
    if (place === undefined) return;
    this.line = place.line;
    this.column = place.column;
  }
}

interface TextPosition {
  line: number;
  column: number;
  lineStart: number;
}

/** Line and column of an offset, both from 1. */
export function locateOffset(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: [...before.slice(lineStart)].length + 1, lineStart };
}

/** The line around the span, cut to a width that fits a terminal, and carets under the span. */
function makeExcerpt(text: string, span: TextSpan, place: TextPosition): string {
  const newline = text.indexOf("\n", place.lineStart);
  const lineEnd = newline === -1 ? text.length : newline;
  const spanEnd = Math.min(Math.max(span.end, span.start), lineEnd);
  const before = [...toPrintable(text.slice(place.lineStart, span.start))];
  const marked = [...toPrintable(text.slice(span.start, spanEnd))];
  const after = [...toPrintable(text.slice(spanEnd, lineEnd))];
  const lead = before.length > excerptSideMax ? ["…", ...before.slice(1 - excerptSideMax)] : before;
  const shown = marked.length > excerptSideMax ? [...marked.slice(0, excerptSideMax - 1), "…"] : marked;
  const tail = after.length > excerptSideMax ? [...after.slice(0, excerptSideMax - 1), "…"] : after;
  const line = [...lead, ...shown, ...tail].join("").trimEnd();
  return `  ${line}\n  ${" ".repeat(lead.length)}${"^".repeat(Math.max(1, shown.length))}`;
}

/** One visible character for each character, so that carets stand under what they mean. */
function toPrintable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\s/g, " ")
    .replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
}

/** How the text of a query is read while it is typed, before it is whole. */

/** A text in quotes of search terms, as the source of a regular expression. */
export const quotedTerm = '"(?:[^"\\\\]|\\\\[\\s\\S])*"';

/** True where a text is, or becomes, a structured search for logs: it begins with braces or with `logs`. */
export function startsStructured(text: string): boolean {
  return /^\s*(?:\{|logs\s*(?:$|[{|[]|!=|!~)|count\s*\(\s*(?:logs|\{)|#)/.test(text);
}

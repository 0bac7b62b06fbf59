/** Makes texts of the fields of a row. */

import type { Field, FormatPart, RowFormat, TextChange } from "../plan/filter.ts";

/** A row whose message and attributes a format may write. */
export interface FormattedRow {
  message: string;
  readonly attributes: { set(key: string, text: string): void; delete(key: string): void };
}

/** Compiles formats to a function that writes them into a row; `textOf` reads its fields. */
export function compileFormats<Row extends FormattedRow>(
  formats: readonly RowFormat[],
  textOf: (row: Row, field: Field) => string | undefined,
): (row: Row) => void {
  const compiled = formats.map(({ parts, ...format }) => ({ ...format, make: compileParts(parts, textOf) }));
  return (row) => {
    const texts = compiled.map(({ make }) => make(row));
    for (const { removes } of compiled) if (removes !== undefined) row.attributes.delete(removes);
    for (const [i, { to }] of compiled.entries()) {
      if (to.kind === "message") row.message = texts[i]!;
      else if (texts[i] === "") row.attributes.delete(to.key);
      else row.attributes.set(to.key, texts[i]!);
    }
  };
}

function compileParts<Row>(
  parts: readonly FormatPart[],
  textOf: (row: Row, field: Field) => string | undefined,
): (row: Row) => string {
  return (row) => {
    let text = "";
    for (const part of parts) {
      if (part.kind === "literal") text += part.text;
      else text += part.changes.reduce(changeText, textOf(row, part.field) ?? "");
      // A message may be inserted again and again.
      if (text.length > textLengthMax) return text.slice(0, textLengthMax).toWellFormed();
    }
    return text;
  };
}

/** Characters of a text that is made: what is longer is cut. */
const textLengthMax = 1 << 20;

function changeText(text: string, change: TextChange): string {
  switch (change.op) {
    case "upper":
      return text.toUpperCase();
    case "lower":
      return text.toLowerCase();
    case "trim":
      return text.trim();
    case "trunc":
      return [...text.slice(0, change.length * 2)].slice(0, change.length).join("");
    case "default":
      return text === "" ? change.text : text;
    case "replace":
      return change.from === "" ? text : replaceAll(text, change.from, change.to);
  }
}

/** Stops once the text is longer than a text may be: a long text for each character would fill the memory. */
function replaceAll(text: string, from: string, to: string): string {
  let made = "";
  let start = 0;
  for (let found = text.indexOf(from); found >= 0; found = text.indexOf(from, start)) {
    made += text.slice(start, found) + to;
    start = found + from.length;
    if (made.length > textLengthMax) return made;
  }
  return made + text.slice(start);
}

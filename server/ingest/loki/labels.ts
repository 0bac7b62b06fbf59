/** Parses the labels of a stream as Loki's protobuf contains them: `{job="a", host="b"}`. */

import { RowProblem } from "../json/json-row.ts";

const label = /\s*([^\s=,{}"`]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)\s*(,|\}\s*$)/sy;
const escapes = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;
const escapedLetters: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Parses the labels of a stream. Throws RowProblem. */
export function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  if (/^\s*\{\s*\}\s*$/.test(text)) return labels;
  label.lastIndex = /^\s*\{/.exec(text)?.[0].length ?? 0;
  for (let isLast = label.lastIndex === 0; !isLast; ) {
    const match = label.exec(text);
    if (match === null) break;
    const [, name = "", quoted, raw = "", end = ""] = match;
    labels[name] = quoted === undefined ? raw : unquote(quoted);
    isLast = end !== ",";
    if (isLast) return labels;
  }
  const excerpt = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  throw new RowProblem("field", `the labels of a stream must be like {job="a", host="b"}, got ${excerpt}`);
}

/** Unquotes a string by Go's rules. */
function unquote(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    escapes,
    (_, x?: string, u?: string, long?: string, octal?: string, letter?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const hex = x ?? u ?? long;
      if (hex === undefined) return escapedLetters[letter ?? ""] ?? letter ?? "";
      const codePoint = Number.parseInt(hex, 16);
      return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : "\ufffd";
    },
  );
}

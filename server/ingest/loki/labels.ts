/** The labels of a stream as Loki's protobuf writes them: `{job="a", host="b"}`. */

import { RowProblem } from "../json/json-row.ts";

const label = /\s*([^\s=,{}"`]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)\s*(,|\}\s*$)/sy;
const escapes = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;
const letters: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Throws RowProblem. */
export function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  if (/^\s*\{\s*\}\s*$/.test(text)) return labels;
  label.lastIndex = /^\s*\{/.exec(text)?.[0].length ?? 0;
  for (let isLast = label.lastIndex === 0; !isLast; ) {
    const match = label.exec(text);
    if (match === null) break;
    const [, name = "", quoted, raw = "", end = ""] = match;
    labels[name] = quoted === undefined ? raw : unescaped(quoted);
    isLast = end !== ",";
    if (isLast) return labels;
  }
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  throw new RowProblem("field", `the labels of a stream must be like {job="a", host="b"}, got ${shown}`);
}

/** As Go unquotes. */
function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(
    escapes,
    (_, x?: string, u?: string, long?: string, octal?: string, letter?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const hex = x ?? u ?? long;
      if (hex === undefined) return letters[letter ?? ""] ?? letter ?? "";
      const point = Number.parseInt(hex, 16);
      return point <= 0x10ffff ? String.fromCodePoint(point) : "\ufffd";
    },
  );
}
